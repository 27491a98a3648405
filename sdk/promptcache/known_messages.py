"""What was made of messages before, found again by their place, their role and what they say.

A conversation says all of what it said before with every request. Who cuts many requests keeps such a memory
and hands it to `promptcache.segments.cut_request`: of a message that is known nothing is made again. Memory
is bounded; what was seen first is forgotten first.
"""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock
from typing import Generic, TypeVar

Made = TypeVar("Made")

_LONG = 256  # of a longer text not all characters are hashed, which costs more than to compare two of them
_END = 48

Key = tuple[int, str, str, str, int]


class KnownMessages(Generic[Made]):
    """The memory, for messages of a role and a text. Safe to share between threads.

    Args:
        most: messages that are kept.
        most_chars: characters of theirs that are kept, roles included.
    """

    def __init__(self, most: int = 4_096, most_chars: int = 4_000_000) -> None:
        self._most = most
        self._most_chars = most_chars
        self._known: OrderedDict[Key, tuple[str, Made]] = OrderedDict()
        self._chars = 0
        self._lock = Lock()

    def find(self, index: int, role: str, content: str) -> Made | None:
        """What was made of the message at an index that says this, None where it is not known."""
        known = self._known.get(_key(index, role, content))
        return known[1] if known is not None and known[0] == content else None

    def keep(self, index: int, role: str, content: str, made: Made) -> None:
        """Know what was made of a message."""
        key = _key(index, role, content)
        with self._lock:
            before = self._known.pop(key, None)
            self._chars += len(content) + len(role) - (0 if before is None else len(before[0]) + len(role))
            self._known[key] = (content, made)
            while len(self._known) > self._most or self._chars > self._most_chars:
                (_, who, *_), (oldest, _) = self._known.popitem(last=False)
                self._chars -= len(oldest) + len(who)

    def clear(self) -> None:
        """Know nothing any more."""
        with self._lock:
            self._known.clear()
            self._chars = 0

    def __len__(self) -> int:
        return len(self._known)


def _key(index: int, role: str, content: str) -> Key:
    size = len(content)
    if size <= _LONG:
        return (index, role, content, "", size)
    return (index, role, content[:_END], content[-_END:], size)
