"""What a process learns of where prefixes are warm, told to the others: pins, and keys of replicas' trees.

Who keeps an answer that a later request may name is told at once: only there can it be gone on from.
Keys are digests; no text can be read from them. What others tell is believed as one's own knowledge is: it
may be out of date, and costs no more than a prefix computed twice.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from typing import TYPE_CHECKING, Any

from promptcache_gateway.failures import log_failure
from promptcache_gateway.fleet.homes import ToldHome
from promptcache_gateway.fleet.upstream import FleetUpstream

if TYPE_CHECKING:
    from collections.abc import Sequence

    from promptcache_gateway.fleet.prefix import Key
    from promptcache_gateway.fleet.routing import Router
    from promptcache_gateway.shared.base import Common
    from promptcache_gateway.upstreams.base import Upstream

TOPIC = "routing"
HOMES = "answers"

_EVERY_S = 0.25
_AT_A_TIME = 2_000


class RoutingNews:
    """Tells and hears.

    Args:
        common: what it is told through.
        upstreams: as they are configured now; those without replicas are passed over.
    """

    def __init__(self, common: Common, upstreams: Sequence[Upstream]) -> None:
        self._common, self._upstreams = common, upstreams
        self._task: asyncio.Task[None] | None = None
        self._answered = asyncio.Event()
        common.on(TOPIC, self.hear, from_the_beginning=True)
        common.on(HOMES, self.hear_homes, from_the_beginning=True)

    def start(self) -> None:
        """Begin to tell."""
        self._task = asyncio.create_task(self._go())

    async def close(self) -> None:
        """Tell what has not been told, and end."""
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task
            self._task = None
            self.tell()

    def tell(self) -> None:
        """Tell what is new."""
        self.tell_homes()
        for name, router in self._routers():
            for news in _news(router):
                self._common.publish(TOPIC, {"upstream": name, **news})

    def tell_homes(self) -> None:
        """Tell who keeps the latest answers."""
        for name, router in self._routers():
            router.homes.noted = self._answered.set
            homes = [(key.hex(), cache, owner.hex()) for key, cache, owner in router.homes.news()]
            for begin in range(0, len(homes), _AT_A_TIME):
                told = homes[begin : begin + _AT_A_TIME]
                self._common.publish(HOMES, {"upstream": name, "homes": told})

    def hear_homes(self, value: Any) -> None:
        """Take what another process told of answers; raises ValueError, TypeError or KeyError as `hear`."""
        for name, router in self._routers():
            if name == value["upstream"]:
                router.homes.learn(
                    ToldHome(bytes.fromhex(key), str(cache), bytes.fromhex(owner))
                    for key, cache, owner in value["homes"]
                )

    def hear(self, value: Any) -> None:
        """Take what another process told; raises ValueError, TypeError or KeyError where it is no news."""
        for name, router in self._routers():
            if name != value["upstream"]:
                continue
            router.pins.learn((_key(key), str(cache), float(until)) for key, cache, until in value["pins"])
            for target in router.targets.values():
                told = value["trees"].get(target.name)
                if told:
                    target.tree.learn((_key(key), float(at)) for key, at in told)

    def _routers(self) -> list[tuple[str, Router]]:
        return [(one.name, one.router) for one in self._upstreams if isinstance(one, FleetUpstream)]

    async def _go(self) -> None:
        due = 0.0
        while True:
            now = time.monotonic()
            tell = self.tell_homes if now < due else self.tell
            due = due if now < due else now + _EVERY_S
            try:
                tell()
            except Exception as error:  # noqa: BLE001 - what cannot be told must not end the telling
                log_failure("telling where prefixes are warm", error)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._answered.wait(), due - now)
            self._answered.clear()


def _news(router: Router) -> list[dict[str, Any]]:
    """What a router has to tell, in parts that are not too large."""
    pins = [(_text(key), cache, until) for key, cache, until in router.pins.news()]
    trees: dict[str, list[tuple[str | int, float]]] = {}
    told: set[int] = set()
    for target in router.targets.values():
        if id(target.tree) not in told:  # replicas may share a cache
            told.add(id(target.tree))
            if keys := [(_text(key), at) for key, at in target.tree.news()]:
                trees[target.name] = keys
    parts: list[dict[str, Any]] = [
        {"pins": pins[begin : begin + _AT_A_TIME], "trees": {}} for begin in range(0, len(pins), _AT_A_TIME)
    ]
    for name, keys in trees.items():
        parts += [
            {"pins": [], "trees": {name: keys[begin : begin + _AT_A_TIME]}}
            for begin in range(0, len(keys), _AT_A_TIME)
        ]
    return parts


def _text(key: Key) -> str | int:
    return key.hex() if isinstance(key, bytes) else key


def _key(text: str | int) -> Key:
    return bytes.fromhex(text) if isinstance(text, str) else int(text)
