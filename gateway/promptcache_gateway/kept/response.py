"""One response that is kept: what was asked anew in its turn, and what was answered."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import orjson

if TYPE_CHECKING:
    from collections.abc import Iterable

_OVERHEAD = 512


@dataclass(frozen=True, slots=True)
class Kept:
    """A response; those before it in its conversation are kept for themselves.

    Attributes:
        id: the response's id, as the caller was told.
        tenant: whose it is; nobody else may read it or go on from it.
        previous: the id of the response it goes on from, or None.
        created_at: Unix time in seconds.
        items: the input items of this turn alone, a JSON list.
        response: the response object as JSON; ``output`` holds the items that were answered.
    """

    id: str
    tenant: str
    previous: str | None
    created_at: float
    items: bytes
    response: bytes

    @property
    def size(self) -> int:
        """Bytes it takes, about."""
        return len(self.items) + len(self.response) + _OVERHEAD

    @property
    def turn(self) -> list[Any]:
        """All items of the turn: what was asked, then what was answered, as both were said."""
        return [*orjson.loads(self.items), *orjson.loads(self.response)["output"]]


def conversation(chain: Iterable[Kept]) -> list[Any]:
    """All items of a conversation; ``chain`` is its responses, the first one first."""
    return [item for kept in chain for item in kept.turn]
