"""Relay server-sent events byte for byte, noticing usage on the way.

A relay is fed what the network gives, in whatever pieces, and hands on the same bytes in whole
events. It decodes an event only where usage or an error shows in its bytes. The one thing it may
withhold is a usage chunk that the gateway itself asked for.
"""

from __future__ import annotations

import re
from typing import Any

import orjson

_BOUNDARY = re.compile(rb"\r\n\r\n|\n\n|\r\r")
_SEAM = 3
"""What of a boundary may have come before its last byte."""
_NOTABLE = re.compile(rb'"(?:usage|error)"\s*:\s*\{')
_ID = re.compile(rb'"id"\s*:\s*"([A-Za-z0-9_.:-]{1,128})"')
MAX_PARTIAL_EVENT = 256 * 1024
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
        self._seam = b""  # the last of them, which may be the beginning of an event's end

    def feed(self, data: bytes) -> bytes:
        """Take bytes from the upstream; return those that may go to the caller now.

        However small the pieces are that an event comes in, each byte is looked at a few times only.
        """
        if self._partial:
            seam = self._seam + data
            if len(self._partial) + len(data) <= self._max_partial and _BOUNDARY.search(seam) is None:
                self._keep(data, seam)
                return b""
            data = self._kept() + data
        if not data.endswith((b"\n\n", b"\r\n\r\n")):
            data = self._hold_partial(data)
        if self.response_id is None:
            self._note_id(data)
        if _NOTABLE.search(data) is None:
            return data
        return self._sift(data)

    def finish(self) -> bytes:
        """What is still held when the stream ends without its last blank line, with that line added."""
        rest = self._sift(self._kept())
        if not rest:
            return b""
        return rest + (b"\n" if rest.endswith(b"\n") else b"\n\n")

    def _hold_partial(self, data: bytes) -> bytes:
        """Keep an unfinished event back, unless it is too large to wait for."""
        end = max(
            data.rfind(b"\n\n") + 2 if b"\n\n" in data else 0,
            data.rfind(b"\r\n\r\n") + 4 if b"\r\n\r\n" in data else 0,
            data.rfind(b"\r\r") + 2 if b"\r\r" in data else 0,
        )
        if len(data) - end > self._max_partial:
            return data
        rest = data[end:]
        if rest:
            self._keep(rest, rest)
        return data[:end]

    def _keep(self, data: bytes, seam: bytes) -> None:
        self._partial.extend(data)
        self._seam = seam[-_SEAM:]

    def _kept(self) -> bytes:
        """What was held, which is not any more."""
        held = bytes(self._partial)
        self._partial.clear()
        return held

    def _note_id(self, data: bytes) -> None:
        match = _ID.search(data)
        if match is not None:
            self.response_id = match[1].decode("ascii")

    def _sift(self, data: bytes) -> bytes:
        return b"".join(
            [event for event in _split(data) if _NOTABLE.search(event) is None or not self._note(event)]
        )

    def _note(self, event: bytes) -> bool:
        """Note what an event says; True when it is to be withheld."""
        chunk = _event_json(event)
        if chunk is None:
            return False
        error = chunk.get("error") or _inside(chunk).get("error")
        if isinstance(error, dict):
            self.error = str(error.get("code") or error.get("type") or "upstream_error")
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
        chunk = orjson.loads(b"\n".join(lines))
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
