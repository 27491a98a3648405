"""A browser, and a gateway with a past to look at."""

from __future__ import annotations

import shutil
import time
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import sync_playwright

from promptcache_gateway.settings import Settings, UpstreamSettings
from tests.gateway.dashboard.browsing import Visitor
from tests.gateway.dashboard.traffic import records
from tests.gateway.serving import serve

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser

    from tests.gateway.serving import Served

CHROMIUM = shutil.which("chromium")
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-background-networking",
    "--disable-sync",
)
NOBODY = UpstreamSettings(url="http://127.0.0.1:9")
REQUESTS = 400


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Debian's chromium."""
    if CHROMIUM is None:
        pytest.skip("chromium is not installed (apt install chromium)")
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def past(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A gateway that has seen a day of traffic. Tests may add to it."""
    with serve(Settings(upstream=NOBODY, data_dir=tmp_path_factory.mktemp("past"))) as served:
        for each in records(REQUESTS, end=time.time(), seconds=80_000):
            served.gateway.observer.journal.record(each)
        yield served


@pytest.fixture
def blank(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A gateway that has seen nothing."""
    with serve(Settings(upstream=NOBODY, data_dir=tmp_path_factory.mktemp("blank"))) as served:
        yield served


@pytest.fixture(params=["light", "dark"])
def themed(request: pytest.FixtureRequest, browser: Browser) -> Iterator[Visitor]:
    """A visitor in each of the themes."""
    yield from visiting(browser, request.param)


@pytest.fixture
def visitor(browser: Browser) -> Iterator[Visitor]:
    """A visitor to whose errors nothing was added when the test ends."""
    yield from visiting(browser, "light")


def visiting(browser: Browser, theme: str) -> Iterator[Visitor]:
    context = browser.new_context(color_scheme=theme, viewport={"width": 1280, "height": 900})  # type: ignore[arg-type]
    visitor = Visitor(context.new_page())
    yield visitor
    context.close()
    assert visitor.complaints == []
