"""The dashboard in a real browser, over the real gateway. The screenshot is kept in test-artifacts/."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import ConsoleMessage, Page, sync_playwright

from tests.acceptance.serving import RULES, Served, ask, with_system

CHROMIUM = shutil.which("chromium")
ARTIFACTS = Path(__file__).parents[2] / "test-artifacts"
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-background-networking",
    "--disable-sync",
]

pytestmark = [
    pytest.mark.model,
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed (apt install chromium)"),
]


@pytest.fixture(params=["light", "dark"])
def page(request: pytest.FixtureRequest, served: Served) -> Iterator[Page]:
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        context = browser.new_context(color_scheme=request.param, viewport={"width": 1280, "height": 800})
        page = context.new_page()
        complaints: list[str] = []
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("console", lambda message: complaints.append(message.text) if is_complaint(message) else None)
        yield page
        browser.close()
    assert complaints == []


def is_complaint(message: ConsoleMessage) -> bool:
    """Whether the page did something wrong; the browser itself reports a 404."""
    return message.type == "error" and not message.text.startswith("Failed to load resource")


def test_a_miss_appears_live_with_its_cause(page: Page, served: Served) -> None:
    page.goto(f"{served.url}/dashboard")
    page.get_by_text("live", exact=True).wait_for()
    theme = page.evaluate("matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light'")
    name = {"x-promptcache-template": f"clocked-{theme}"}
    headers = {}
    for second in (11, 52):
        system = f"You help at the {theme} desk. The time is 2026-11-29T15:03:{second}Z.\n{RULES}"
        headers, _ = ask(served, with_system(system, "Hello?"), extra_headers=name)

    templates = page.get_by_role("region", name="templates")
    templates.get_by_role("link", name=name["x-promptcache-template"]).wait_for()
    row = page.locator("table.requests tbody tr").first
    row.get_by_text("PC101").wait_for()
    ARTIFACTS.mkdir(exist_ok=True)
    page.screenshot(path=ARTIFACTS / f"dashboard-{theme}.png", full_page=True)

    row.get_by_role("link").first.click()
    diagnosis = page.get_by_role("region", name="diagnosis").get_by_role("paragraph")
    diagnosis.filter(has_text="PC101").get_by_text("messages[0]", exact=True).wait_for()
    assert page.locator("del").first.inner_text() == "11"
    assert page.locator("ins").first.inner_text() == "52"
    page.screenshot(path=ARTIFACTS / f"request-{theme}.png", full_page=True)
    assert headers["x-promptcache-request-id"] in page.url


def test_no_page_scrolls_sideways_on_a_phone(page: Page, served: Served) -> None:
    page.set_viewport_size({"width": 380, "height": 800})
    headers, _ = ask(served, with_system("You are brief.", "Hello?"))
    for place in ("#/", f"#/requests/{headers['x-promptcache-request-id']}", "#/engine"):
        page.goto(f"{served.url}/dashboard{place}")
        page.locator("main[aria-busy=false]").wait_for()
        assert page.evaluate("document.documentElement.scrollWidth") <= 380


def test_an_unknown_request_says_so(page: Page, served: Served) -> None:
    page.goto(f"{served.url}/dashboard#/requests/nope")
    page.get_by_role("alert").get_by_text("nope").wait_for()
