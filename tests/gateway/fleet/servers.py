"""Replicas made for tests: servers on loopback, each with a cache of its own that tells what it read."""

from __future__ import annotations

import asyncio
import json
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from promptcache_gateway.fleet.settings import FleetSettings, ReplicaSettings
from promptcache_gateway.settings import Settings, UpstreamSettings
from tests.gateway.mock_upstream import CHAT, DONE, MockUpstream, chunk, mock_upstream, sse, wait_until
from tests.gateway.serving import Served, serve

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.gateway.mock_upstream import Wire

CHARS_A_TOKEN = 4


@dataclass
class FakeReplica:
    """A server of OpenAI's shape with an endless prefix cache.

    Attributes:
        first_byte: set while answers may begin; cleared, they wait.
        refuses: the status it answers everything with, or "".
        well: what ``/health`` says.
        prompts: every prompt it got, in order.
        cached: what it read of each, in tokens.
        keys: the bearer token of each.
    """

    mock: MockUpstream
    first_byte: asyncio.Event = field(default_factory=asyncio.Event)
    refuses: str = ""
    well: bool = True
    prompts: list[str] = field(default_factory=list)
    cached: list[int] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)
    checks: int = 0
    loop: asyncio.AbstractEventLoop | None = None

    def hold(self) -> None:
        """Let no answer begin."""
        self.first_byte.clear()

    def release(self) -> None:
        """Let answers begin, those that wait too."""
        if self.loop is None:
            self.first_byte.set()
        else:
            self.loop.call_soon_threadsafe(self.first_byte.set)

    @property
    def name(self) -> str:
        return self.mock.url.removeprefix("http://")

    async def answer(self, wire: Wire) -> None:
        if wire.seen.line.startswith("GET"):
            self.checks += 1
            await wire.respond(b"{}", status="200 OK" if self.well else "500 Not Now")
            return
        if self.refuses:
            await wire.respond(b'{"error":{"message":"no","code":"no"}}', status=self.refuses)
            return
        body = json.loads(wire.seen.body)
        text = "".join(f"{one['role']}:{one['content']}" for one in body["messages"])
        read = max((shared(text, earlier) for earlier in self.prompts), default=0) // CHARS_A_TOKEN
        self.prompts.append(text)
        self.cached.append(read)
        self.keys.append(wire.seen.headers.get("authorization", ""))
        self.bodies.append(wire.seen.body)
        self.loop = asyncio.get_running_loop()
        await self.first_byte.wait()
        usage = {
            "prompt_tokens": len(text) // CHARS_A_TOKEN,
            "completion_tokens": 3,
            "prompt_tokens_details": {"cached_tokens": read},
        }
        if body.get("stream"):
            final = {**chunk(""), "choices": [], "usage": usage}
            await wire.events(sse(chunk("Hello")), sse(final), DONE)
        else:
            await wire.respond(json.dumps({**CHAT, "usage": usage}).encode())


def shared(one: str, other: str) -> int:
    length = 0
    for left, right in zip(one, other, strict=False):
        if left != right:
            break
        length += 1
    return length


@contextmanager
def replicas(number: int) -> Iterator[list[FakeReplica]]:
    """So many servers, each in a thread of its own."""
    with ExitStack() as stack:
        made = []
        for _ in range(number):
            mock = stack.enter_context(mock_upstream(lambda wire: asyncio.sleep(0)))
            one = FakeReplica(mock)
            one.first_byte.set()
            mock.script = one.answer
            made.append(one)
        yield made


def fleet_of(servers: list[FakeReplica], **more: Any) -> FleetSettings:
    listed = tuple(ReplicaSettings(url=one.mock.url) for one in servers)
    return FleetSettings(**{"replicas": listed, "health_interval_s": 0.05, **more})


@contextmanager
def served_fleet(fleet: FleetSettings, folder: Path, **more: Any) -> Iterator[Served]:
    """A gateway in front of a fleet called ``f``."""
    upstream = UpstreamSettings(name="f", fleet=fleet, **more)
    with serve(Settings(upstreams=(upstream,), data_dir=folder)) as gateway:
        yield gateway


def request(*texts: str, stream: bool = False, system: str = "") -> dict[str, Any]:
    turns = [
        {"role": "user" if at % 2 == 0 else "assistant", "content": text} for at, text in enumerate(texts)
    ]
    head = [{"role": "system", "content": system}] if system else []
    return {"model": "m", "messages": [*head, *turns], **({"stream": True} if stream else {})}


def view(gateway: Served) -> dict[str, Any]:
    found: dict[str, Any] = gateway.get("/promptcache/v1/replicas").json()["fleets"][0]
    return found


def states(gateway: Served) -> dict[str, str]:
    return {one["name"]: one["state"] for one in view(gateway)["replicas"]}


def until_state(gateway: Served, server: FakeReplica, state: str) -> None:
    wait_until(lambda: states(gateway)[server.name] == state, 20)
