"""The recipes of docs/clients.md run as they stand, against a gateway in front of a scripted upstream."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from promptcache_gateway.settings import Settings, UpstreamSettings
from tests.gateway.serving import Served, serve

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.gateway.mock_upstream import MockUpstream

PAGE = Path(__file__).parents[2] / "docs" / "clients.md"


@pytest.fixture
def served(mock: MockUpstream, tmp_path: Path) -> Iterator[Served]:
    """A gateway in front of a server that speaks chat completions alone."""
    upstream = UpstreamSettings(url=mock.url, apis=("chat",))
    with serve(Settings(upstream=upstream, data_dir=tmp_path)) as made:
        yield made


def test_the_page_s_python_runs(served: Served, capsys: pytest.CaptureFixture[str]) -> None:
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert len(blocks) == 4
    names: dict[str, object] = {}
    try:
        for block in blocks:
            exec(compile(block.replace("http://127.0.0.1:8400", served.url), str(PAGE), "exec"), names)
    finally:
        for client in ("client", "claude"):
            names[client].close()
    printed = capsys.readouterr().out.splitlines()
    assert printed[0] == "1920"
    assert printed[2] == "café  / ok"
    assert printed[3:] == ["1920", "1920", "Hello there."]
