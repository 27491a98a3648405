"""The dashboard's page of fleets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from promptcache_gateway.fleet.settings import FleetSettings, ReplicaSettings
from tests.gateway.fleet.servers import fleet_of, replicas, request, served_fleet

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Page, Route

    from tests.gateway.dashboard.browsing import Visitor
    from tests.gateway.serving import Served

pytestmark = pytest.mark.browser


def cells(page: Page, label: str) -> list[list[str]]:
    table = page.get_by_role("region", name=label)
    rows = table.locator("tbody tr").all()
    return [[cell.strip() for cell in row.locator("th, td").all_inner_texts()] for row in rows]


def test_what_replicas_do_and_templates_got(visitor: Visitor, tmp_path: Path) -> None:
    with replicas(2) as servers:
        servers[1].refuses = "401 Unauthorized"
        fleet = fleet_of(servers, max_concurrency=8, routing="round-robin")
        with served_fleet(fleet, tmp_path, retries=0) as gateway:
            for number in range(14):
                asked = request(f"question {number}", system="Answer from the handbook. " * 200)
                gateway.post(asked, x_promptcache_template="handbook").raise_for_status()
            page = visitor.open(gateway, "#/fleets")
            page.get_by_role("heading", name="f", exact=True).wait_for()
            well, ill = cells(page, "replicas of f")
            assert (well[0], well[1], well[2], well[4]) == (servers[0].name, "ready", "0 of 8", "14")
            assert ill[1].split("\n") == ["ejected", "answers 401 to what others answer"]
            assert ill[5] == "5"
            ((name, _, prompt, *_rest),) = cells(page, "templates of f")
            assert (name, prompt != "0") == ("handbook", True)
            facts = page.get_by_label("totals of f").inner_text()
            assert "1 of 2" in facts
            assert visitor.barriers() == []
            page.get_by_role("navigation", name="views").get_by_role("link", name="Templates").click()
            page.get_by_role("link", name="handbook").first.wait_for()


def told(replica: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {**replica, **more}


@pytest.mark.parametrize("width", [1280, 380])
def test_nobody_is_kept_out(themed: Visitor, tmp_path: Path, width: int) -> None:
    listed = tuple(ReplicaSettings(url=f"http://127.0.0.1:{port}") for port in (1, 2))
    events = {"whole": True, "tokens": 64_000}

    def answer(route: Route) -> None:
        found = route.fetch().json()
        one, other = found["fleets"][0]["replicas"]
        found["fleets"][0]["replicas"] = [
            told(one, name="x" * 60, state="ready", kv_events=events, account="team", region="eu", running=3),
            told(other, state="down", checked_at=1_700_000_000.0, known_tokens=20_000),
            told(other, name="c", state="draining"),
        ]
        numbers = {
            "prompt_tokens": 900,
            "available_tokens": 700,
            "chosen_tokens": 650,
            "delivered_tokens": 500,
        }
        row = {"template": "t" * 60, "upstream": "f", **numbers}
        found["templates"] = [{**row, "shortfall": {"workload": 200, "routing": 50, "eviction": 150}}]
        route.fulfill(json=found)

    themed.page.set_viewport_size({"width": width, "height": 800})
    with served_fleet(FleetSettings(replicas=listed), tmp_path) as gateway:
        themed.page.route("**/promptcache/v1/replicas", answer)
        page = themed.open(gateway, "#/fleets")
        page.get_by_text("x" * 60).first.wait_for()
        assert themed.barriers() == []
        assert themed.overhang() == 0
        assert [row[1].split("\n")[0] for row in cells(page, "replicas of f")] == [
            "ready",
            "down",
            "draining",
        ]


def test_without_fleets_it_says_so(visitor: Visitor, blank: Served) -> None:
    page = visitor.open(blank, "#/fleets")
    page.get_by_text("No upstream of this gateway has replicas.").wait_for()
    assert visitor.barriers() == []
