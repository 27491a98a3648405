"""Replicas that keep their answers, as servers of OpenAI's responses do: each knows its own only."""

from __future__ import annotations

import json
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from promptcache_gateway.fleet.settings import FleetSettings, ReplicaSettings
from tests.gateway.mock_upstream import MockUpstream, mock_upstream

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.gateway.mock_upstream import Wire


@dataclass
class Keeper:
    """A server of responses.

    Attributes:
        unknown: status and code of its answer to what it does not know.
        asked: the bodies it got.
    """

    mock: MockUpstream
    number: int
    unknown: tuple[str, str] = ("404 Not Found", "not_found")
    kept: set[str] = field(default_factory=set)
    asked: list[dict[str, Any]] = field(default_factory=list)
    well: bool = True
    refuses: str = ""

    @property
    def name(self) -> str:
        return self.mock.url.removeprefix("http://")

    async def answer(self, wire: Wire) -> None:
        if wire.seen.line.startswith("GET"):
            await wire.respond(b"{}", status="200 OK" if self.well else "500 Not Now")
            return
        body = json.loads(wire.seen.body)
        self.asked.append(body)
        if self.refuses:
            await wire.respond(b'{"error":{"message":"no","code":"no"}}', status=self.refuses)
            return
        earlier = body.get("previous_response_id") or body.get("conversation")
        if earlier is not None and earlier not in self.kept:
            status, code = self.unknown
            await wire.respond(json.dumps({"error": {"message": "?", "code": code}}).encode(), status=status)
            return
        name = f"resp_{self.number}_{len(self.asked)}"
        if body.get("store") is not False:
            self.kept.add(name)
        usage = {"input_tokens": 9, "output_tokens": 1, "total_tokens": 10}
        done = {"id": name, "object": "response", "status": "completed", "output": [], "usage": usage}
        if not body.get("stream"):
            await wire.respond(json.dumps(done).encode())
            return
        begun = {"id": name, "object": "response", "status": "in_progress", "output": []}
        events = (
            ("response.created", {"response": begun}),
            ("response.output_text.delta", {"delta": "Hi"}),
            ("response.completed", {"response": done}),
        )
        await wire.events(*(event(kind, **more) for kind, more in events))


def event(kind: str, **more: Any) -> bytes:
    """A server-sent event of OpenAI's responses."""
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **more}, separators=(',', ':'))}\n\n".encode()


@contextmanager
def keepers(number: int) -> Iterator[list[Keeper]]:
    """So many of them."""
    with ExitStack() as stack:
        made = []
        for at in range(number):
            mock = stack.enter_context(mock_upstream(lambda wire: wire.gone()))
            made.append(Keeper(mock, at))
            mock.script = made[-1].answer
        yield made


def fleet_of_keepers(servers: list[Keeper], **more: Any) -> FleetSettings:
    listed = tuple(ReplicaSettings(url=one.mock.url) for one in servers)
    return FleetSettings(**{"replicas": listed, "health_interval_s": 0.05, "routing": "round-robin", **more})


def response(text: str = "Hi", **more: Any) -> dict[str, Any]:
    return {"model": "m", "input": text, **more}
