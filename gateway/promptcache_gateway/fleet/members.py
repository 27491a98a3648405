"""The replicas of a fleet as they come and go: started, watched, drained, closed.

What is found is `discovery`'s, who is well is `health`'s; here the two are kept in step with the router. A
replica that is no longer named gets nothing new and is closed when its last request has ended.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from typing import TYPE_CHECKING

from promptcache_gateway.errors import SettingsError
from promptcache_gateway.failures import log_failure
from promptcache_gateway.fleet.discovery import Discovery
from promptcache_gateway.fleet.health import HealthChecks
from promptcache_gateway.fleet.replica import Replica

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterable, Iterator

    from promptcache_gateway.fleet.kv_stream import KvStream
    from promptcache_gateway.fleet.routing import Router
    from promptcache_gateway.fleet.settings import FleetSettings, ReplicaSettings
    from promptcache_gateway.fleet.target import Target
    from promptcache_gateway.upstreams.base import Upstream

    MakeUpstream = Callable[[ReplicaSettings], Upstream]

_log = logging.getLogger("promptcache.gateway")

_AGAIN_S = 5.0


class Members:
    """The replicas of one fleet.

    Args:
        settings: the fleet's.
        router: told of every replica that comes or goes.
        make: makes what sends to a replica.
        changed: called when a replica may take requests that could not before.

    Attributes:
        drained: names of replicas that an operator wants to get nothing, as long as they are named.
    """

    def __init__(
        self, settings: FleetSettings, router: Router, make: MakeUpstream, changed: Callable[[], None]
    ) -> None:
        self._settings = settings
        self._router = router
        self._make = make
        self._changed = changed
        self._replicas: dict[str, Replica] = {}
        self._leaving: list[Replica] = []
        self._discovery = Discovery(settings, self._take)
        self._health = HealthChecks(settings, lambda: tuple(self._replicas.values()), self._came_back)
        self._tasks: set[asyncio.Task[None]] = set()
        self._streams: dict[str, asyncio.Task[None]] = {}
        self._starting: list[Replica] = []
        self._earlier: dict[str, Replica] = {}
        self.drained: set[str] = set()

    def __iter__(self) -> Iterator[Replica]:
        return iter(self._replicas.values())

    def __len__(self) -> int:
        return len(self._replicas)

    @property
    def leaving(self) -> tuple[Replica, ...]:
        """Those that are no longer named and still answer something."""
        return tuple(one for one in self._leaving if one.name not in self._replicas)

    async def start(self) -> None:
        """Find the replicas and begin to watch them; raises `SettingsError` for an unusable file."""
        if self._settings.tells_events:
            _need_events()
        await self._discovery.first()
        await self._start_new()
        self._spawn(self._always(self._discovery.run, "looking for replicas"))
        self._spawn(self._always(self._health.run, "asking replicas for their health"))

    async def close(self) -> None:
        """Stop watching, and close them all."""
        for task in tuple(self._tasks):
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task
        for replica in (*self._replicas.values(), *self._leaving):
            await replica.upstream.close()

    def drain(self, name: str, *, on: bool) -> bool:
        """Give a replica no more requests, or give it some again; False where there is none of that name."""
        replica = self._replicas.get(name)
        if replica is None:
            return False
        replica.draining = on
        (self.drained.add if on else self.drained.discard)(name)
        self._changed()
        return True

    def keep_drained(self, names: Iterable[str]) -> None:
        """Give replicas of these names nothing, those too that are found later."""
        self.drained.update(names)
        for replica in self._replicas.values():
            replica.draining = replica.name in self.drained

    def follow(self, earlier: Members) -> None:
        """Go on for the replicas of an earlier fleet that are named here, now or later."""
        self.keep_drained(earlier.drained)
        self._earlier = {one.name: one for one in earlier}

    def let_go(self, replica: Replica) -> None:
        """Close a replica that has left, once nothing runs on it any longer."""
        if replica.removed and not replica.under_way and replica in self._leaving:
            self._spawn(self._close(replica))

    async def _close(self, replica: Replica) -> None:
        await replica.upstream.close()
        self._leaving.remove(replica)

    def _take(self, found: tuple[ReplicaSettings, ...]) -> None:
        wanted = {one.label: one for one in found}
        before = dict(self._replicas)
        for name, replica in before.items():
            if name not in wanted or not replica.retune(wanted[name], self._limit(wanted[name])):
                self._remove(name, replica)
        for name, settings in wanted.items():
            if name not in self._replicas:
                self._add(name, settings, before.get(name) or self._earlier.pop(name, None))
        self.drained &= wanted.keys()
        if self._tasks:  # while it runs: the newcomers are started here
            self._spawn(self._start_new())

    def _add(self, name: str, settings: ReplicaSettings, before: Replica | None) -> None:
        target = self._router.add(name, settings.weight, settings.cache)
        replica = Replica(settings, self._make(settings), target, self._limit(settings))
        if before is not None:
            replica.follow(before)
        replica.draining = name in self.drained
        self._replicas[name] = replica
        self._starting.append(replica)

    def _limit(self, settings: ReplicaSettings) -> int | None:
        return settings.max_concurrency or self._settings.max_concurrency

    def _remove(self, name: str, replica: Replica) -> None:
        del self._replicas[name]
        self._router.remove(name)
        if name in self._streams:
            self._streams.pop(name).cancel()
        replica.removed = True
        self._leaving.append(replica)
        self.let_go(replica)
        _log.info("replica %s is gone", name)

    async def _start_new(self) -> None:
        starting, self._starting = self._starting, []
        for replica in starting:
            await replica.upstream.start()
            self._follow_events(replica)
            replica.starting = False
        self._changed()

    def _follow_events(self, replica: Replica) -> None:
        """Have a replica's own events tell what its cache holds, where it sends any."""
        settings, target = replica.settings, replica.target
        if not settings.kv_events or replica.removed:
            return
        replica.stream = _stream_of(settings, target)
        self._streams[replica.name] = self._spawn(self._always(replica.stream.run, "following KV events"))

    def _came_back(self, replica: Replica) -> None:
        """It was away: most often it was started anew, and its cache is empty."""
        if replica.target.cache == replica.name:
            replica.target.tree.clear()
        _log.info("replica %s is back", replica.name)
        self._changed()

    async def _always(self, run: Callable[[], Coroutine[None, None, None]], what: str) -> None:
        while True:
            try:
                return await run()
            except Exception as error:  # noqa: BLE001 - a fleet must not lose its eyes to one surprise
                log_failure(what, error)
                await asyncio.sleep(_AGAIN_S)

    def _spawn(self, work: Coroutine[None, None, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task


def _stream_of(settings: ReplicaSettings, target: Target) -> KvStream:
    from promptcache_gateway.fleet.kv_index import KvIndex  # noqa: PLC0415 - needs the extra [fleet]
    from promptcache_gateway.fleet.kv_stream import KvStream  # noqa: PLC0415

    target.events = index = KvIndex()
    return KvStream(settings.kv_events, settings.kv_replay, index, target.tree)


def _need_events() -> None:
    try:
        import msgpack  # type: ignore[import-untyped]  # noqa: F401, PLC0415
        import zmq  # noqa: F401, PLC0415
    except ImportError as error:
        raise SettingsError(
            "kv_events", "they need pyzmq and msgpack.", remedy="pip install 'promptcache[fleet]'."
        ) from error
