"""Buckets that several workers take from, and what each was charged there in advance and has not settled.

A worker that is killed settles nothing: what it was charged in advance is given back when it is gone.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from promptcache_gateway.shared.base import Take

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from promptcache_gateway.shared.base import Taken
    from promptcache_gateway.shared.buckets import Buckets


class Outstanding:
    """Advances by worker and bucket.

    Args:
        buckets: what they are charged to.
    """

    def __init__(self, buckets: Buckets) -> None:
        self._buckets = buckets
        self._advances: dict[Hashable, dict[str, Take]] = {}

    def take(self, worker: Hashable, takes: Sequence[Take]) -> Taken:
        """Take all or nothing for a worker, and note what of it is in advance or settles what was."""
        bounded = [self._bounded(worker, take) for take in takes]
        taken = self._buckets.take(bounded)
        for take in bounded if taken.granted else ():
            if take.advanced:
                self._note(worker, take)
        return taken._replace(advanced=tuple(self._sum(take.name) for take in takes))

    def leave(self, worker: Hashable) -> None:
        """Give back what a worker that is gone was charged in advance."""
        for advance in self._advances.pop(worker, {}).values():
            self._buckets.take([replace(advance, amount=-advance.amount)])

    def _bounded(self, worker: Hashable, take: Take) -> Take:
        """The same, but of what the worker was never charged in advance nothing is given back."""
        beyond = -take.advanced - self._of(worker, take.name)
        if take.advanced >= 0 or beyond <= 0:
            return take
        return replace(take, amount=take.amount + beyond, advanced=take.advanced + beyond)

    def _note(self, worker: Hashable, take: Take) -> None:
        advances = self._advances.setdefault(worker, {})
        amount = self._of(worker, take.name) + take.advanced
        advances[take.name] = Take(take.name, take.size, 0.0, amount)
        if not amount:
            del advances[take.name]

    def _of(self, worker: Hashable, name: str) -> float:
        advance = self._advances.get(worker, {}).get(name)
        return 0.0 if advance is None else advance.amount

    def _sum(self, name: str) -> float:
        return sum(self._of(worker, name) for worker in self._advances)
