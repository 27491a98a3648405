"""One turn of a conversation that is kept: what it goes on from, and where its answer goes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import orjson

from promptcache_gateway.kept.response import Kept

if TYPE_CHECKING:
    from collections.abc import Mapping


class Keeper(Protocol):
    """Where responses are kept."""

    def put(self, kept: Kept) -> bool:
        """Keep one; never waits. False where it is not kept."""
        ...


@dataclass(frozen=True, slots=True)
class Turn:
    """What a call of the Responses API goes on from, and where its answer is to be kept.

    Attributes:
        tenant: whose the call is.
        previous: the id of the response it goes on from, or None.
        items: its own input items, a JSON list.
        created_at: Unix time in seconds.
        shelf: where its answer is kept; None: nowhere.
    """

    tenant: str
    previous: str | None
    items: bytes
    created_at: float
    shelf: Keeper | None

    @property
    def stores(self) -> bool:
        """Whether its answer is to be kept."""
        return self.shelf is not None

    def keep(self, response: Mapping[str, Any]) -> bool:
        """Keep the answer; False where it is not."""
        if self.shelf is None:
            return False
        body = orjson.dumps(response)
        kept = Kept(response["id"], self.tenant, self.previous, self.created_at, self.items, body)
        return self.shelf.put(kept)
