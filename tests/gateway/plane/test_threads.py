"""What threads do for a large request is done once, in time, and for whoever asks what has become of it."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from typing import TYPE_CHECKING, Any

import pytest

from promptcache_gateway.observe import observation
from promptcache_gateway.observe.lookout import Lookout
from promptcache_gateway.plane.hangup import HangUps
from promptcache_gateway.plane.threads import Threads
from promptcache_gateway.settings import Settings, UpstreamSettings
from promptcache_gateway.upstream_settings import ModelSettings, Target
from promptcache_gateway.upstreams.base import Inbound, WholeReply
from promptcache_gateway.upstreams.switchboard import Hop
from tests.gateway.mock_upstream import CHAT_BYTES, MockUpstream, Wire, call, mock_upstream, wait_until
from tests.gateway.mutations.stage import Stage
from tests.gateway.observe.scenes import Provider, chat, rules_text
from tests.gateway.serving import call_soon, serve

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from promptcache_gateway.observe import RequestRecord
    from tests.gateway.serving import Served

RULES = rules_text() + "And so on. " * 27_000


class Gate:
    """Holds up whatever is called through it, in whichever thread, until it is opened."""

    def __init__(self) -> None:
        self.reached, self.opened = threading.Event(), threading.Event()

    def before(self, work: Callable[..., Any]) -> Callable[..., Any]:
        def held(*arguments: Any, **named: Any) -> Any:
            self.reached.set()
            assert self.opened.wait(10)
            return work(*arguments, **named)

        return held


def ask(served: Served, body: dict[str, object]) -> socket.socket:
    sent = json.dumps(body).encode()
    caller = socket.create_connection(("127.0.0.1", int(served.url.rpartition(":")[2])), timeout=20)
    head = b"POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-length: %d\r\n\r\n" % len(sent)
    caller.sendall(head + sent)
    return caller


def rows(served: Served) -> list[tuple[int, str | None]]:
    found = served.get("/promptcache/v1/requests").json()["data"]
    return [(row["status"], row["error"]) for row in found]


def test_who_hangs_up_while_its_end_is_worked_out_is_charged(
    proxied: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    charged: list[int] = []
    gate, gone = Gate(), threading.Event()
    observer, happened = proxied.gateway.observer, HangUps.happened

    def charge(tenant: str, tokens: int, *, advanced: int) -> None:
        charged.append(tokens)

    monkeypatch.setattr(proxied.gateway._limits, "charge", charge)
    monkeypatch.setattr(observer, "conclude", gate.before(observer.conclude))

    def told(self: HangUps, **how: bool) -> None:
        happened(self, **how)
        gone.set()

    monkeypatch.setattr(HangUps, "happened", told)
    with ask(proxied, chat(RULES, "One?")):
        assert gate.reached.wait(10)
    assert gone.wait(10)
    call(proxied.loop, asyncio.sleep(0.05))
    assert not charged, "what it has used is being worked out"
    gate.opened.set()
    wait_until(lambda: not len(proxied.gateway._requests))

    assert charged == [2_009]
    assert rows(proxied) == [(200, None)]


def test_it_is_compared_while_the_upstream_works(
    mock: MockUpstream, proxied: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    compared, found = threading.Event(), observation.compare

    def compare(*arguments: Any, **named: Any) -> Any:
        comparison = found(*arguments, **named)
        compared.set()
        return comparison

    async def patient(wire: Wire) -> None:
        if b"Two?" in wire.seen.body:
            assert await asyncio.to_thread(compared.wait, 10)
        await wire.respond(CHAT_BYTES)

    mock.script = patient
    monkeypatch.setattr(observation, "compare", compare)
    for question in ("One?", "Two?"):
        compared.clear()
        assert proxied.post(chat(RULES, question)).status_code == 200


async def _thread() -> int:
    return threading.get_ident()


def test_a_large_one_that_moves_to_a_fallback_is_looked_at_in_a_thread(
    mock: MockUpstream, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked: list[int] = []
    look = Lookout.look

    def noted(self: Lookout, seen: Any) -> Any:
        looked.append(threading.get_ident())
        return look(self, seen)

    async def down(wire: Wire) -> None:
        await wire.respond(b"{}", status="503 Down")

    monkeypatch.setattr(Lookout, "look", noted)
    with mock_upstream(down) as first:
        upstreams = (
            UpstreamSettings(name="first", url=first.url, retries=0),
            UpstreamSettings(name="second", url=mock.url),
        )
        models = (ModelSettings("alias", (Target("first", "m"), Target("second", "n"))),)
        with serve(Settings(upstreams=upstreams, models=models, data_dir=tmp_path)) as served:
            answer = served.post({**chat(RULES, "One?"), "model": "alias"})
            assert served.record(answer)["upstream"] == "second"
            assert len(looked) == 2
            assert served.loop is not None
            assert call(served.loop, _thread()) not in looked


def test_one_that_was_given_up_moves_nowhere() -> None:
    stage = Stage()
    flight = stage.send(json.dumps(chat(RULES, "One?")).encode(), dialect="openai.chat").flight
    seen = flight.call

    async def play() -> None:
        threads = Threads(flight)
        await threads.end(499, "caller_gone")
        with pytest.raises(asyncio.CancelledError):
            await threads.depart(seen, Hop(stage.line, model="another"), Inbound("POST", [], b""))
        await threads.over()

    asyncio.run(play())
    assert flight.call is seen


def test_an_end_that_has_begun_is_waited_for_when_the_gateway_stops(
    proxied: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate, gateway = Gate(), proxied.gateway
    monkeypatch.setattr(gateway.observer, "conclude", gate.before(gateway.observer.conclude))
    recorded: list[str] = []
    gateway.observer._listeners = (lambda record: recorded.append("a request"),)
    stop = gateway.observer.stop

    async def stopped() -> None:
        recorded.append("the end")
        await stop()

    monkeypatch.setattr(gateway.observer, "stop", stopped)
    with ask(proxied, chat(RULES, "One?")) as caller:
        assert gate.reached.wait(10)
        closing = call_soon(proxied.loop, gateway.close())
        call(proxied.loop, asyncio.sleep(0.05))
        gate.opened.set()
        closing.result(20)
        assert caller.recv(65536).startswith(b"HTTP/1.1 200 "), "its answer was there"
    assert recorded == ["a request", "the end"]


def test_what_is_ended_twice_waits_for_the_thread_and_is_recorded_once() -> None:
    told: list[RequestRecord] = []
    stage, gate = Stage(), Gate()
    stage.observer._listeners = (told.append,)
    body = json.dumps(chat(RULES, "One?")).encode()
    flight = stage.send(body, dialect="openai.chat").flight
    flight.reply = WholeReply(200, [], b"{}", Provider().usage(2_000, 0))
    stage.observer.conclude = gate.before(stage.observer.conclude)  # type: ignore[method-assign]

    async def play() -> None:
        threads = Threads(flight)
        ending = asyncio.create_task(threads.end(200))
        await asyncio.to_thread(gate.reached.wait, 10)
        ending.cancel()
        assert await threads.end(499, "caller_gone") == {"request_id": flight.call.id}
        over = asyncio.create_task(threads.over())
        await asyncio.sleep(0)
        over.cancel()
        await asyncio.sleep(0.02)
        assert not over.done()
        gate.opened.set()
        await over

    asyncio.run(play())
    assert [record.status for record in told] == [200]
    assert flight.tokens == 2_007
