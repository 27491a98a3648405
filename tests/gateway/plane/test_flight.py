"""However a flight ends, it is recorded once, behind its answer and before anything else happens."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest

from promptcache_gateway.plane.completion import CompletionEndpoint
from promptcache_gateway.upstreams.base import WholeReply
from tests.gateway.mutations.stage import Stage
from tests.gateway.observe.scenes import Provider, chat, rules_text

if TYPE_CHECKING:
    from promptcache_gateway.observe import RequestRecord
    from promptcache_gateway.plane.flight import Flight

USAGE = Provider().usage(2_000, 0)


def flight_of(told: list[RequestRecord]) -> Flight:
    stage = Stage()
    stage.observer._listeners = (told.append,)
    flight = stage.send(json.dumps(chat(rules_text(), "One?")).encode(), dialect="openai.chat").flight
    flight.reply = WholeReply(200, [], b"{}", USAGE)
    return flight


def test_it_is_recorded_when_it_is_finished_and_once() -> None:
    told: list[RequestRecord] = []
    flight = flight_of(told)
    flight.finish()
    assert not told, "it has not ended"

    summary = flight.end(200)
    assert summary["prompt_tokens"] == 2_000
    assert (told, flight.record, flight.tokens) == ([], None, 0)
    assert flight.end(500) == {"request_id": summary["request_id"]}
    flight.finish()
    flight.finish()

    assert [record.status for record in told] == [200]
    assert flight.record is told[0]
    assert flight.tokens == 2_007


def test_a_large_one_is_finished_as_it_ends() -> None:
    told: list[RequestRecord] = []
    flight = flight_of(told)

    flight.end(200, whole=True)

    assert [record.status for record in told] == [200]
    assert flight.record is told[0]


def test_a_listener_that_fails_leaves_the_others_theirs(caplog: pytest.LogCaptureFixture) -> None:
    told: list[RequestRecord] = []
    flight = flight_of(told)
    flight._observer._listeners = (lambda record: 1 / 0, told.append)  # type: ignore[assignment]

    flight.end(200)
    flight.finish()

    assert flight.record is told[0]
    assert "record of" in caplog.text


@pytest.mark.parametrize("how", ["sent", "refused", "cancelled"])
def test_it_is_recorded_whatever_becomes_of_its_answer(how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[RequestRecord] = []
    flight = flight_of(told)
    known: list[int] = []

    async def send(message: dict[str, Any]) -> None:
        known.append(len(told))
        if how == "refused":
            raise OSError("gone")
        if how == "cancelled":
            raise asyncio.CancelledError

    async def dispatched(*_: object) -> WholeReply:
        return WholeReply(200, [], b"{}", USAGE)

    class Watch:
        gone, code = how == "cancelled", "caller_gone"

        def __enter__(self) -> None: ...

        def __exit__(self, *_: object) -> None: ...

        async def cut(self, send: object) -> None: ...

    async def play() -> None:
        endpoint = object.__new__(CompletionEndpoint)
        route = (type("Hop", (), {"line": None})(),)
        await endpoint._complete(flight, route, None, Watch(), send)  # type: ignore[arg-type]

    monkeypatch.setattr("promptcache_gateway.plane.completion.dispatch", dispatched)
    monkeypatch.setattr(flight, "ask", lambda line: None)
    asyncio.run(play())

    assert known[0] == 0, "nobody waits for the record"
    assert [record.status for record in told] == [200]
    assert flight.record is told[0]
