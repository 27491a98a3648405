"""Where each cause of a break stands: its segment, character and token, and what stood there before.

The first difference is where a request leaves its predecessor; another cause may stand behind it and cost
more. So every cause has a place of its own. From where the causes make a prompt new is the SDK's finding;
what each of them cost is `shares`' business.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from promptcache.divergence.evidence import excerpt
from promptcache.quick_values import quick
from promptcache_gateway.observe.edits import counterpart
from promptcache_gateway.observe.pieces import byte_length
from promptcache_gateway.observe.texts import common_prefix

if TYPE_CHECKING:
    from promptcache.segments import Segment
    from promptcache_gateway.observe.comparison import Comparison

_BESIDE_THE_TEXT = frozenset({"PC503", "PC504", "PC607"})
_NEAR_CHARS = 40
_FAR_CHARS = 2_000


@quick
@dataclass(frozen=True, slots=True)
class Place:
    """Where one cause stands. A cause beside the text (a setting, an expiry) has no path.

    Attributes:
        code: the cause's code.
        path: the segment, as in ``messages[0]``.
        char_offset: code points into that segment's own text.
        token_offset: tokens before it.
        lost_tokens: what it cost, None where nothing was counted.
        before: a short excerpt of the predecessor around it. In memory only.
        after: the same of this request. In memory only.
    """

    code: str
    path: str | None = None
    char_offset: int | None = None
    token_offset: int | None = None
    lost_tokens: int | None = None
    before: str | None = None
    after: str | None = None

    def to_dict(self, *, excerpts: bool = True) -> dict[str, Any]:
        """The place as JSON; without ``excerpts`` no text of a prompt is in it."""
        return {
            "code": self.code,
            "path": self.path,
            "char_offset": self.char_offset,
            "token_offset": self.token_offset,
            "lost_tokens": self.lost_tokens,
            "before": self.before if excerpts else None,
            "after": self.after if excerpts else None,
        }


@dataclass(frozen=True, slots=True)
class Spot:
    """From where a cause makes a request new.

    Attributes:
        start: bytes of the request before it.
        path: its segment; None where it is no text.
        char_offset: code points into the segment's own text.
        before: a short excerpt of the predecessor around it.
        after: the same of this request.
    """

    start: int
    path: str | None
    char_offset: int | None
    before: str | None
    after: str | None


def spot_of(comparison: Comparison, code: str) -> Spot:
    """Where a code of the divergence stands; the first difference where the SDK names no other place."""
    spots: dict[str, Spot] = comparison.found.setdefault(Spot, {})
    spot = spots.get(code)
    if spot is None:
        spot = spots[code] = _find_spot(comparison, code)
    return spot


def _find_spot(comparison: Comparison, code: str) -> Spot:
    divergence, later = comparison.divergence, comparison.later
    place = divergence.places.get(code)
    if place is not None and code in _BESIDE_THE_TEXT:
        return Spot(later.offsets[min(place[0], len(later.segments))], None, None, *_settings(comparison))
    if place is None or place[0] >= len(later.segments):
        return _first(comparison, code)
    index, offset = place
    if index == divergence.same_segments and offset == divergence.char_offset:
        return _first(comparison, code)
    new = later.segments[index]
    before = counterpart(comparison.earlier, later, index)
    old = None if before is None else comparison.earlier.segments[before]
    if old is not None and old.same_as(new):  # a setting that reaches the prompt from here on, or a mark
        return Spot(later.offsets[index], new.path if code.startswith("PC6") else None, None, None, None)
    if not offset and old is not None and (old.kind, old.role) == (new.kind, new.role):
        offset = common_prefix(old.body, new.body)
    start = later.offsets[index] + byte_length(new.text[: new.head + offset] if offset else "")
    stood = None if old is None else excerpt(old.body, _stood_at(old, new, offset))
    return Spot(start, new.path, offset, stood, excerpt(new.body, offset))


def _first(comparison: Comparison, code: str) -> Spot:
    """The first difference; what came off the end of the tools or of a message is named by where it stood."""
    found, at = comparison.divergence, comparison.divergence.same_segments
    stood = _came_off(comparison, code, at)
    if stood is not None:
        return Spot(comparison.shared_bytes, stood.path, 0, found.before, "")
    return Spot(comparison.shared_bytes, found.path, found.char_offset, found.before, found.after)


def _came_off(comparison: Comparison, code: str, at: int) -> Segment | None:
    """The last tools or parts of a message that are missing, the first of them; None where nothing is."""
    earlier, later = comparison.earlier.segments, comparison.later.segments
    if at >= len(earlier):
        return None
    stood, stands = earlier[at], later[at] if at < len(later) else None
    if code == "PC302":
        return stood if stood.kind == "tool" and (stands is None or stands.kind != "tool") else None
    if code != "PC502" or not at or stood.message is None or stood.message != earlier[at - 1].message:
        return None
    return stood if stands is None or stands.message != later[at - 1].message else None


def _settings(comparison: Comparison) -> tuple[str | None, str | None]:
    """What the setting was and is."""
    details = comparison.divergence.details
    if "parameter" not in details:
        return None, None
    return str(details.get("before")), str(details.get("after"))


def _stood_at(old: Segment, new: Segment, offset: int) -> int:
    """Where in the earlier segment stood what is at ``offset`` now: earlier values may have other lengths."""
    if old.body[:offset] == new.body[:offset]:
        return offset
    near = new.body[max(0, offset - _NEAR_CHARS) : offset]
    found = old.body.find(near, max(0, offset - _FAR_CHARS)) if near else -1
    return min(offset, len(old.body)) if found < 0 else found + len(near)
