"""Many templates on one page: some at first, found by name, in any order; what causes share; wrong places."""

from __future__ import annotations

import re
import time
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from promptcache_gateway.observe.places import Place
from promptcache_gateway.store.reader import by_loss
from tests.gateway.dashboard.traffic import records

if TYPE_CHECKING:
    from playwright.sync_api import Page, Route

    from tests.gateway.dashboard.browsing import Visitor
    from tests.gateway.serving import Served

pytestmark = pytest.mark.browser

STATIC = "gateway/promptcache_gateway/dashboard/static"


def show_many(visitor: Visitor, served: Served) -> None:
    """Show the templates, and forty more that lost less and less."""
    rows = served.get("/promptcache/v1/templates").json()
    more = [
        {**rows[0], "name": f"team-{at:02}/a-name-of-many-words", "lost_usd": 0.01 / (at + 1), "requests": at}
        for at in range(40)
    ]
    found = sorted([*rows, *more], key=by_loss)
    visitor.page.route("**/promptcache/v1/templates", lambda route: route.fulfill(json=found))


def names(page: Page) -> list[str]:
    return [one.split()[0] for one in page.locator("table.templates tbody th").all_inner_texts()]


@pytest.mark.parametrize("width", [1280, 380])
def test_of_many_templates_those_that_lost_most_come_first(
    visitor: Visitor, past: Served, width: int
) -> None:
    visitor.page.set_viewport_size({"width": width, "height": 900})
    show_many(visitor, past)
    page = visitor.open(past)
    page.get_by_text("10 of 4").wait_for()
    assert names(page)[0] == "support/answer"
    assert len(names(page)) == 10
    above = page.locator("h2").all_inner_texts()
    assert above.index("Top causes") < above.index("Templates")
    link = page.get_by_role("link", name="team-00/a-name-of-many-words")
    tops = "node => new Set([...node.getClientRects()].map((line) => Math.round(line.top))).size"
    assert link.evaluate(tops) <= (2 if width == 1280 else 3)

    page.get_by_role("searchbox").fill("TEAM-3")
    page.get_by_text("10 matches").wait_for()
    assert names(page)[0].startswith("team-30/")
    page.get_by_role("searchbox").fill("nobody")
    page.get_by_text("No template has this in its name.").wait_for()
    page.get_by_role("searchbox").fill("")
    everything = page.get_by_role("button", name=re.compile("Show all 4"))
    everything.focus()
    page.keyboard.press("Enter")
    page.locator("table.templates tbody tr").nth(44).wait_for()
    assert (visitor.barriers(), visitor.overhang()) == ([], 0)


def test_any_column_orders_the_templates_by_keyboard(visitor: Visitor, past: Served) -> None:
    show_many(visitor, past)
    page = visitor.open(past)
    table = page.get_by_role("region", name="templates")
    head = table.get_by_role("columnheader", name="lost $", exact=True)
    assert head.get_attribute("aria-sort") == "descending"
    table.get_by_role("button", name="template", exact=True).focus()
    page.keyboard.press("Enter")
    page.locator("th[aria-sort=ascending]", has_text="template").wait_for()
    assert names(page) == sorted(names(page))
    assert head.get_attribute("aria-sort") is None
    page.keyboard.press("Enter")
    page.locator("th[aria-sort=descending]", has_text="template").wait_for()
    assert names(page)[-1].startswith("team-")
    table.get_by_role("button", name="requests", exact=True).click()
    page.locator("th[aria-sort=descending]", has_text="requests").wait_for()
    counts = [
        int(one.replace(",", "")) for one in page.locator("table.templates td:nth-child(6)").all_inner_texts()
    ]
    assert counts == sorted(counts, reverse=True)


def test_a_cause_behind_another_is_said_to_save_nothing_alone(visitor: Visitor, past: Served) -> None:
    one = next(each for each in records(400, end=time.time(), seconds=600) if each.diagnosis.hit is False)
    told = one.diagnosis
    assert told.lost_tokens is not None
    places = (
        Place("PC102", "system[0]", 90, 40, told.lost_tokens - 9, "id 1", ""),
        Place("PC101", "system[0]", 62, 30, 9, "09:14", "09:15"),
    )
    diagnosis = replace(
        told,
        cause="PC102",
        causes=("PC102", "PC101"),
        char_offset=90,
        token_offset=40,
        losses={"PC102": told.lost_tokens - 9, "PC101": 9},
        places=places,
        before="id 1",
        after="",
    )
    past.gateway.observer.journal.record(
        replace(one, id="pcr_shared", template="sharing", diagnosis=diagnosis)
    )
    page = visitor.open(past, "#/templates/sharing")
    rows = page.get_by_role("region", name="causes").get_by_role("row").all_inner_texts()
    assert "behind PC101: mended alone it saves nothing" in rows[1]
    assert "in front of PC102: mend this first" in rows[2]
    page.get_by_text("Nothing stands here.").wait_for()
    row = page.locator("table.requests tbody tr").inner_text()
    assert f"{told.lost_tokens:,}" in row
    assert visitor.barriers() == []
    page = visitor.open(past, "#/requests/pcr_shared")
    page.get_by_text("It stands in front: nothing behind it is read until it is mended.").wait_for()


def test_a_page_that_is_not_there_says_so(visitor: Visitor, past: Served) -> None:
    for place in ("#/bogus", "#/engine/x", "#/requests/a/b"):
        page = visitor.open(past, place)
        page.get_by_role("heading", name="Not found").wait_for()
        assert place in page.locator("main").inner_text()
    page = visitor.open(past, "#/templates/support/answer")
    page.get_by_role("heading", name="support/answer").wait_for()


def test_a_narrow_list_of_requests_names_the_template(visitor: Visitor, past: Served) -> None:
    visitor.page.set_viewport_size({"width": 380, "height": 800})
    page = visitor.open(past, "#/requests?template=glossary")
    assert "glossary" in page.locator("table.requests tbody th").first.inner_text()


def test_what_the_first_look_found_is_shown(visitor: Visitor, past: Served) -> None:
    """Also where the feed opens meanwhile, and a second look would take for ever."""
    looks: list[Route] = []

    def answer(route: Route) -> None:
        looks.append(route)
        if len(looks) == 1:
            visitor.page.wait_for_timeout(400)
            route.continue_()

    visitor.page.route("**/promptcache/v1/templates", answer)
    page = visitor.open(past, "#/?window=day")
    assert page.locator(".big").is_visible()


def test_every_module_is_fetched_at_once(past: Served, pytestconfig: pytest.Config) -> None:
    folder = pytestconfig.rootpath / STATIC
    modules = {path.relative_to(folder).as_posix() for path in folder.rglob("*.js")}
    page = past.get("/dashboard").text
    loaded = re.findall(r'(?:modulepreload" href|script[^>]* src)="dashboard/static/([^"]+)"', page)
    assert sorted(loaded) == sorted(modules)


def test_totals_are_those_of_the_window_that_was_chosen(visitor: Visitor, past: Served) -> None:
    rows = past.get("/promptcache/v1/templates?window=hour").json()
    least = sum(row["requests"] for row in rows)
    everything = sum(row["requests"] for row in past.get("/promptcache/v1/templates").json())
    assert 0 < least < everything

    page = visitor.open(past, "#/?window=hour")
    lead = page.get_by_role("region", name="1 hour")
    assert str(least) in lead.inner_text().split()
    assert str(everything) not in lead.inner_text().split()
    assert visitor.barriers() == []
    lead.get_by_role("link", name="all that was recorded").click()
    lead = page.get_by_role("region", name="all that was recorded")
    lead.wait_for()
    assert str(everything) in lead.inner_text().split()

    page = visitor.open(past, f"#/templates/{rows[0]['name'].replace('/', '%2F')}?window=hour")
    lead = page.get_by_role("region", name="1 hour")
    assert str(rows[0]["requests"]) in lead.inner_text().split()
    assert visitor.complaints == []


def test_a_window_without_requests_says_so(visitor: Visitor, blank: Served) -> None:
    (old,) = records(1, end=time.time() - 3 * 86_400, seconds=1)
    blank.gateway.observer.journal.record(old)
    page = visitor.open(blank, "#/?window=hour")
    page.get_by_role("region", name="1 hour").wait_for()
    assert page.get_by_text("No request in this window.").count() >= 1
    assert visitor.complaints == []
