"""All that one process shares, begun and ended together: what is held in common, and who uses it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from promptcache_gateway.errors import StartupError
from promptcache_gateway.shared.neighbours import Neighbours
from promptcache_gateway.shared.routing_news import RoutingNews

if TYPE_CHECKING:
    from collections.abc import Sequence

    from promptcache_gateway.observe import Observer
    from promptcache_gateway.shared.base import Common
    from promptcache_gateway.shared.settings import SharedSettings
    from promptcache_gateway.tenancy import Ledger, Limits
    from promptcache_gateway.upstreams.base import Upstream


class SharedState:
    """What a process shares, if it shares anything.

    Args:
        common: where; None: nothing is shared.
        limits: limits that hold for all; None: this process admits nobody.
        upstreams: whose routing is told, as they are configured now.
        ledger: what is spent, told to all; None: this process admits nobody.
        observer: where it has a journal, what it records is told to other machines.
    """

    def __init__(
        self,
        common: Common | None,
        limits: Limits | None = None,
        ledger: Ledger | None = None,
        upstreams: Sequence[Upstream] | None = None,
        observer: Observer | None = None,
    ) -> None:
        self._common = common
        self._routing = None if common is None or upstreams is None else RoutingNews(common, upstreams)
        told = common is not None and observer is not None and observer.journal is not None
        self._neighbours = Neighbours(common, observer) if told and common and observer else None
        if limits is not None:
            limits.common = common
        if ledger is not None and common is not None:
            ledger.share(common)

    async def start(self) -> None:
        """Begin to share; what is shared through may be away."""
        if self._common is not None:
            await self._common.start()
        if self._routing is not None:
            self._routing.start()
        if self._neighbours is not None:
            self._neighbours.start()

    async def close(self) -> None:
        """End, after what is new has been told."""
        if self._routing is not None:
            await self._routing.close()
        if self._neighbours is not None:
            await self._neighbours.close()
        if self._common is not None:
            await self._common.close()


def through_redis(settings: SharedSettings) -> Common | None:
    """The store in common that is configured, None where there is none.

    Raises:
        StartupError: the client's package is not installed.
    """
    if settings.url is None:
        return None
    try:
        from promptcache_gateway.shared.through_redis import ThroughRedis  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise StartupError(
            f"[shared] needs a package that is not installed ({error.name}).",
            remedy="pip install 'promptcache[redis]'",
        ) from error
    return ThroughRedis(settings)
