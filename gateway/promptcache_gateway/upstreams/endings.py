"""Whether a stream of events has said that its answer is over; nothing else of them is read here.

A connection that was closed in good order says nothing of that: a server that gives up closes it so, too. Not
every server sends the API's last event, so a reason why the answer ended counts as well.
"""

from __future__ import annotations

import re
from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from promptcache_gateway.exchange import Dialect

TORN = "upstream_torn"
"""The code of a stream that ended in good order and before its answer did."""

# Each begins with what is searched for fast. Quotes and line ends within texts are escaped, and match none.
_DONE = re.compile(rb"data:(?<![^\r\n]data:)[ \t]*\[DONE\]")
_OF_CHATS = (_DONE, re.compile(rb'"finish_reason"\s*:\s*["\d]'))
_RESPONSE_ENDED = rb'"type"\s*:\s*"response\.(?:completed|failed|incomplete|cancelled|done)"'
_ENDS: dict[Dialect, tuple[re.Pattern[bytes], ...]] = {
    "openai.chat": _OF_CHATS,
    "openai.completions": _OF_CHATS,
    "anthropic.messages": (
        re.compile(rb'"type"\s*:\s*"message_stop"'),
        re.compile(rb'"stop_reason"\s*:\s*"'),
    ),
    "openai.responses": (re.compile(_RESPONSE_ENDED), _DONE),
}
_PINGS = (b":", b"event: ping", b'data: {"type":"ping"', b'data: {"type": "ping"')
_LAST, _SMALL = 16, 2048


class Ending:
    """Looks for the end of one stream, in the last few events alone where they are small."""

    __slots__ = ("_ends", "_found", "_last")

    def __init__(self, dialect: Dialect) -> None:
        self._ends = _ENDS.get(dialect, ())
        self._found = not self._ends  # where the API has no end, none is missed
        self._last: deque[bytes] = deque(maxlen=_LAST)

    def note(self, piece: bytes) -> None:
        """Take the next piece of the stream: whole events, or parts of one too large to be held."""
        if len(piece) < _SMALL and not piece.startswith(_PINGS):  # else they would push out the end
            self._last.append(piece)
        elif not self._found:
            self._found = self._is_in(piece)

    def came(self) -> bool:
        """Whether the end has come."""
        return self._found or any(map(self._is_in, self._last))

    def _is_in(self, piece: bytes) -> bool:
        return any(end.search(piece) is not None for end in self._ends)
