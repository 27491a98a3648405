"""What the experiment showed: each difference with its cause, and whether the request is stable."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from promptcache.causes import get_cause
from promptcache.detectors import classify_change
from promptcache_lint.findings import Severity

if TYPE_CHECKING:
    from promptcache_lint.verify.differences import Difference
    from promptcache_lint.verify.worlds import Perturbation

__all__ = ["Shown", "Verdict"]

_ONCE = "PC110"
_WARNINGS = {"PC105", "PC109", "PC202", "PC203", "PC205", "PC301", "PC607"}
_SPECIFIC = {"PC102", "PC104", "PC107"}
_SAME_VALUE = {"clock": {"date", "locale"}, "date": {"locale"}}
"""What is seen of a value under one difference is seen under these again, and said once."""


@dataclass(frozen=True, slots=True)
class Shown:
    """A difference and the perturbation that made it; ``once``: the value is computed once in a process."""

    difference: Difference
    cause: Perturbation
    once: bool = False

    def explains(self, other: Shown) -> bool:
        """Whether the same value under another difference need not be told again."""
        if self.cause.name in {"every run", "every call", other.cause.name}:
            return True
        return other.cause.name in _SAME_VALUE.get(self.cause.name, set())

    @property
    def code(self) -> str:
        """The code of the fault."""
        found = self.difference
        if found.code:
            return found.code
        if self.once:
            return _ONCE
        told = classify_change(found.before, found.after, found.offset)
        match self.cause.name:
            case "random seed":
                return told if told in _SPECIFIC else "PC103"
            case "hash seed":
                return "PC202" if found.kind == "order" else "PC106"
            case "every call":
                return told or "PC107"
            case "every run" | "several":
                return "PC106" if "0x" in found.before[max(0, found.offset - 40) :] else told or "PC103"
            case _:
                return self.cause.code

    @property
    def severity(self) -> Severity:
        """Info for what costs nothing or is computed once, as in the linter."""
        if self.difference.tolerated or self.code == _ONCE:
            return Severity.INFO
        return Severity.WARNING if self.code in _WARNINGS else Severity.ERROR

    def to_dict(self) -> dict[str, Any]:
        """The JSON form; ``tolerated`` is null where the difference matters."""
        before, after = self.difference.excerpts()
        return {
            "code": self.code,
            "name": get_cause(self.code).name,
            "severity": str(self.severity),
            "path": self.difference.path,
            "char_offset": self.difference.offset,
            "perturbation": self.cause.name,
            "once_per_process": self.once,
            "tolerated": self.difference.tolerated or None,
            "before": before,
            "after": after,
            "remedy": get_cause(self.code).remedy,
        }


@dataclass(frozen=True, slots=True)
class Verdict:
    """The result for ``target``; everything that differed, also where it does no harm."""

    target: str
    shown: tuple[Shown, ...]

    @property
    def stable(self) -> bool:
        """Whether nothing differs where it costs."""
        return all(item.severity is Severity.INFO for item in self.shown)

    def to_dict(self) -> dict[str, Any]:
        """The JSON form."""
        return {
            "target": self.target,
            "stable": self.stable,
            "differences": [item.to_dict() for item in self.shown],
        }
