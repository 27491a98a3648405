"""Requests on their way to an upstream that never answers: what would have been sent."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from promptcache_gateway.mutations import Mutator, read_mutations
from promptcache_gateway.observe import Observer
from promptcache_gateway.plane.calls import RequestIds, make_call
from promptcache_gateway.plane.flight import Flight
from promptcache_gateway.upstream_settings import UpstreamSettings
from promptcache_gateway.upstreams.anthropic_http import AnthropicUpstream
from promptcache_gateway.upstreams.base import Inbound
from promptcache_gateway.upstreams.openai_http import OpenAIUpstream
from promptcache_gateway.upstreams.switchboard import Hop, Switchboard

if TYPE_CHECKING:
    from promptcache_gateway.exchange import Call, Change, Dialect

PATHS: dict[str, str] = {
    "openai.chat": "/v1/chat/completions",
    "openai.completions": "/v1/completions",
    "openai.responses": "/v1/responses",
    "openai.embeddings": "/v1/embeddings",
    "anthropic.messages": "/v1/messages",
}
SONNET = "claude-sonnet-4-5"
LONG = "You answer questions about orders. " * 200
"""About 1,750 tokens by its bytes: more than the 1,024 that `SONNET` caches."""


@dataclass(frozen=True)
class Sent:
    """What would have been sent of one request."""

    call: Call
    inbound: Inbound
    flight: Flight

    @property
    def body(self) -> bytes:
        return self.call.body

    @property
    def json(self) -> Any:
        return json.loads(self.call.body)

    def change(self, name: str) -> Change:
        (found,) = [change for change in self.flight.changes if change.name == name]
        return found

    @property
    def names(self) -> list[str]:
        return [change.name for change in self.flight.changes]


class Stage:
    """An upstream, the settings, and everything that was sent so far."""

    def __init__(self, mutations: dict[str, Any] | None = None, **upstream: Any) -> None:
        values = {"url": "http://127.0.0.1:9", "name": "u", **upstream}
        settings = UpstreamSettings(**values)
        made = AnthropicUpstream(settings) if settings.kind == "anthropic" else OpenAIUpstream(settings)
        (self.line,) = Switchboard([(made, settings)]).lines
        self.observer: Observer = Observer([made])
        self.mutator = Mutator(read_mutations(mutations or {}))
        self.ids = RequestIds()

    def send(
        self,
        body: dict[str, Any] | bytes,
        *,
        dialect: Dialect = "anthropic.messages",
        tenant: str = "default",
        headers: tuple[tuple[bytes, bytes], ...] = (),
    ) -> Sent:
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        call = make_call(
            raw,
            json.loads(raw),
            list(headers),
            request_id=self.ids.next(),
            path=PATHS[dialect],
            dialect=dialect,
            tenant=tenant,
            upstream="u",
        )
        seen = self.mutator.prepare(call, self.line)
        flight = Flight(seen, self.observer, self.mutator, received=call)
        inbound = Inbound("POST", list(headers), b"")
        return Sent(*flight.depart(call, Hop(self.line), inbound), flight)

    def proved(self, body: dict[str, Any] | bytes, **more: Any) -> Sent:
        """The third time a request is sent: by then its prefix has proved to repeat."""
        self.send(body, **more)
        self.send(body, **more)
        return self.send(body, **more)


def messages(**more: Any) -> dict[str, Any]:
    """A request of Anthropic's shape that is worth caching."""
    asked = [{"role": "user", "content": [{"type": "text", "text": "Where is my order?"}]}]
    system = [{"type": "text", "text": LONG}]
    return {"model": SONNET, "max_tokens": 5, "system": system, "messages": asked, **more}
