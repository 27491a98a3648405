"""Runs cases through their adapters and gathers the results."""

from __future__ import annotations

import importlib
import importlib.util
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tests.run_cases.judge import Mismatch, judge

if TYPE_CHECKING:
    from tests.run_cases.case import Judged

EXEMPT = frozenset({"sdk_scenario", "translation", "routing", "cache_key", "concurrency", "request_group"})
"""Checks that are ordinary tests and need no adapter; without one they are skipped and counted apart."""


@dataclass(frozen=True)
class Result:
    id: str
    check: str
    layer: str
    skipped: bool = False
    actual: dict[str, Any] = field(default_factory=dict)
    mismatches: list[Mismatch] = field(default_factory=list)
    error: str | None = None

    @property
    def passed(self) -> bool:
        return not self.skipped and not self.mismatches and self.error is None

    def to_dict(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "check": self.check,
            "layer": self.layer,
            "passed": self.passed,
            "actual": self.actual,
            "mismatches": [mismatch.to_dict() for mismatch in self.mismatches],
            "error": self.error,
        }


def run(judged: Judged) -> Result:
    """Run one case; what goes wrong inside the product is the case's error, not the runner's."""
    check = judged.case.check
    name = f"tests.run_cases.adapters.{check}"
    if not check.isidentifier() or importlib.util.find_spec(name) is None:
        if check in EXEMPT:
            return Result(judged.id, check, judged.layer, skipped=True)
        return Result(judged.id, check, judged.layer, error=f"no adapter for the check {check!r}")
    try:
        actual = importlib.import_module(name).run(judged.case)
    except Exception as error:
        return Result(judged.id, check, judged.layer, error=f"{type(error).__name__}: {error}")
    mismatches = judge(check, judged.expected, actual)
    return Result(judged.id, check, judged.layer, actual=actual, mismatches=mismatches)
