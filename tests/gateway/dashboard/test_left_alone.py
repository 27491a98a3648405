"""The overview says which upstream gets no calls for a moment, and why."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Route

    from tests.gateway.dashboard.browsing import Visitor
    from tests.gateway.serving import Served

pytestmark = pytest.mark.browser

BODY = {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}


def test_an_upstream_that_is_left_alone_is_named(themed: Visitor, blank: Served) -> None:
    page = themed.open(blank)
    page.get_by_role("heading", name="No request yet").wait_for()
    assert page.locator("main .trouble").count() == 0
    while not (how := upstream_of(blank).get("left_alone")):
        assert blank.post(BODY).status_code in {502, 503}
    line = page.locator("main .trouble")
    line.wait_for()
    text = " ".join(line.inner_text().split())
    assert "The upstream " in text
    assert f"after {how['failures']} failures in a row." in text
    assert themed.barriers() == []
    assert themed.overhang() == 0


def upstream_of(served: Served) -> dict[str, dict[str, object]]:
    (upstream,) = served.get("/health").json()["upstreams"].values()
    found: dict[str, dict[str, object]] = upstream
    return found


@pytest.mark.parametrize(
    ("wait", "probing", "says"),
    [
        (7.5, False, "Its calls are refused, or go elsewhere,"),
        (0.0, False, "The next call finds out"),
        (60.0, True, "A call is finding out now"),
    ],
)
def test_it_says_how_that_ends(visitor: Visitor, past: Served, wait: float, probing: bool, says: str) -> None:
    how = {"since": 1_764_000_000.0, "failures": 1, "next_try_s": wait, "probing": probing}
    upstreams = {"<b>odd</b>": {"ok": False, "left_alone": how}, "well": {"ok": True}}

    def answer(route: Route) -> None:
        route.fulfill(status=503, json={"status": "unavailable", "upstreams": upstreams})

    visitor.page.route("**/health", answer)
    page = visitor.open(past)
    text = " ".join(page.locator("main .trouble").inner_text().split())
    assert text.startswith("The upstream <b>odd</b> has been left alone since 24 Nov 2025")
    assert "after 1 failure in a row." in text
    assert says in text
    assert "well" not in text


def test_a_page_without_health_is_shown_all_the_same(visitor: Visitor, past: Served) -> None:
    visitor.page.route("**/health", lambda route: route.fulfill(status=200, json={"status": "ok"}))
    page = visitor.open(past)
    assert page.locator(".big").is_visible()
    assert page.locator("main .trouble").count() == 0
