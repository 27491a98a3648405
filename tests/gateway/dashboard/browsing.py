"""Someone who looks at the dashboard, and notes what the page does wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from axe_playwright_python.sync_playwright import Axe

if TYPE_CHECKING:
    from playwright.sync_api import ConsoleMessage, Page, Request

    from tests.gateway.serving import Served

_AXE = Axe()


class Visitor:
    """A page of the browser, with what it complained of.

    Attributes:
        page: the page.
        complaints: errors of scripts and of the content policy, and requests to other hosts.
    """

    def __init__(self, page: Page) -> None:
        self.page = page
        self.complaints: list[str] = []
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("console", self._hear)
        page.on("request", self._watch)

    def open(self, served: Served, place: str = "#/") -> Page:
        """Go to a place of the dashboard and wait until it is shown."""
        self.page.goto(f"{served.url}/dashboard{place}")
        self.page.locator("main[aria-busy=false]").wait_for()
        return self.page

    def barriers(self) -> list[str]:
        """What axe finds that keeps somebody from using the page."""
        found: dict[str, Any] = _AXE.run(self.page).response
        return [
            f"{rule['id']}: {rule['help']}: {node['html'][:120]}"
            for rule in found["violations"]
            for node in rule["nodes"]
        ]

    def overhang(self) -> int:
        """Pixels by which the page is wider than its window."""
        wide: int = self.page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
        return max(0, wide)

    def _hear(self, message: ConsoleMessage) -> None:
        if message.type == "error" and not message.text.startswith("Failed to load resource"):
            self.complaints.append(message.text)  # the browser itself reports a 404

    def _watch(self, request: Request) -> None:
        if urlsplit(request.url).hostname not in {"127.0.0.1", None}:
            self.complaints.append(f"asked another host: {request.url}")
