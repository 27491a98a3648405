"""One finding of the pre-flight check, as `promptcache.check` reports it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from promptcache.divergence.evidence import Severity

__all__ = ["CheckFinding"]


@dataclass(frozen=True, slots=True)
class CheckFinding:
    """One thing to know before sending; ``path`` is where, ``message`` what, in one sentence."""

    code: str
    path: str
    message: str
    severity: Severity

    def to_dict(self) -> dict[str, str]:
        """Return the finding as JSON."""
        return {"code": self.code, "path": self.path, "message": self.message, "severity": self.severity}
