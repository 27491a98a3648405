"""A worker's end of the channel: tells how things stand, and does what parent and peers have to say."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from promptcache_gateway.failures import log_failure
from promptcache_gateway.fleet.upstream import FleetUpstream
from promptcache_gateway.shared.frames import Kind, unpack
from promptcache_gateway.traffic_metrics import Traffic

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from promptcache_gateway.shared.frames import Channel
    from promptcache_gateway.shared.observer import Known, PeerObserver
    from promptcache_gateway.upstreams.base import Upstream


@dataclass(frozen=True, slots=True)
class Stands:
    """How things stand at a worker.

    Attributes:
        number: that of the question.
        traffic: its requests, retries and circuits.
        lost: records that it could not hand over.
        open: ids of the requests under way.
        fleets: its fleets as it sees them.
    """

    number: int
    traffic: Traffic
    lost: int
    open: frozenset[str]
    fleets: tuple[dict[str, Any], ...] = ()


def _none() -> Traffic:
    return Traffic(0, (), {})


class Link:
    """What a worker hears.

    Args:
        channel: to the parent.
        observer: the worker's.

    Attributes:
        traffic: says how its requests stand.
        upstreams: what it sends to.
    """

    def __init__(
        self, channel: Channel, observer: PeerObserver, traffic: Callable[[], Traffic] = _none
    ) -> None:
        self._channel, self._observer, self.traffic = channel, observer, traffic
        self.upstreams: Sequence[Upstream] = ()
        self._welcomed = asyncio.Event()
        self._does: dict[Kind, Callable[[Any], object]] = {
            Kind.WELCOME: self._welcome,
            Kind.RECALL: observer.recall,
            Kind.SEEN: observer.saw,
            Kind.SETTLED: observer.settled,
            Kind.ASK: self._tell,
            Kind.RENAME: lambda renamed: observer.rename(*renamed),
            Kind.FORGET: observer.forget,
            Kind.DRAIN: lambda told: self._drain(*told),
        }

    async def welcomed(self) -> None:
        """Wait until what was known before is known here."""
        await self._welcomed.wait()

    def on(self, kind: Kind, does: Callable[[Any], object]) -> None:
        """Have ``does`` called with the value of every frame of a kind."""
        self._does[kind] = does

    async def listen(self) -> None:
        """Hear until the parent is gone. What fails is logged and costs nothing else."""
        async for kind, body in self._channel.frames():
            does = self._does.get(kind)
            if does is None:
                continue
            try:
                does(unpack(body))
            except Exception as error:  # noqa: BLE001 - one message must not end all others
                log_failure(f"a message of the kind {kind.name}", error)

    def _welcome(self, known: Known) -> None:
        self._observer.welcome(known)
        for one in self.upstreams if known.drained else ():
            if isinstance(one, FleetUpstream):
                one.replicas.keep_drained(name for upstream, name in known.drained if upstream == one.name)
        self._welcomed.set()

    def _drain(self, upstream: str, replica: str, on: bool) -> None:  # noqa: FBT001 - as it was sent
        for one in self.upstreams:
            if one.name == upstream and isinstance(one, FleetUpstream):
                one.drain(replica, on=on)

    def _tell(self, number: int) -> None:
        fleets = tuple(one.view() for one in self.upstreams if isinstance(one, FleetUpstream))
        stands = Stands(number, self.traffic(), self._observer.lost, self._observer.open_requests, fleets)
        self._channel.send(Kind.STANDS, stands)
