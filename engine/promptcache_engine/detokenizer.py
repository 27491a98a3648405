"""From token ids to text as it streams: whole characters only, and nothing that may yet be a stop string.

    bytes of a token ─▶ CharacterBuffer ─▶ StopMatcher ─▶ text that can be sent

Text sent is never taken back. What ends an answer besides a stop string is the worker's business.
"""

import codecs
from collections.abc import Callable, Sequence
from dataclasses import dataclass


class CharacterBuffer:
    """Joins bytes into characters and keeps the bytes of an unfinished one back.

    Bytes that are no UTF-8 become U+FFFD, one for each run a decoder cannot use, once that is certain.
    """

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")

    def push(self, data: bytes) -> str:
        """Return the characters that ``data`` completes."""
        return self._decoder.decode(data)


@dataclass(frozen=True, slots=True)
class StopResult:
    """What one piece of text led to.

    Attributes:
        text: what may be sent now.
        stop: the stop string that was completed, or None.
    """

    text: str
    stop: str | None


class StopMatcher:
    """Finds the stop string that is completed first, wherever the text is cut into pieces.

    Of several completed by the same character the longest counts. ``push`` holds back the longest tail
    that is the beginning of a stop string; ``flush`` gives it up.
    """

    def __init__(self, stops: Sequence[str]) -> None:
        self._stops = tuple(sorted(stops, key=len, reverse=True))
        self._held = ""

    def push(self, text: str) -> StopResult:
        """Take the next piece; after a stop string was found nothing more is sent."""
        if not self._stops:
            return StopResult(text, None)
        buffer = self._held + text
        found = self._first_completed(buffer)
        if found is not None:
            start, stop = found
            self._held = ""
            return StopResult(buffer[:start], stop)
        keep = max(self._tail_length(buffer, stop) for stop in self._stops)
        self._held = buffer[len(buffer) - keep :]
        return StopResult(buffer[: len(buffer) - keep], None)

    def flush(self) -> str:
        """Return what was held back, when no more text can come."""
        held, self._held = self._held, ""
        return held

    def _first_completed(self, buffer: str) -> tuple[int, str] | None:
        """Where the stop string that ends first begins, and which it is."""
        best: tuple[int, int, str] | None = None
        for stop in self._stops:
            start = buffer.find(stop)
            if start < 0:
                continue
            candidate = (start + len(stop), start, stop)
            if best is None or candidate < best:
                best = candidate
        return None if best is None else (best[1], best[2])

    @staticmethod
    def _tail_length(buffer: str, stop: str) -> int:
        """Characters at the end of ``buffer`` with which ``stop`` begins."""
        for length in range(min(len(stop) - 1, len(buffer)), 0, -1):
            if buffer.endswith(stop[:length]):
                return length
        return 0


class TextStream:
    """The text of one answer, token by token.

    Args:
        token_bytes: the bytes a token id stands for.
        stops: strings that end the answer.

    Attributes:
        characters: whole characters taken so far, sent or not.
    """

    def __init__(self, token_bytes: Callable[[int], bytes], stops: Sequence[str]) -> None:
        self._token_bytes = token_bytes
        self._buffer = CharacterBuffer()
        self._matcher = StopMatcher(stops)
        self.characters = 0

    def push(self, token: int) -> StopResult:
        """Take one token; returns the text that can be sent and the stop string found, if any."""
        text = self._buffer.push(self._token_bytes(token))
        self.characters += len(text)
        return self._matcher.push(text)

    def flush(self) -> str:
        """The rest of the text at the end; bytes of a character that was cut off are left out."""
        return self._matcher.flush()
