"""What requests under way hold in memory: together they take so many bytes, and no more.

There is one such budget for the bodies of requests, one for the kept conversations that calls go on from, and
one for the answers of upstreams that are held whole: without a bound a few thousand of them would take
gigabytes. What a byte of them is reckoned at is said by who takes it.
"""

from __future__ import annotations

from collections import Counter
from threading import RLock
from typing import TYPE_CHECKING, Self

from promptcache_gateway.errors import ApiError

if TYPE_CHECKING:
    from types import TracebackType

MIB = 1024 * 1024


class UnderWay:
    """The budget of all requests together. Safe to share between threads.

    Args:
        most: bytes that may be taken together; one request alone may take more.
        what: what it is that takes them, in a sentence's beginning.
        setting: where ``most`` is configured.

    Attributes:
        most: as given; it may be changed, for what is taken from then on.
        refused: requests that found too much under way, by tenant.
    """

    def __init__(self, most: int, what: str, setting: str) -> None:
        self.most = most
        self.refused: Counter[str] = Counter()
        self._what, self._setting = what, setting
        self._taken = 0
        self._lock = RLock()

    @property
    def bytes(self) -> int:
        """Bytes that are taken now."""
        return self._taken

    def portion(self, tenant: str) -> Portion:
        """What a request of a tenant's will take."""
        return Portion(self, tenant)

    def hold(self, tenant: str) -> Hold:
        """What something will take that is passed from hand to hand."""
        return Hold(self, tenant)

    def expect(self, portion: Portion, size: int) -> None:
        """Take nothing yet; raises `ApiError` 503 where there is no room now for ``size`` bytes more."""
        with self._lock:
            if portion.over:  # whoever waited for the database has given up
                raise self._too_much()
            others = self._taken - portion.size
            if others and self._taken + size > self.most:
                self.refused[portion.tenant] += 1
                raise self._too_much()

    def take(self, portion: Portion, size: int) -> None:
        """Take ``size`` bytes for a request; raises `ApiError` 503 where there is no room for them now."""
        with self._lock:
            self.expect(portion, size)
            self._taken += size
            portion.size += size

    def end(self, portion: Portion) -> None:
        """Give back what a request took; it takes no more."""
        with self._lock:
            self._taken -= portion.size
            portion.size, portion.over = 0, True

    def _too_much(self) -> ApiError:
        return ApiError(
            503,
            f"{self._what} take {self.most / MIB:g} MiB, the most this gateway holds at a time "
            f"({self._setting}).",
            kind="server_error",
            code="overloaded",
            retry_after=1,
        )


class Portion:
    """What one request takes of the budget: a context that gives it back at its end.

    Attributes:
        tenant: whose request it is.
        size: bytes that it has taken.
        over: the request has ended.
    """

    __slots__ = ("_under_way", "over", "size", "tenant")

    def __init__(self, under_way: UnderWay, tenant: str) -> None:
        self._under_way, self.tenant = under_way, tenant
        self.size, self.over = 0, False

    def take(self, size: int) -> None:
        """Take bytes; raises `ApiError` 503 where there is no room for them now."""
        self._under_way.take(self, size)

    def expect(self, size: int) -> None:
        """Take nothing yet; raises `ApiError` 503 where there is no room now for so many bytes more."""
        self._under_way.expect(self, size)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._under_way.end(self)


class Hold(Portion):
    """A portion for what is passed from hand to hand: given back at the latest when nobody has it."""

    __slots__ = ()

    def end(self) -> None:
        """Give it back; more than once changes nothing."""
        self._under_way.end(self)

    __del__ = end
