"""``promptcache prices``: what is listed, what is said of its age, what an update leaves behind."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from promptcache.cli.prices import age_warning, main
from promptcache.price_list import load_price_list

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(autouse=True)
def own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    path = tmp_path / "data" / "prices.json"
    monkeypatch.setenv("PROMPTCACHE_PRICES", str(path))
    return path


def test_the_list_says_its_unit_and_its_day(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list"]) == 0

    shown = capsys.readouterr().out
    assert "claude-sonnet-4-5" in shown
    assert "USD per million tokens, as of 20" in shown


def test_an_unknown_model_is_said_to_be_unknown(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", "gpt-4o", "llama-at-home", "--output-format", "json"]) == 1

    captured = capsys.readouterr()
    told = json.loads(captured.out)
    assert list(told["models"]) == ["gpt-4o"]
    assert told["unknown"] == ["llama-at-home"]
    assert "its cost is unknown" in captured.err


def test_old_prices_are_said_to_be_old() -> None:
    prices = load_price_list()
    assert age_warning(prices, prices.dated) is None
    assert "91 days old" in (age_warning(prices, prices.dated + timedelta(days=91)) or "")


def test_an_update_is_what_is_listed_next(
    tmp_path: Path, own: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = tmp_path / "mine.json"
    source.write_text(
        json.dumps({"dated": "2026-12-01", "models": {"llama-at-home": {"input": 0.1, "cache_read": 0.01}}})
    )

    assert main(["update", "--from", str(source)]) == 0
    assert own.exists()
    capsys.readouterr()
    assert main(["list", "llama-at-home"]) == 0
    assert "your own" in capsys.readouterr().out


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"dated": "2026-12-01", "models": {"m": {"input": -1}}}'])
def test_a_file_that_cannot_be_used_changes_nothing(
    tmp_path: Path, own: Path, capsys: pytest.CaptureFixture[str], text: str
) -> None:
    source = tmp_path / "broken.json"
    source.write_text(text)

    assert main(["update", "--from", str(source)]) == 2
    assert "Cannot use the price list" in capsys.readouterr().err
    assert not own.exists()


def test_a_broken_file_of_ones_own_is_one_clear_error(own: Path, capsys: pytest.CaptureFixture[str]) -> None:
    own.parent.mkdir()
    own.write_text("{")
    assert main(["list"]) == 2
    assert str(own) in capsys.readouterr().err
