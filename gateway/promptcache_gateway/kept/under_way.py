"""The kept conversations that calls under way go on from: together they take so much memory, and no more.

A call that names a response is small; the conversation it stands for is decoded, put together and translated,
and lives until the call has ended. Without a bound a few thousand small calls would take gigabytes. What is
counted is the JSON as it is kept; in memory a call takes several times as much.
"""

from __future__ import annotations

from collections import Counter
from threading import Lock
from typing import TYPE_CHECKING, Self

from promptcache_gateway.errors import ApiError

if TYPE_CHECKING:
    from types import TracebackType

_MIB = 1024 * 1024


class UnderWay:
    """The budget of all calls together. Safe to share between threads.

    Args:
        most: bytes that conversations may take together; one alone may take more.

    Attributes:
        refused: calls that found too much under way, by tenant.
    """

    def __init__(self, most: int) -> None:
        self.refused: Counter[str] = Counter()
        self._most = most
        self._taken = 0
        self._lock = Lock()

    @property
    def bytes(self) -> int:
        """Bytes that the conversations under way take."""
        return self._taken

    def take(self, portion: Portion, size: int) -> None:
        """Take ``size`` bytes for a call; raises `ApiError` 503 where there is no room for them now."""
        with self._lock:
            if portion.over:  # whoever waited for the database has given up
                raise _too_much(self._most)
            if self._taken and self._taken + size > self._most:
                self.refused[portion.tenant] += 1
                raise _too_much(self._most)
            self._taken += size
            portion.size += size

    def end(self, portion: Portion) -> None:
        """Give back what a call took; it takes no more."""
        with self._lock:
            self._taken -= portion.size
            portion.size, portion.over = 0, True


class Portion:
    """What one call takes of the budget: a context that gives it back at its end.

    Attributes:
        tenant: whose call it is.
        size: bytes that it has taken.
        over: the call has ended.
    """

    __slots__ = ("_under_way", "over", "size", "tenant")

    def __init__(self, under_way: UnderWay, tenant: str) -> None:
        self._under_way, self.tenant = under_way, tenant
        self.size, self.over = 0, False

    def take(self, size: int) -> None:
        """Take bytes for a conversation; raises `ApiError` 503 where there is no room for them now."""
        self._under_way.take(self, size)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._under_way.end(self)


def _too_much(most: int) -> ApiError:
    return ApiError(
        503,
        f"The kept conversations that requests under way go on from take {most / _MIB:g} MiB, the most this "
        "gateway holds at a time ([responses] under_way_mib).",
        kind="server_error",
        code="overloaded",
        retry_after=1,
    )
