"""Takes the pictures of the dashboard for the README: ``python scripts/make_dashboard_picture.py``.

They show made-up traffic (`tests.gateway.dashboard.traffic`), in both themes. Needs chromium.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from promptcache_gateway.settings import Settings  # noqa: E402 - tests are found from the root
from tests.gateway.dashboard.conftest import CHROMIUM, FLAGS, NOBODY  # noqa: E402
from tests.gateway.dashboard.traffic import records  # noqa: E402
from tests.gateway.serving import serve  # noqa: E402

REQUESTS = 4_000
PICTURES = {"light": "dashboard.png", "dark": "dashboard-dark.png"}


def take(browser: Browser, address: str, theme: str) -> None:
    """Write one picture into docs/."""
    context = browser.new_context(color_scheme=theme, viewport={"width": 1180, "height": 1235})  # type: ignore[arg-type]
    page = context.new_page()
    page.goto(address)
    page.locator("main[aria-busy=false]").wait_for()
    page.locator("canvas").wait_for()
    page.get_by_text("live", exact=True).wait_for()
    page.screenshot(path=ROOT / "docs" / PICTURES[theme])
    context.close()


def main() -> None:
    """Fill a gateway with a day of traffic and photograph it."""
    with (
        tempfile.TemporaryDirectory() as folder,
        serve(Settings(upstream=NOBODY, data_dir=Path(folder))) as served,
        sync_playwright() as driver,
    ):
        for each in records(REQUESTS, end=time.time(), seconds=100_000):
            served.gateway.observer.journal.record(each)
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        for theme in PICTURES:
            take(browser, f"{served.url}/dashboard#/?window=day", theme)
        browser.close()


if __name__ == "__main__":
    main()
