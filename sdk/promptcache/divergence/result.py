"""`Divergence`: where a request leaves its predecessor, and why. The JSON of ``promptcache diff``."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from promptcache.divergence.evidence import Severity

__all__ = ["Divergence"]


@dataclass(frozen=True, slots=True)
class Divergence:
    """The first difference between a request and an earlier one, with its causes.

    ``append_only``: the earlier request is a prefix of the later; then ``path``, ``char_offset``, ``before``
    and ``after`` are None, unless a parameter outside the text changed. ``path`` is the place in the later
    request, ``char_offset`` the characters shared inside that segment (role not counted).
    ``same_segments`` counts the equal segments before it; ``shared_chars`` and ``lost_chars`` add up to the
    earlier request's length. All lengths are in code points.
    ``cause`` is the first of ``causes``; None means that the evidence fits no cause, and nobody is blamed.
    ``places`` says from where each cause makes the prompt new: the index of a segment of the later request,
    and the characters before it in that segment's body.
    ``in_newest_turn`` tells that only the newest turn differs, which no cache could have held.
    """

    append_only: bool
    path: str | None = None
    char_offset: int | None = None
    cause: str | None = None
    causes: tuple[str, ...] = ()
    severity: Severity | None = None
    alarm: bool = False
    same_segments: int = 0
    shared_chars: int = 0
    lost_chars: int = 0
    before: str | None = None
    after: str | None = None
    details: Mapping[str, Any] = field(default_factory=dict)
    remedy: str | None = None
    in_newest_turn: bool = False
    places: Mapping[str, tuple[int, int]] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON of ``promptcache diff``."""
        return {
            "append_only": self.append_only,
            "path": self.path,
            "char_offset": self.char_offset,
            "cause": self.cause,
            "causes": list(self.causes),
            "severity": self.severity,
            "alarm": self.alarm,
            "same_segments": self.same_segments,
            "shared_chars": self.shared_chars,
            "lost_chars": self.lost_chars,
            "before": self.before,
            "after": self.after,
            "details": dict(self.details),
            "remedy": self.remedy,
        }
