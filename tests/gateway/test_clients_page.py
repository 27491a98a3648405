"""The recipes of docs/clients.md run as they stand, against a gateway in front of a scripted upstream."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest

    from tests.gateway.serving import Served

PAGE = Path(__file__).parents[2] / "docs" / "clients.md"


def test_the_page_s_python_runs(proxied: Served, capsys: pytest.CaptureFixture[str]) -> None:
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert len(blocks) == 3
    names: dict[str, object] = {}
    try:
        for block in blocks:
            exec(compile(block.replace("http://127.0.0.1:8400", proxied.url), str(PAGE), "exec"), names)
    finally:
        for client in ("client", "claude"):
            names[client].close()
    printed = capsys.readouterr().out.splitlines()
    assert printed[0] == "1920"
    assert printed[2] == "café  / ok"
    assert printed[3:] == ["1920", "Hello there."]
