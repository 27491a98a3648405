"""Requests that a log holds more than once: lines delivered twice, files joined with themselves.

Nobody sent a copy. Counted as a request, it would double what was spent and look like one that did not wait
for the first. What tells a request from all others is the formats' business: most logs give it an id.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Hashable

REMEMBERED = 1 << 19


class Copies:
    """Knows the last half a million requests again, in some 80 MB at most.

    Args:
        most: requests of each of its two generations.
    """

    def __init__(self, most: int = REMEMBERED // 2) -> None:
        self._most = most
        self._new = set[int]()
        self._old = set[int]()

    def is_one(self, known_by: Hashable) -> bool:
        """Whether a request with these marks was read before; from then on it was."""
        mark = hash(known_by)
        if mark in self._new or mark in self._old:
            return True
        if len(self._new) >= self._most:
            self._old, self._new = self._new, set()
        self._new.add(mark)
        return False
