"""Where diagnosis is off every page says so, and nothing that is unknown looks like good news."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from promptcache_gateway.settings import Settings, UpstreamSettings
from tests.gateway.serving import serve

if TYPE_CHECKING:
    from pathlib import Path

    from tests.gateway.dashboard.browsing import Visitor
    from tests.gateway.mock_upstream import MockUpstream
    from tests.gateway.serving import Served

pytestmark = pytest.mark.browser

BODY = {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}


def test_every_page_says_that_diagnosis_is_off(themed: Visitor, mock: MockUpstream, tmp_path: Path) -> None:
    upstream = UpstreamSettings(url=mock.url)
    with serve(Settings(upstream=upstream, data_dir=tmp_path, diagnosis=False)) as served:
        answer = served.post(BODY, x_promptcache_template="support")
        request = answer.headers["x-promptcache-request-id"]
        for place in ("#/", "#/templates/support", "#/requests", f"#/requests/{request}"):
            page = themed.open(served, place)
            line = page.locator("main .trouble")
            line.wait_for()
            assert line.inner_text().startswith("Diagnosis is off.")
            assert themed.barriers() == []
            assert themed.overhang() == 0
        overview = themed.open(served)
        text = overview.locator("main").inner_text()
        assert "No miss so far." not in text
        assert "is the ceiling these prompts allow" not in text
        assert "\u2013 tokens read anew" in text
        assert "0 tokens, \u2013" not in text
        template = themed.open(served, "#/templates/support").locator("main").inner_text()
        assert "Nothing is known of misses: diagnosis is off." in template
        assert "\u2013 tokens read anew" in template
        assert "is the ceiling these prompts allow" not in template
        shown = themed.open(served, f"#/requests/{request}").locator("main").inner_text()
        assert "the request was counted and not looked at" in shown


def test_nothing_is_said_where_it_is_on(visitor: Visitor, past: Served) -> None:
    page = visitor.open(past)
    assert page.locator("main .trouble").count() == 0
    assert "is the ceiling these prompts allow" in page.locator("main").inner_text()
