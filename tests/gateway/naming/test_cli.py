"""``promptcache templates`` against a running gateway."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from promptcache_gateway.naming.cli import main
from promptcache_gateway.settings import Settings, UpstreamSettings
from tests.gateway.mock_upstream import answer_chat, mock_upstream
from tests.gateway.serving import Served, serve

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

KEY = "pc-a-key-of-sixteen-or-more"
BODY = {
    "model": "m",
    "messages": [{"role": "system", "content": "Be kind."}, {"role": "user", "content": "Hi"}],
}


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    with mock_upstream(answer_chat) as mock:
        settings = Settings(upstream=UpstreamSettings(url=mock.url), data_dir=tmp_path, api_keys=(KEY,))
        with serve(settings) as made:
            made.http.headers["authorization"] = f"Bearer {KEY}"
            yield made


def test_templates_are_listed_renamed_and_merged(
    served: Served, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PROMPTCACHE_API_KEY", KEY)
    for name in ("a", "b", "b"):
        served.post(BODY, x_promptcache_template=name)
    assert main(["rename", "a", "support", "--url", served.url]) == 0
    assert capsys.readouterr().out == "a is called support now, with 1 recorded requests.\n"
    assert main(["merge", "b", "support", "--url", f"{served.url}/v1/"]) == 0
    assert capsys.readouterr().out == "b is a part of support now, with 2 recorded requests.\n"
    assert main(["list", "--url", served.url]) == 0
    head, row = capsys.readouterr().out.splitlines()
    assert head.split() == ["template", "requests", "read", "could", "lost", "tokens"]
    assert row.split()[:3] == ["support", "3", "95.7%"]


def test_what_goes_wrong_is_one_line_and_exit_2(
    served: Served, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PROMPTCACHE_API_KEY", raising=False)
    for argv, said in [
        (["list", "--url", served.url], "Set PROMPTCACHE_API_KEY"),
        (["list", "--url", "http://127.0.0.1:9"], "no gateway answers"),
        (["list", "--url", "ftp://x"], "is no http:// or https:// address"),
    ]:
        assert main(argv) == 2
        told = capsys.readouterr()
        assert said in told.err
        assert (told.err.count("\n"), told.out) == (1, "")
    monkeypatch.setenv("PROMPTCACHE_API_KEY", KEY)
    assert main(["rename", "gone", "x", "--url", served.url]) == 2
    assert "There is no template named 'gone' to rename." in capsys.readouterr().err
