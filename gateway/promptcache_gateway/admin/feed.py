"""The live feed: events as server-sent events, a few messages a second however much happens.

A client that comes back with ``Last-Event-ID`` gets what it missed, as far as the ring remembers. What
piles up between two sends goes out together: of a template only the last event, of requests the newest.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import orjson

if TYPE_CHECKING:
    from promptcache_gateway.observe.events import Event, EventRing

RETRY_MS = 2_000
HEARTBEAT_S = 15.0
PAUSE_S = 0.5
_MAX_REQUESTS = 100

Describe = Callable[[str], Awaitable[Mapping[str, Any] | None]]
"""A template's totals by its name, None where there are none."""


async def feed(
    ring: EventRing,
    describe: Describe,
    *,
    after: int | None,
    heartbeat_s: float = HEARTBEAT_S,
    pause_s: float = PAUSE_S,
) -> AsyncIterator[bytes]:
    """Server-sent events, without end.

    Args:
        ring: where events are published.
        describe: what a ``template`` event tells beside the name.
        after: number of the last event the client has; None: it wants only what comes from now on.
        heartbeat_s: seconds of silence after which a comment is sent.
        pause_s: least seconds between two sends.
    """
    seen = ring.last if after is None or after > ring.last else after
    yield f"retry: {RETRY_MS}\n\n".encode()
    while True:
        if not await ring.wait(seen, heartbeat_s):
            yield b": heartbeat\n\n"
            continue
        events = ring.since(seen)
        if events:
            seen = events[-1].number
            yield b"".join([await _encode(event, describe) for event in coalesce(events)])
        await asyncio.sleep(pause_s)


def coalesce(events: Sequence[Event]) -> list[Event]:
    """What is worth sending of events that piled up, in order."""
    last_of_template = {
        (event.data.get("tenant"), event.data["name"]): event.number
        for event in events
        if event.kind == "template"
    }
    requests = [event.number for event in events if event.kind == "request"]
    kept = {*last_of_template.values(), *requests[-_MAX_REQUESTS:]}
    return [event for event in events if event.kind == "alert" or event.number in kept]


async def _encode(event: Event, describe: Describe) -> bytes:
    data = dict(event.data)
    if event.kind == "template":
        data |= await describe(data["name"]) or {}
    return b"id: %d\nevent: %s\ndata: %s\n\n" % (event.number, event.kind.encode(), orjson.dumps(data))
