"""What a request cost and what was changed of it, where each of its causes stands, writes, and budgets."""

from __future__ import annotations

import re
import time
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from promptcache_gateway.exchange import Change
from promptcache_gateway.observe.places import Place
from tests.gateway.dashboard.traffic import records

if TYPE_CHECKING:
    from playwright.sync_api import Route

    from promptcache_gateway.observe import RequestRecord
    from tests.gateway.dashboard.browsing import Visitor
    from tests.gateway.serving import Served

pytestmark = pytest.mark.browser

API = "/promptcache/v1"
BUDGETS = [
    {
        "tenant": "shop",
        "key_id": None,
        "key": None,
        "budget_usd": 100.0,
        "period": "month",
        "spent_usd": 62.5,
        "left_usd": 37.5,
        "requests": 4_000,
        "unpriced_requests": 0,
        "resets_at": 1_800_000_000.0,
    },
    {
        "tenant": "shop",
        "key_id": "pck_1",
        "key": "nightly",
        "budget_usd": 5.0,
        "period": "day",
        "spent_usd": 5.4,
        "left_usd": 0.0,
        "requests": 90,
        "unpriced_requests": 3,
        "resets_at": 1_800_000_000.0,
    },
]


def two_causes() -> RequestRecord:
    """A request that a clock and an edited message broke, and that was changed on its way."""
    one = next(each for each in records(400, end=time.time(), seconds=600) if each.diagnosis.hit is False)
    told = one.diagnosis
    assert told.cause is not None
    lost = (told.lost_tokens or 0) - 200
    places = (
        Place(told.cause, told.path, told.char_offset, told.token_offset, lost, told.before, told.after),
        Place("PC502", "messages[1]", 4, 3_000, 200, "I am Ada.", "I am Bob."),
    )
    diagnosis = replace(
        told, causes=(told.cause, "PC502"), losses={told.cause: lost, "PC502": 200}, places=places
    )
    changes = (
        Change("include_usage", ("stream_options.include_usage",)),
        Change("breakpoints", (), (("system[1]", "too short"),)),
    )
    return replace(one, id="pcr_two_causes", diagnosis=diagnosis, changes=changes, cost_usd=0.0421)


def test_each_cause_stands_at_its_own_place(themed: Visitor, past: Served) -> None:
    record = two_causes()
    past.gateway.observer.journal.record(record)
    page = themed.open(past, f"#/requests/{record.id}")
    place = page.locator(".diagnosis .places li")
    text = " ".join(place.inner_text().split())
    assert "PC502" in text
    assert "at messages[1], character 4, token ≈ 3,000" in text
    assert "200 tokens lost" in text
    assert (place.locator("del").inner_text(), place.locator("ins").inner_text()) == ("Ada", "Bob")
    assert themed.barriers() == []
    themed.page.set_viewport_size({"width": 380, "height": 800})
    assert themed.overhang() == 0


def test_one_place_is_shown_once(visitor: Visitor, past: Served) -> None:
    one = two_causes()
    first, second = one.diagnosis.places
    places = (first, replace(first, code="PC401", lost_tokens=0), second)
    codes = tuple(place.code for place in places)
    record = replace(one, id="pcr_one_place", diagnosis=replace(one.diagnosis, causes=codes, places=places))
    past.gateway.observer.journal.record(record)
    page = visitor.open(past, f"#/requests/{record.id}")
    beside, apart = page.locator(".diagnosis .places li").all()
    assert "At the same place as above." in beside.inner_text()
    assert beside.locator("del").count() == 0
    assert apart.locator("del").inner_text() == "Ada"


def test_a_request_shows_its_cost_and_what_was_changed(visitor: Visitor, past: Served) -> None:
    record = two_causes()
    past.gateway.observer.journal.record(record)
    page = visitor.open(past, f"#/requests/{record.id}")
    assert page.locator(".fact", has_text="cost").locator(".value").inner_text() == "$0.04"
    changes = " ".join(page.get_by_role("region", name="changes").inner_text().split())
    assert "include_usage stream_options.include_usage" in changes
    assert "left system[1]: too short" in changes


def test_a_request_that_went_as_it_came_shows_no_changes(visitor: Visitor, past: Served) -> None:
    one = next(records(1, end=time.time(), seconds=1))
    past.gateway.observer.journal.record(replace(one, id="pcr_as_it_came"))
    page = visitor.open(past, "#/requests/pcr_as_it_came")
    assert page.get_by_role("region", name="changes").count() == 0


def test_write_amplification_is_the_api_s(visitor: Visitor, past: Served) -> None:
    page = visitor.open(past, "#/templates/code-review")
    told = past.get(f"{API}/templates/code-review").json()["write_amplification"]
    fact = page.locator(".fact", has_text="write amplification").locator(".value")
    assert fact.inner_text() == f"{told:.2f} \N{MULTIPLICATION SIGN}"
    page = visitor.open(past, "#/templates/planner")
    assert (
        page.locator(".fact", has_text="write amplification").locator(".value").inner_text() == "\N{EN DASH}"
    )


def test_the_table_over_time_names_the_cause_that_cost_most(visitor: Visitor, past: Served) -> None:
    page = visitor.open(past, "#/templates/support%2Fanswer?window=day")
    page.get_by_text("The same as a table").click()
    rows = page.get_by_role("region", name="tokens over time").get_by_role("row").all_inner_texts()[1:]
    causes = past.get(f"{API}/timeline?window=day&template=support/answer").json()["causes"]
    assert set(causes) == {"PC101"}
    lost = [f"PC101, {tokens:,}" for tokens in causes["PC101"]["lost_tokens"] if tokens]
    assert lost
    assert [found[0] for row in rows if (found := re.findall(r"PC\d+, [\d,]+", row))] == lost[::-1]


@pytest.mark.parametrize("width", [1280, 380])
def test_budgets_stand_on_the_overview_where_there_are_any(themed: Visitor, past: Served, width: int) -> None:
    def answer(route: Route) -> None:
        route.fulfill(json=BUDGETS)

    page = themed.open(past)
    assert page.get_by_role("region", name="budgets").count() == 0
    themed.page.set_viewport_size({"width": width, "height": 800})
    themed.page.route("**/promptcache/v1/budgets", answer)
    page.reload()
    rows = page.get_by_role("region", name="budgets").get_by_role("row")
    rows.first.wait_for()
    texts = [" ".join(text.split()) for text in rows.all_inner_texts()[1:]]
    assert texts[0].startswith("shop")
    assert "$62.50" in texts[0]
    assert "$100.00 a month" in texts[0]
    assert "key nightly 3 without a known price" in texts[1]
    assert (themed.barriers(), themed.overhang()) == ([], 0)
