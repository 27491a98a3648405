"""Relay server-sent events byte for byte, noticing usage on the way.

A relay is fed what the network gives, in whatever pieces, and hands on the same bytes in whole
events. It decodes an event only where usage or an error shows in its bytes. The one thing it may
withhold is a usage chunk that the gateway itself asked for.
"""

from __future__ import annotations

import re
from typing import Any

import orjson

from promptcache_gateway.errors import their_code
from promptcache_gateway.exact_json import read
from promptcache_gateway.upstreams.told_errors import told_error

# A blank line: one line end straight after another, each LF, CR or CRLF; the first one's last byte is enough.
_BOUNDARY = re.compile(rb"\n\n|[\n\r]\r\n?")
_WHOLE = (b"\n\n", b"\n\r\n", b"\r\r\n")
"""Ends of events that no next byte can be a part of."""
_NOTABLE = re.compile(rb'"(?:usage"\s*:\s*\{|error"\s*:\s*[{"]|(?:type|object)"\s*:\s*"error")')
_ID = re.compile(rb'"id"\s*:\s*"([A-Za-z0-9_.:-]{1,128})"')
MAX_PARTIAL_EVENT = 4 * 1024 * 1024
"""Images come in one event, and the last of OpenAI's responses holds the whole answer once more."""
_MAX_KEPT_CHUNKS = 32


class EventRelay:
    """State of one relayed stream.

    Attributes:
        chunks: what carried a non-null ``usage``, decoded, in order, the last ones.
        error: the ``code`` (or ``type``) of an error event, or None.
        response_id: the ``id`` in the first event that has one, or None.
    """

    def __init__(self, *, withhold_usage: bool, max_partial: int = MAX_PARTIAL_EVENT) -> None:
        """``max_partial``: the most bytes of an unfinished event that are waited for."""
        self.chunks: list[dict[str, Any]] = []
        self.error: str | None = None
        self.response_id: str | None = None
        self._withhold = withhold_usage
        self._max_partial = max_partial
        self._partial = bytearray()
        self._seam = b""  # the last byte, where its event is not over or a line feed may still belong to it
        self._over = False  # whether that event is over but for the line feed
        self._withheld = False  # whether the last event that was looked at was withheld

    @property
    def torn(self) -> bytes:
        """What ends an event that was too large to wait for, of which a part is out; empty where none is."""
        if not self._seam or self._over or self._partial:
            return b""
        return b"\n" if self._seam == b"\n" else b"\n\n"

    def feed(self, data: bytes) -> bytes:
        """Take bytes from the upstream; return those that may go to the caller now.

        However small the pieces are that an event comes in, each byte is looked at a few times only.
        """
        passed = b""
        if self._seam:
            passed, data = self._go_on(data)
            if not data:
                return passed
        if not data.endswith(_WHOLE):
            data = self._hold_partial(data)
        if self.response_id is None:
            self._note_id(data)
        if _NOTABLE.search(data) is not None:
            data = self._sift(data)
        return passed + data if passed else data

    def finish(self) -> bytes:
        """What is still held when the stream ends without its last blank line, with that line added."""
        if torn := self.torn:
            self._seam = b""
            return torn
        rest = self._sift(self._kept())
        if not rest.strip(b"\r\n"):
            return rest
        return rest + (b"\n" if rest.endswith(b"\n") else b"\n\n")

    def _go_on(self, data: bytes) -> tuple[bytes, bytes]:
        """What of the next bytes goes out as it is, and what is to be looked at, with what was held."""
        if self._over:
            return self._after_return(data)
        seam = self._seam + data
        boundary = _BOUNDARY.search(seam)
        if not self._partial:  # of an event that was too large to wait for
            end = len(seam) if boundary is None else boundary.end()
            self._note_end(seam[end - 1 :], over=boundary is not None)
            return seam[1:end], seam[end:]
        if boundary is None and len(self._partial) + len(data) <= self._max_partial:
            self._keep(data)
            return b"", b""
        return b"", self._kept() + data

    def _after_return(self, data: bytes) -> tuple[bytes, bytes]:
        """A line feed straight after the carriage return that ended an event goes where the event went."""
        if not data:
            return b"", b""
        self._seam, self._over = b"", False
        if not data.startswith(b"\n"):
            return b"", data
        return b"" if self._withheld else b"\n", data[1:]

    def _hold_partial(self, data: bytes) -> bytes:
        """Keep an unfinished event back, unless it is too large to wait for."""
        last = max(data.rfind(b"\n\n"), data.rfind(b"\n\r"), data.rfind(b"\r\r"))
        end = 0 if last < 0 else last + 2
        if end and data[end - 1 : end + 1] == b"\r\n":
            end += 1
        self._withheld = False
        if end == len(data):
            self._note_end(data[-1:], over=True)
        elif len(data) - end > self._max_partial:
            self._note_end(data[-1:], over=False)
            return data
        else:
            self._keep(data[end:])
        return data[:end]

    def _note_end(self, last: bytes, *, over: bool) -> None:
        """Note the last byte that went out, where its event goes on, or ended in a carriage return."""
        self._over = over and last == b"\r"
        self._seam = last if self._over or not over else b""

    def _keep(self, data: bytes) -> None:
        self._partial.extend(data)
        self._seam = data[-1:] or self._seam

    def _kept(self) -> bytes:
        """What was held, which is not any more."""
        held = bytes(self._partial)
        self._partial.clear()
        self._seam = b""
        return held

    def _note_id(self, data: bytes) -> None:
        match = _ID.search(data)
        if match is not None:
            self.response_id = match[1].decode("ascii")

    def _sift(self, data: bytes) -> bytes:
        kept = []
        for event in _split(data):
            self._withheld = _NOTABLE.search(event) is not None and self._note(event)
            if not self._withheld:
                kept.append(event)
        return b"".join(kept)

    def _note(self, event: bytes) -> bool:
        """Note what an event says; True when it is to be withheld."""
        chunk = _event_json(event)
        if chunk is None:
            return False
        error = told_error(chunk) or told_error(_inside(chunk))
        if error is not None:
            self.error = their_code(error) or "upstream_error"
        carrier = _usage_carrier(chunk)
        if carrier is None:
            return False
        self.chunks.append(carrier)
        del self.chunks[:-_MAX_KEPT_CHUNKS]
        return self._withhold and _says_nothing_else(chunk)


def _split(data: bytes) -> list[bytes]:
    """Events with their terminators; an unterminated rest is the last item."""
    events = []
    start = 0
    for boundary in _BOUNDARY.finditer(data):
        events.append(data[start : boundary.end()])
        start = boundary.end()
    if start < len(data):
        events.append(data[start:])
    return events


def _event_json(event: bytes) -> dict[str, Any] | None:
    lines = [line[5:] for line in event.splitlines() if line.startswith(b"data:")]
    try:
        chunk = read(b"\n".join(lines), orjson.loads)
    except orjson.JSONDecodeError:
        return None
    return chunk if isinstance(chunk, dict) else None


def _inside(chunk: dict[str, Any]) -> dict[str, Any]:
    """The object an event is about: ``message`` of Anthropic's first, ``response`` of OpenAI's responses."""
    for name in ("message", "response"):
        carried = chunk.get(name)
        if isinstance(carried, dict):
            return carried
    return {}


def _usage_carrier(chunk: dict[str, Any]) -> dict[str, Any] | None:
    """The part of an event that carries usage, without what else it holds inside."""
    if isinstance(chunk.get("usage"), dict):
        return chunk
    usage = _inside(chunk).get("usage")
    return {"usage": usage} if isinstance(usage, dict) else None


def _says_nothing_else(chunk: dict[str, Any]) -> bool:
    """Whether a chunk carries usage alone: no choices, or choices without any content."""
    choices = chunk.get("choices")
    if not isinstance(choices, list):
        return False
    return not any(_has_content(choice) for choice in choices)


def _has_content(choice: object) -> bool:
    if not isinstance(choice, dict):
        return True
    delta = choice.get("delta")
    return bool(delta) or bool(choice.get("text")) or choice.get("finish_reason") is not None
