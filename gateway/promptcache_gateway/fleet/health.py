"""Asks replicas whether they are up. What their answers to requests tell is the circuit's business."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from yarl import URL

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    import aiohttp

    from promptcache_gateway.fleet.replica import Replica
    from promptcache_gateway.fleet.settings import FleetSettings

DEFAULT_PATH = "/health"
"""Where vLLM, SGLang and llama.cpp tell it."""

_TIMEOUT_S = 3.0


class HealthChecks:
    """The questions of one fleet.

    Args:
        settings: how often, and where.
        replicas: the replicas as they are when it is asked.
        came_back: called with one that was down and is up again.
    """

    def __init__(
        self,
        settings: FleetSettings,
        replicas: Callable[[], Iterable[Replica]],
        came_back: Callable[[Replica], None],
    ) -> None:
        self._settings = settings
        self._replicas = replicas
        self._came_back = came_back

    async def run(self) -> None:
        """Ask until cancelled."""
        import aiohttp  # noqa: PLC0415 - takes six megabytes, and only fleets need it

        timeout = aiohttp.ClientTimeout(total=_TIMEOUT_S)
        async with aiohttp.ClientSession(timeout=timeout, cookie_jar=aiohttp.DummyCookieJar()) as session:
            while True:
                await asyncio.gather(*[self._check(session, one) for one in self._replicas()])
                await asyncio.sleep(self._settings.health_interval_s)

    async def _check(self, session: aiohttp.ClientSession, replica: Replica) -> None:
        path = health_path(self._settings, replica.settings.url)
        if not path:
            return
        up = await _is_up(session, URL(replica.settings.url).origin().join(URL(path)))
        if replica.checked(up=up, patience=self._settings.unhealthy_after):
            self._came_back(replica)


def health_path(settings: FleetSettings, url: str) -> str:
    """Where a replica is asked; empty: it is not. Hosted APIs have no such page, so that none is asked."""
    if settings.health_path is not None:
        return settings.health_path
    return DEFAULT_PATH if url.startswith("http:") else ""


async def _is_up(session: aiohttp.ClientSession, url: URL) -> bool:
    """Any answer below 500: a server without such a page is up too."""
    import aiohttp  # noqa: PLC0415 - whoever asks has it

    try:
        async with session.get(url, allow_redirects=False) as response:
            return response.status < 500
    except (aiohttp.ClientError, OSError, TimeoutError):
        return False
