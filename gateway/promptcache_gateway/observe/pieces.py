"""What can be said of a segment by itself: its keys, its weight, its tokens, how it is drawn.

All of it follows from the segment's place and text, so it is found out once and kept for as long as requests
bring the segment again. Marks are no part of it. Memory is bounded; what was seen first is forgotten first.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING

from promptcache.quick_values import quick
from promptcache_gateway.observe.extents import segment_bounds, usual_tokens
from promptcache_gateway.observe.held import beside_texts

if TYPE_CHECKING:
    from promptcache.segments import Segment
    from promptcache_gateway.observe.masking import Masker

MARKUP_BYTES = 12
"""What "<|im_end|>" and the like come to: three or four tokens a message."""

_USUAL = -1  # among the parts, the start of those that are not bounds
_MOST_PARTS = 16


@quick
@dataclass(frozen=True, slots=True)
class Stretch:
    """One segment, or neighbouring ones in a very long prompt.

    Attributes:
        path: the first segment's place, as in ``messages[2].content[0]``.
        last: the last segment's place; the same where it is one segment.
        kind: ``tool``, ``system`` or ``message``.
        role: who speaks in it, ``""`` for a tool.
        size: bytes of UTF-8, markup included.
    """

    path: str
    last: str
    kind: str
    role: str
    size: int


class Piece:
    """One segment's own figures.

    Attributes:
        own: key of its place and all it says. Valid in this process only.
        text: key of its text.
        weight: bytes it stands for. Every message costs a few tokens of markup that no body shows.
        held: bytes that are kept of it: those, and what its segment holds beside its text.
    """

    __slots__ = (
        "_bounds",
        "_keys",
        "_parts",
        "_segment",
        "_stretch",
        "_usual",
        "held",
        "own",
        "text",
        "weight",
    )

    def __init__(self, segment: Segment) -> None:
        self.own = hash((segment.place, segment.text, segment.extra))
        self.text = hash(segment.text)
        self.weight = byte_length(segment.text) + (MARKUP_BYTES if segment.kind == "message" else 0)
        plain = not segment.extra and segment.breakpoint is None
        self.held = self.weight if plain else self.weight + beside_texts((segment,))
        self._segment = segment
        self._keys: dict[tuple[int, int], int] = {}
        self._bounds: tuple[float, float] | None = None
        self._parts: dict[tuple[int, int | None], tuple[float, float]] = {}
        self._usual: float | None = None
        self._stretch: Stretch | None = None

    def is_of(self, segment: Segment) -> bool:
        """Whether it is the piece of a segment, marks aside, whose path and text are known to be the same."""
        own = self._segment
        return own is segment or _beside_text(own) == _beside_text(segment)

    def key(self, masker: Masker, budget: tuple[int, int]) -> int:
        """The key with volatile values masked."""
        key = self._keys.get(budget)
        if key is None:
            segment = self._segment
            key = self._keys[budget] = hash((segment.kind, masker.key(segment.text, budget)))
        return key

    @property
    def bounds(self) -> tuple[float, float]:
        """How many tokens it can have: at least and at most."""
        if self._bounds is None:
            self._bounds = segment_bounds(self._segment)
        return self._bounds

    def part_bounds(self, start: int, end: int | None) -> tuple[float, float]:
        """How many tokens it can have from one of its bytes to another; ``end`` None: with its markup.

        The last ones asked for are remembered: what is measured while the upstream works, its answer need not
        wait for.
        """
        parts = self._parts
        known = parts.get((start, end))
        if known is None:
            known = parts[start, end] = segment_bounds(self._segment, start, end)
            if len(parts) > _MOST_PARTS:
                self._parts = {(start, end): known}
        return known

    def usual_until(self, end: int) -> float:
        """How many tokens it has as a rule up to one of its bytes."""
        parts = self._parts
        known = parts.get((_USUAL, end))
        if known is None:
            usual = usual_tokens(self._segment, end)
            known = parts[_USUAL, end] = (usual, usual)
            if len(parts) > _MOST_PARTS:
                self._parts = {(_USUAL, end): known}
        return known[0]

    @property
    def usual(self) -> float:
        """How many tokens it has as a rule."""
        if self._usual is None:
            self._usual = usual_tokens(self._segment)
        return self._usual

    @property
    def stretch(self) -> Stretch:
        """How it is drawn, which holds none of its text."""
        if self._stretch is None:
            one = self._segment
            self._stretch = Stretch(one.path, one.path, one.kind, one.role, self.weight)
        return self._stretch


def _beside_text(segment: Segment) -> tuple[str, ...]:
    return segment.extra, segment.role, segment.kind, segment.seat


class Pieces:
    """The pieces of the segments that came of late, for one masker. Safe to share between threads.

    Args:
        most: pieces that are kept.
        most_bytes: bytes that may be kept of them together.
    """

    def __init__(self, most: int = 4_096, most_bytes: int = 4_000_000) -> None:
        self._most = most
        self._most_bytes = most_bytes
        self._known: OrderedDict[tuple[str, str], Piece] = OrderedDict()
        self._bytes = 0
        self._lock = Lock()

    def of(self, segment: Segment) -> Piece:
        """The piece of a segment."""
        known = self._known.get((segment.path, segment.text))
        if known is not None and known.is_of(segment):
            return known
        made = Piece(segment)
        self._keep((segment.path, segment.text), made)
        return made

    def _keep(self, key: tuple[str, str], piece: Piece) -> None:
        with self._lock:
            before = self._known.pop(key, None)
            self._bytes += piece.held - (0 if before is None else before.held)
            self._known[key] = piece
            while len(self._known) > self._most or self._bytes > self._most_bytes:
                self._bytes -= self._known.popitem(last=False)[1].held

    def clear(self) -> None:
        """Keep no piece any more."""
        with self._lock:
            self._known.clear()
            self._bytes = 0

    def __len__(self) -> int:
        return len(self._known)


def byte_length(text: str) -> int:
    """Length of a text in UTF-8, without encoding it where it is ASCII."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
