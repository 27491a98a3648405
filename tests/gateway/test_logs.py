"""The log: one line a fact, for people or machines, and never a word of a prompt."""

from __future__ import annotations

import json
import logging
import signal
from typing import TYPE_CHECKING

import httpx
import pytest

from promptcache_gateway.errors import SettingsError
from promptcache_gateway.logs import HumanFormatter, JsonFormatter, log_request
from promptcache_gateway.settings import Settings
from tests.gateway.store.records import SECRET, miss, record
from tests.gateway.test_server import process, said_until

if TYPE_CHECKING:
    from pathlib import Path

    from tests.gateway.mock_upstream import MockUpstream


def lines(text: str) -> list[dict[str, object]]:
    return [json.loads(line) for line in text.splitlines()]


def test_every_line_of_a_gateway_that_logs_json_is_json(mock: MockUpstream, tmp_path: Path) -> None:
    arguments = ["--port", "0", "--upstream", mock.url, "--data-dir", str(tmp_path)]
    with process(*arguments, "--log-format", "json", "--log-requests") as started:
        said = lines(said_until(started, '"serving"'))
        assert said[-1]["message"] == "serving"
        body = {"model": "m", "messages": [{"role": "user", "content": SECRET}]}
        with httpx.Client(timeout=20) as client:
            for _ in range(2):
                base = said[-1]["address"]
                assert client.post(f"{base}/v1/chat/completions", json=body).status_code == 200
            assert client.post(f"{base}/v1/chat/completions", content=SECRET).status_code == 400
        started.send_signal(signal.SIGTERM)
        assert started.wait(15) == 0
        rest = started.stdout.read()
    assert SECRET not in rest
    requests = [line for line in lines(rest) if line["logger"] == "promptcache.requests"]
    assert [line["status"] for line in requests] == [200, 200, 400]
    assert requests[0]["prompt_tokens"] == 2006
    assert requests[0]["cached_tokens"] == 1920
    assert requests[0]["level"] == "info"


@pytest.mark.parametrize("formatter", [JsonFormatter(), HumanFormatter()])
def test_names_that_callers_choose_cannot_break_a_line(
    formatter: logging.Formatter, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "promptcache.requests")
    log_request(record(miss(), model="evil\nERROR forged: line\x1b[2J" * 20, error="upstream_closed"))
    (said,) = [formatter.format(each) for each in caplog.records]
    assert "\n" not in said
    assert "\x1b" not in said
    assert len(said) < 1_000
    assert SECRET not in said
    assert "PC101" in said


@pytest.mark.parametrize("formatter", [JsonFormatter(), HumanFormatter()])
def test_an_exceptions_text_is_left_out(formatter: logging.Formatter) -> None:
    info = (ValueError, ValueError(SECRET), None)
    said = formatter.format(logging.LogRecord("x", logging.ERROR, "f", 1, "it broke", (), info))
    assert SECRET not in said
    assert "ValueError" in said


def test_unknown_formats_and_levels_are_refused() -> None:
    with pytest.raises(SettingsError, match="log_format"):
        Settings(log_format="xml")
    with pytest.raises(SettingsError, match="log_level"):
        Settings(log_level="loud")
