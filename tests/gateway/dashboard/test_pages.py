"""The dashboard's pages in a real browser, over a real gateway with a made-up past."""

from __future__ import annotations

import re
import time
from dataclasses import replace
from typing import TYPE_CHECKING

import httpx
import pytest

from promptcache_gateway.observe.provider_verdict import ProviderVerdict
from promptcache_gateway.observe.recent import Recent
from tests.gateway.dashboard.conftest import REQUESTS
from tests.gateway.dashboard.traffic import records

if TYPE_CHECKING:
    from playwright.sync_api import Page, Route

    from promptcache_gateway.observe import RequestRecord
    from tests.gateway.dashboard.browsing import Visitor
    from tests.gateway.serving import Served

pytestmark = pytest.mark.browser

API = "/promptcache/v1"
PLACES = (
    "#/",
    "#/?window=week",
    "#/templates/support%2Fanswer",
    "#/templates/glossary",
    "#/requests",
    "#/requests?cause=PC101&template=support%2Fanswer",
    "#/requests/{broken}",
    "#/requests/{fine}",
    "#/requests/nope",
    "#/engine",
    "#/bogus",
)
ENGINE = {
    "available": True,
    "upstream": "engine",
    "model": "tiny",
    "healthy": True,
    "page_size": 16,
    "pages": {"total": 1_000, "free": 300, "cached": 600, "held": 100},
    "running": 2,
    "waiting": 1,
    "prefix_queries": 5_000,
    "prefix_hits": 4_000,
    "evicted_pages": 7,
    "preemptions": 0,
    "prefill_tokens": 9_000,
    "generated_tokens": 400,
}


def made(served: Served) -> list[RequestRecord]:
    return list(served.gateway.observer.journal.recent._records.values())


def place_of(served: Served, place: str) -> str:
    kept = made(served)
    return place.format(
        broken=next(each.id for each in reversed(kept) if each.diagnosis.hit is False),
        fine=next(each.id for each in reversed(kept) if each.diagnosis.hit),
    )


def number(text: str) -> float:
    found = re.search(r"[\d,.]+", text)
    assert found, text
    return float(found[0].replace(",", ""))


def branch(start: int, tokens: int, cached: int, *templates: str, **more: object) -> dict[str, object]:
    plain = {"start": start, "tokens": tokens, "cached_tokens": cached, "prompts": 1, "children": []}
    return plain | {"templates": list(templates)} | more


TREE = branch(0, 400, 400, "planner", "support", prompts=3)
TREE["children"] = [branch(400, 100, 25, "planner"), branch(400, 60, 0, "support", prompts=9, branches=9)]


def answer_engine(route: Route) -> None:
    tree = {"available": True, "prompts": 3, "branches": [TREE]}
    route.fulfill(json=tree if route.request.url.endswith("/tree") else ENGINE)


@pytest.mark.parametrize("width", [1280, 320])
def test_nobody_is_kept_out_and_nothing_scrolls_sideways(themed: Visitor, past: Served, width: int) -> None:
    themed.page.set_viewport_size({"width": width, "height": 800})
    for place in PLACES:
        page = themed.open(past, place_of(past, place))
        assert page.locator("h1").count() == 1, place
        for summary in page.locator("summary").all():
            summary.click()
        assert themed.barriers() == [], place
        assert themed.overhang() == 0, place


def test_a_long_name_is_broken(visitor: Visitor, past: Served) -> None:
    def renamed(route: Route) -> None:
        route.fulfill(json={**route.fetch().json(), "template": "x" * 128})

    visitor.page.set_viewport_size({"width": 380, "height": 800})
    visitor.page.route(re.compile(r"/promptcache/v1/requests/[^?]+$"), renamed)
    page = visitor.open(past, place_of(past, "#/requests/{broken}"))
    page.get_by_text("x" * 128).first.wait_for()
    assert visitor.overhang() == 0


@pytest.mark.parametrize("width", [1280, 380])
def test_the_engine_s_page(themed: Visitor, past: Served, width: int) -> None:
    themed.page.set_viewport_size({"width": width, "height": 800})
    themed.page.route(re.compile(r"/promptcache/v1/engine"), answer_engine)
    page = themed.open(past, "#/engine")
    assert page.get_by_role("img", name="100 pages in use, 600 evictable, 300 free").count() == 1
    assert page.get_by_text("80.0 %").count() == 1
    rows = page.get_by_role("region", name="radix tree").locator(".branch").all_inner_texts()
    assert [" ".join(row.split()) for row in rows] == [
        "planner, support 3 prompts 400 of 400 tokens cached",
        "planner 1 prompt 25 of 100 tokens cached",
        "support 9 more branches 0 of 60 tokens cached",
    ]
    page.get_by_role("img", name="pages since this page was opened").locator("canvas").wait_for()
    assert (themed.barriers(), themed.overhang()) == ([], 0)


def test_the_numbers_are_the_api_s(visitor: Visitor, past: Served) -> None:
    page = visitor.open(past, "#/?window=day")
    templates = past.get(f"{API}/templates").json()
    read, reported = (
        sum(row[name] for row in templates) for name in ("cached_tokens", "reported_prompt_tokens")
    )
    assert page.locator(".big").inner_text() == f"{100 * read / reported:.1f} %"
    saved = sum(row["saved_usd"] for row in templates)
    assert page.locator(".fact", has_text="net saved").locator(".value").inner_text() == f"${saved:,.2f}"
    names = page.get_by_role("region", name="templates").get_by_role("rowheader").all_inner_texts()
    assert [name.split()[0] for name in names] == [row["name"] for row in templates]

    page.get_by_text("The same as a table").click()
    rows = page.get_by_role("region", name="tokens over time").get_by_role("row").all()[1:]
    curve = past.get(f"{API}/timeline?window=day").json()
    shown = [[number(cell.inner_text()) for cell in row.get_by_role("cell").all()[:2]] for row in rows]
    steps = list(zip(curve["requests"], curve["cached_tokens"], strict=True))
    assert shown == [[float(a), float(b)] for a, b in reversed(steps) if a]
    assert sum(count for count, _ in shown) >= REQUESTS


def test_a_template_shows_where_and_why(visitor: Visitor, past: Served) -> None:
    page = visitor.open(past, "#/")
    page.get_by_role("region", name="templates").get_by_role("link", name="support/answer").click()
    page.get_by_role("heading", name="support/answer").wait_for()
    place = page.locator(".places li")
    assert "PC101 clock-in-prefix" in place.inner_text()
    assert "system[0]" in place.inner_text()
    assert (place.locator("del").inner_text(), place.locator("ins").inner_text()) == ("4:07", "5:52")
    found = past.get(f"{API}/divergences?template=support/answer").json()["places"][0]
    assert f"{found['lost_tokens']:,} tokens lost · ${found['lost_usd']:.2f}" in place.inner_text()
    left = page.locator(".prefix b").evaluate("node => parseFloat(node.style.left)")
    whole = past.get(f"{API}/divergences?template=support/answer").json()["prompt_tokens"]
    assert left == pytest.approx(100 * found["tokens"] / whole, abs=0.01)
    page.get_by_role("region", name="causes").locator("summary").click()
    assert page.get_by_text("promptcache rule PC101").is_visible()
    place.get_by_role("link").click()
    page.get_by_role("heading", name=found["sample"]["id"]).wait_for()


def test_a_request_s_segments_and_raw_usage(visitor: Visitor, past: Served) -> None:
    shown = next(
        each
        for each in reversed(made(past))
        if each.template == "code-review" and each.diagnosis.hit is False
    )
    page = visitor.open(past, f"#/requests/{shown.id}")
    segments = page.get_by_role("region", name="segments").get_by_role("row").all_inner_texts()[1:]
    assert [text.split()[0] for text in segments] == [stretch.path for stretch in shown.outline]
    assert [text for text in segments if "diverges here" in text] == [segments[2]]
    assert segments[0].endswith("read")
    assert "lost" in segments[3]
    assert segments[-1].endswith("new")
    assert f'"cached_tokens": {shown.cached_tokens}' in page.get_by_label("raw usage").inner_text()


def test_a_request_that_failed_says_so_in_words(visitor: Visitor, past: Served) -> None:
    answer = past.post({"model": "m", "messages": [{"role": "user", "content": "Hi"}]})
    page = visitor.open(past, f"#/requests/{answer.headers['x-promptcache-request-id']}")
    said = page.get_by_role("region", name="failure").inner_text()
    assert "No connection to the upstream could be made. The upstream's doing." in said
    assert "What to do: See whether it runs" in said
    page = visitor.open(past, f"#/requests/{made(past)[0].id}")
    assert not page.get_by_role("region", name="failure").count()


def test_the_provider_s_verdict_and_the_linter_s_line_stand_beside_ours(
    visitor: Visitor, past: Served
) -> None:
    theirs, ours = ({"cache_miss_reason": {"type": name}} for name in ("tools_changed", "system_changed"))
    finding = {
        "code": "PC101",
        "message": "The `now` stands first.",
        "filename": "p/a.j2",
        "location": {"row": 7},
    }

    def answer(route: Route) -> None:
        told = route.fetch().json()
        told["provider_verdict"] = ProviderVerdict(
            "anthropic.messages", "msg_1", by_caller=True, ours=ours, theirs=theirs, answered=True
        ).to_dict()
        told["source"] = {"file": "p/a.j2", "findings": [finding], "problem": None}
        route.fulfill(json=told)

    visitor.page.route("**/promptcache/v1/requests/pcr_*", answer)
    page = visitor.open(past, place_of(past, "#/requests/{broken}"))
    verdict = page.get_by_role("region", name="provider's verdict")
    assert "The two disagree. The caller asked about msg_1." in verdict.inner_text()
    assert verdict.locator("figure b").all_inner_texts() == ["tools_changed", "system_changed"]
    assert "p/a.j2:7" in page.get_by_role("region", name="findings of the linter").inner_text()
    assert visitor.barriers() == []


def test_what_left_the_memory_is_not_made_up(visitor: Visitor, past: Served) -> None:
    journal = past.gateway.observer.journal
    kept, journal.recent = journal.recent, Recent()
    try:
        broken = next(each for each in reversed(kept._records.values()) if each.diagnosis.before)
        page = visitor.open(past, f"#/requests/{broken.id}")
        page.get_by_text("Its segments are not in memory").wait_for()
        assert page.locator("del, ins, .raw").count() == 0
        page = visitor.open(past, f"#/templates/{broken.template.replace('/', '%2F')}")
        page.get_by_text("No sample is in memory any more.").first.wait_for()
        assert page.locator("del, ins").count() == 0
    finally:
        journal.recent = kept


def test_requests_are_filtered_and_paged(visitor: Visitor, past: Served) -> None:
    page = visitor.open(past, "#/requests")
    page.get_by_label("cause").select_option("PC102")
    page.get_by_text("cause PC102 ✕").wait_for()
    page.locator("table.requests td", has_text="hit").wait_for(state="detached")
    seen = page.locator("table.requests tbody th a:not(.under)").all()
    first = [each.get_attribute("href") for each in seen]
    page.get_by_role("link", name="without the filter by cause").click()
    page.locator("table.requests td", has_text="hit").first.wait_for()
    before = page.locator("table.requests tbody th a:not(.under)").first.get_attribute("href")
    page.get_by_role("link", name="older").click()
    page.get_by_role("link", name="newest").wait_for()
    assert page.locator("table.requests tbody th a:not(.under)").first.get_attribute("href") != before
    assert len(first) == len(set(first)) > 0


def test_a_request_appears_by_itself(visitor: Visitor, past: Served) -> None:
    page = visitor.open(past)
    page.get_by_text("live", exact=True).wait_for()
    one = replace(next(records(1, end=time.time(), seconds=1)), id="pcr_live", template="brand-new")
    past.gateway.observer.journal.record(one)
    page.get_by_role("region", name="templates").get_by_role("link", name="brand-new").wait_for()
    page.locator("a[href='#/requests/pcr_live']").wait_for()


def test_a_keyboard_is_enough(visitor: Visitor, past: Served) -> None:
    page = visitor.open(past)
    page.keyboard.press("Tab")
    assert focused(page) == "Skip to the content"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"
    reached: set[str] = set()
    for _ in range(40):
        page.keyboard.press("Tab")
        reached.add(focused(page))
        if focused(page) == "code-review":
            break
    assert {"7 days", "The same as a table", "code-review"} <= reached
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="code-review").wait_for()


def focused(page: Page) -> str:
    text: str = page.evaluate("document.activeElement.textContent.trim()")
    return text


def test_nothing_recorded_says_what_to_do(themed: Visitor, blank: Served) -> None:
    page = themed.open(blank)
    page.get_by_role("heading", name="No request yet").wait_for()
    assert page.get_by_text(f"{blank.url}/v1").is_visible()
    assert themed.barriers() == []
    page = themed.open(blank, "#/requests")
    page.get_by_text("No request here yet.").wait_for()
    page = themed.open(blank, "#/engine")
    page.get_by_text("it has no engine of its own").wait_for()
    page = themed.open(blank, "#/templates/nobody")
    page.get_by_role("alert").get_by_text("nobody").wait_for()


def test_a_gateway_that_stops_answering_is_told_and_forgiven(visitor: Visitor, past: Served) -> None:
    page = visitor.open(past)
    page.route("**/promptcache/v1/t*", lambda route: route.fulfill(status=503, body="no"))
    past.gateway.observer.journal.record(next(records(1, end=time.time(), seconds=1, seed=3)))
    alert = page.get_by_role("alert")
    alert.get_by_text("The gateway answered 503.").wait_for()
    assert "was true before" in alert.inner_text()
    assert page.locator(".big").is_visible()
    assert visitor.barriers() == []
    assert alert.get_by_role("button", name="Try again").is_enabled()
    page.unroute("**/promptcache/v1/t*")
    # It may have looked again by itself meanwhile.
    page.evaluate("document.querySelector('[role=alert] button')?.click()")
    alert.wait_for(state="detached")


def test_no_script_or_style_stands_in_the_page(past: Served) -> None:
    answer = past.get("/dashboard")
    assert "'unsafe" not in answer.headers["content-security-policy"]
    assert not re.search(r"<script(?![^>]*\ssrc=)|<style|\sstyle=|\son\w+=", answer.text)
    for name in re.findall(r'(?:src|href)="(dashboard/static/[^"]+)"', answer.text):
        got = httpx.get(f"{past.url}/{name}")
        assert got.status_code == 200, name
        assert got.headers["content-security-policy"] == answer.headers["content-security-policy"]


DIFFERENCES = """async () => {
  const { compare } = await import("./dashboard/static/difference.js");
  const told = (a, b) => compare([...a], [...b]);
  let state = 7;
  const dice = (most) => { state = (state * 48271) % 2147483647; return state % most; };
  const text = () => Array.from({ length: dice(40) }, () => "abé🙂 \\n"[dice(5)] ?? "z").join("");
  for (let turn = 0; turn < 500; turn += 1) {
    const [a, b] = [text(), text()];
    const pieces = told(a, b);
    const side = (number) => pieces.map((piece) => piece[number]).join("");
    if (side(0) !== a || side(1) !== b) return [a, b];
  }
  return [told("at 09:14:07.", "at 09:15:52."), told("same", "same"), told("", "new"), told("a1b2", "a1b2c"),
    told("x".repeat(900), "y".repeat(900)).length,
    told("one long word and red", "two long word and blue").length];
}"""


def test_differences_are_exact(visitor: Visitor, past: Served) -> None:
    found = visitor.open(past).evaluate(DIFFERENCES)
    assert found == [
        [["at 09:1", "at 09:1"], ["4:07", "5:52"], [".", "."]],
        [["same", "same"]],
        [["", "new"]],
        [["a1b2", "a1b2"], ["", "c"]],
        1,
        3,
    ]
