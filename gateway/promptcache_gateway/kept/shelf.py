"""Where the gateway keeps responses, as its routes see it: in memory, in the database, or nowhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

from promptcache_gateway.kept.near import InMemory
from promptcache_gateway.kept.settings import MIB
from promptcache_gateway.under_way import UnderWay

if TYPE_CHECKING:
    from pathlib import Path

    from promptcache_gateway.kept.base import Place
    from promptcache_gateway.kept.response import Kept
    from promptcache_gateway.kept.settings import KeptSettings
    from promptcache_gateway.shared.through_parent import ThroughParent
    from promptcache_gateway.under_way import Portion


class Shelf:
    """The place that is configured.

    Args:
        settings: which place, and its bounds.
        address: the gateway's database.

    Attributes:
        refused: responses that should have been kept and were not: too large, or too many wait.
        under_way: the memory that conversations take while calls go on from them, counted as the JSON that is
            kept; decoded it is several times as much.
    """

    def __init__(self, settings: KeptSettings, address: Path | str) -> None:
        self.refused = 0
        self.under_way = UnderWay(
            settings.under_way_mib * MIB,
            "The kept conversations that requests under way go on from",
            "[responses] under_way_mib",
        )
        self._place = _place(settings, address)

    @property
    def keeps(self) -> bool:
        """Whether anything is kept at all."""
        return self._place is not None

    def share(self, peers: ThroughParent) -> None:
        """Have the workers of this machine know what the others keep."""
        if self._place is not None:
            self._place.share(peers)

    async def start(self) -> None:
        """Begin; raises `StartupError` where the place cannot be used."""
        if self._place is not None:
            await self._place.start()

    async def close(self) -> None:
        """End, after what waits has been written."""
        if self._place is not None:
            await self._place.close()

    def put(self, kept: Kept) -> bool:
        """Keep a response; never waits. False where it is not kept."""
        if self._place is None:
            return False
        done = self._place.put(kept)
        self.refused += not done
        return done

    def portion(self, tenant: str) -> Portion:
        """What a call of a tenant's will take of the memory for conversations under way."""
        return self.under_way.portion(tenant)

    async def chain(self, tenant: str, name: str, portion: Portion) -> tuple[Kept, ...] | None:
        """A response and all before it, the first one first; None where any of them is not there.

        Raises:
            ApiError: 503 where conversations under way take too much memory, or the place does not answer.
        """
        return None if self._place is None else await self._place.chain(tenant, name, portion.take)

    async def get(self, tenant: str, name: str) -> Kept | None:
        """One response, None where there is none."""
        return None if self._place is None else await self._place.get(tenant, name)

    async def remove(self, tenant: str, name: str) -> bool:
        """Forget a response; False where it was not there."""
        return False if self._place is None else await self._place.remove(tenant, name)

    def forget(self, tenant: str) -> None:
        """Forget all of a tenant's; from any thread."""
        if self._place is not None:
            self._place.forget(tenant)


def _place(settings: KeptSettings, address: Path | str) -> Place | None:
    if settings.keep == "off":
        return None
    if settings.keep == "memory":
        return InMemory(settings)
    from promptcache_gateway.kept.database import InDatabase  # noqa: PLC0415 - loads the database's package

    return InDatabase(settings, address)
