"""Templates renamed and merged from their page, and rows that are no one template."""

from __future__ import annotations

import re
import time
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from tests.gateway.dashboard.traffic import records

if TYPE_CHECKING:
    from tests.gateway.dashboard.browsing import Visitor
    from tests.gateway.serving import Served

pytestmark = pytest.mark.browser

API = "/promptcache/v1"


def seen(served: Served, *names: str) -> None:
    """A gateway that has seen a request of each template."""
    for number, name in enumerate(names):
        one = next(records(1, end=time.time(), seconds=1))
        served.gateway.observer.journal.record(replace(one, id=f"pcr_{name}_{number}", template=name))


def test_a_template_is_renamed(visitor: Visitor, blank: Served) -> None:
    seen(blank, "learned-dfb1", "support")
    page = visitor.open(blank, "#/templates/learned-dfb1")
    page.get_by_text("Rename or merge").click()
    page.get_by_label("another name").fill("tickets/classify")
    page.get_by_role("button", name="Rename").click()
    page.get_by_role("heading", name="tickets/classify").wait_for()
    assert page.url.endswith("#/templates/tickets%2Fclassify")
    assert {row["name"] for row in blank.get(f"{API}/templates").json()} == {"tickets/classify", "support"}


def test_a_name_that_is_taken_is_said_and_the_page_stays(themed: Visitor, blank: Served) -> None:
    seen(blank, "planner", "support")
    themed.page.set_viewport_size({"width": 380, "height": 800})
    page = themed.open(blank, "#/templates/planner")
    page.get_by_text("Rename or merge").click()
    page.get_by_label("another name").fill("support")
    page.get_by_role("button", name="Rename").click()
    page.get_by_role("alert").get_by_text("already").wait_for()
    assert page.get_by_role("heading", name="planner").count() == 1
    assert (themed.barriers(), themed.overhang()) == ([], 0)


def test_two_templates_become_one(visitor: Visitor, blank: Served) -> None:
    seen(blank, "planner", "planner-old", "learned-other")
    page = visitor.open(blank, "#/templates/planner-old")
    page.get_by_text("Rename or merge").click()
    page.get_by_label("a part of").select_option("planner")
    assert page.locator("select[name=into] option").all_inner_texts() == ["planner (1)"]
    page.get_by_role("button", name="Merge").click()
    page.get_by_role("heading", name="planner", exact=True).wait_for()
    rows = {row["name"]: row["requests"] for row in blank.get(f"{API}/templates").json()}
    assert rows == {"planner": 2, "learned-other": 1}


def test_a_row_of_several_templates_says_so_and_keeps_its_name(visitor: Visitor, blank: Served) -> None:
    seen(blank, "learned-other", "support")
    page = visitor.open(blank)
    row = page.get_by_role("region", name="templates").get_by_role("row", name=re.compile("learned-other"))
    assert row.get_by_text("several", exact=True).count() == 1
    row.get_by_role("link", name="learned-other").click()
    page.get_by_text("Requests of several templates stand here together").wait_for()
    assert page.get_by_text("Rename or merge").count() == 0
    assert visitor.barriers() == []
