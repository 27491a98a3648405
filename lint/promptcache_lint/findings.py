"""What the linter reports: findings, as values. Choosing and printing them is left to `run` and `formats`."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, Any

from promptcache.causes import get_cause

if TYPE_CHECKING:
    from promptcache_lint.fixes.fix import Fix
    from promptcache_lint.places import Place

__all__ = ["Finding", "Severity", "rule_url"]


class Severity(IntEnum):
    """How sure it is to cost: an error on ordinary traffic, a warning now and then; info is worth knowing."""

    INFO = 0
    WARNING = 1
    ERROR = 2

    def __str__(self) -> str:
        return self.name.lower()


def rule_url(code: str) -> str:
    """Where the rule is explained."""
    return f"https://promptcache.dev/rules/{code}"


@dataclass(frozen=True, slots=True)
class Finding:
    """One fault: ``place`` is where it enters the prompt, ``source`` where the value comes from.

    ``flow`` lists the steps from the source to the prompt; ``segment`` is the path of the segment it
    breaks, ``stranded_tokens`` an estimate of the static tokens behind it that cannot be reused.
    ``subject`` is how the source spells the value. ``fix`` is a tried change that makes the finding go away.
    """

    code: str
    severity: Severity
    message: str
    place: Place
    source: Place | None = None
    flow: tuple[Place, ...] = ()
    segment: str | None = None
    stranded_tokens: int | None = None
    fix: Fix | None = None
    subject: str = ""

    @property
    def name(self) -> str:
        """The cause's name, as ``clock-in-prefix``."""
        return get_cause(self.code).name

    @property
    def remedy(self) -> str:
        """What to do about it."""
        return get_cause(self.code).remedy

    def to_dict(self) -> dict[str, Any]:
        """The JSON form; rows and columns count from 1."""
        return {
            "code": self.code,
            "name": self.name,
            "severity": str(self.severity),
            "message": self.message,
            "filename": self.place.path,
            "location": {"row": self.place.row, "column": self.place.column},
            "end_location": {"row": self.place.end_row, "column": self.place.end_column},
            "source": _step(self.source) if self.source else None,
            "flow": [_step(step) for step in self.flow],
            "segment": self.segment,
            "stranded_tokens": self.stranded_tokens,
            "fix": self.fix.to_dict() if self.fix else None,
            "url": rule_url(self.code),
        }


def _step(place: Place) -> dict[str, Any]:
    return {"filename": place.path, "row": place.row, "column": place.column}
