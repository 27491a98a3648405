"""Whether a stream of events has said that its answer is over; nothing else of them is read here.

A connection that was closed in good order says nothing of that: a server that gives up closes it so, too. Not
every server sends the API's last event, so a reason why the answer ended counts as well.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from promptcache_gateway.exchange import Dialect

TORN = "upstream_torn"
"""The code of a stream that ended in good order and before its answer did."""

# A word that is searched for fast, and what it must stand in: quotes and line ends within texts are escaped.
_DONE = (b"[DONE]", re.compile(rb"data:(?<![^\r\n]data:)[ \t]*\[DONE\]"))
_OF_CHATS = (_DONE, (b'"finish_reason"', re.compile(rb'"finish_reason"\s*:\s*["\d]')))
_RESPONSE_ENDED = rb'"type"\s*:\s*"response\.(?:completed|failed|incomplete|cancelled|done)"'
_ENDS: dict[Dialect, tuple[tuple[bytes, re.Pattern[bytes]], ...]] = {
    "openai.chat": _OF_CHATS,
    "openai.completions": _OF_CHATS,
    "anthropic.messages": (
        (b'"message_stop"', re.compile(rb'"type"\s*:\s*"message_stop"')),
        (b'"stop_reason"', re.compile(rb'"stop_reason"\s*:\s*"')),
    ),
    "openai.responses": ((b'"response.', re.compile(_RESPONSE_ENDED)), _DONE),
}
_TOGETHER, _SMALL = 16, 2048


class Ending:
    """Looks for the end of one stream. What comes behind it (usage, annotations, pings) changes nothing."""

    __slots__ = ("_ends", "_found", "_unread")

    def __init__(self, dialect: Dialect) -> None:
        self._ends = _ENDS.get(dialect, ())
        self._found = not self._ends  # where the API has no end, none is missed
        self._unread: list[bytes] = []

    def note(self, piece: bytes) -> None:
        """Take the next piece of the stream: whole events, or parts of one too large to be held."""
        if self._found:
            return
        self._unread.append(piece)
        if len(self._unread) == _TOGETHER or len(piece) >= _SMALL:
            self._read()

    def came(self) -> bool:
        """Whether the end has come."""
        self._read()
        return self._found

    def _read(self) -> None:
        """Look through several pieces at once: one by one would cost each a search."""
        read = b"".join(self._unread)
        self._unread.clear()
        self._found = self._found or any(word in read and end.search(read) for word, end in self._ends)
