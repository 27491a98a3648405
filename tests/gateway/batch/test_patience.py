"""When a request is sent again, and when it is not."""

from __future__ import annotations

import io

import pytest

from promptcache.usage import Usage
from promptcache_gateway.batch.patience import Patience, asked_s
from promptcache_gateway.batch.report import Progress, describe, describe_progress
from promptcache_gateway.batch.tally import Tally

STEADY = Patience(retries=3, jitter=lambda: 1.0)


@pytest.mark.parametrize(
    ("attempt", "status", "headers", "pause"),
    [
        (1, None, {}, 0.5),
        (2, 503, {}, 1.0),
        (3, 429, {}, 2.0),
        (4, 429, {}, None),
        (1, 400, {}, None),
        (1, 404, {"retry-after": "1"}, None),
        (1, 429, {"retry-after": "20"}, 22.0),
        (1, 429, {"retry-after": "9000"}, None),
        (1, 529, {"retry-after": "0"}, 0.0),
        (1, 500, {"x-should-retry": "false"}, None),
    ],
)
def test_pauses(attempt: int, status: int | None, headers: dict[str, str], pause: float | None) -> None:
    found = STEADY.pause_s(attempt, status, headers)
    assert found == pause if pause is None else found == pytest.approx(pause)


def test_a_pause_does_not_grow_without_end() -> None:
    assert Patience(retries=99, jitter=lambda: 1.0).pause_s(60, 503, {}) == 30.0


@pytest.mark.parametrize("said", ["", "soon", "-1", "nan", "inf", "1e400", "Mon, 99 Foo"])
def test_what_is_no_time_is_none(said: str) -> None:
    assert asked_s({"retry-after": said}) is None


def test_a_date_is_a_time() -> None:
    said = {"retry-after": "Sun, 29 Nov 2026 12:00:30 GMT"}
    assert asked_s(said, now=1795953600.0) == pytest.approx(30.0)
    assert asked_s(said, now=1795957200.0) == 0.0


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_progress_is_one_line_of_a_terminal() -> None:
    tally = Tally(
        200, lambda _: None, answered=49, failed=1, reported=49, reported_tokens=100, cached_tokens=80
    )
    assert describe_progress(tally, 10.0) == "50 of 200 (25%), 1 failed, hit rate 80%, 5.0/s, 30 s left"
    now = [0.0]
    screen = Terminal()
    progress = Progress(screen, clock=lambda: now[0])
    progress.begin()
    for now[0] in (0.1, 0.2, 0.7):
        progress.sending(tally)
    progress.end()
    assert screen.getvalue().count("50 of 200") == 2
    assert "\n" not in screen.getvalue()
    for stream, quiet in ((io.StringIO(), False), (Terminal(), True)):
        hushed = Progress(stream, quiet=quiet)
        hushed.sending(tally)
        hushed.end()
        assert stream.getvalue() == ""


def test_unknown_is_said_to_be_unknown() -> None:
    tally = Tally(3, lambda _: None)
    tally.answered = 2
    tally.count(Usage(total_input=10, output=1), "m")
    text = describe(tally, None)
    assert "not reported by the server" in text
    assert "cost" not in text
    assert "1 not sent" in text
    assert tally.to_dict()["cached_tokens"] is None
    assert tally.to_dict()["cost_usd"] is None
