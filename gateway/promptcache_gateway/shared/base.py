"""What several processes hold in common, behind one protocol: buckets of limits, and news.

`through_parent` is for the workers of one machine, `through_redis` for any number of machines. Neither may
cost a request more than a moment: who asks gets an answer at once, or None, and goes by its own knowledge.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


@dataclass(frozen=True, slots=True)
class Take:
    """Something to be taken out of a bucket that holds a minute's worth and fills evenly.

    Attributes:
        name: the bucket's.
        size: what it holds when it is full, which is what flows in within a minute.
        needed: what must be there; 0: it is taken whatever is there, and the bucket may go into debt.
        amount: what is taken.
        advanced: how much of it is charged in advance; less than 0: so much of what was is settled with it.
    """

    name: str
    size: float
    needed: float
    amount: float
    advanced: float = 0.0

    def wait_s(self, left: float) -> float:
        """Seconds until what is needed is there; 0 where it is."""
        return max(0.0, (self.needed - left) * 60.0 / self.size) if self.needed else 0.0


class Taken(NamedTuple):
    """What became of it.

    Attributes:
        granted: all was taken; else nothing was.
        left: what is in each bucket now, below 0 where it is in debt.
        advanced: how much each was charged in advance, and not settled yet; none: that is not known.
    """

    granted: bool
    left: tuple[float, ...]
    advanced: tuple[float, ...] = ()

    def advances(self) -> tuple[float, ...]:
        """The same for each bucket; 0 where it is not known."""
        return self.advanced or (0.0,) * len(self.left)


class Common(Protocol):
    """What is held in common."""

    async def start(self) -> None:
        """Begin; what it depends on may be away."""
        ...

    async def close(self) -> None:
        """End, and have told what waits to be told, as far as that takes no time."""
        ...

    async def take(self, takes: Sequence[Take]) -> Taken | None:
        """Take all or nothing, in one step; None: nobody knows."""
        ...

    def charge(self, take: Take) -> None:
        """Have something taken, soon."""
        ...

    def publish(self, topic: str, value: Any) -> None:
        """Tell the others a value that JSON can hold; never waits."""
        ...

    def on(self, topic: str, hear: Callable[[Any], None], *, from_the_beginning: bool = False) -> None:
        """Hear what others publish, and where ``from_the_beginning``, what they did as far as it is kept."""
        ...
