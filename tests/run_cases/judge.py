"""Compares what the product answered with what a case expects, under the keys its check judges.

``cause`` is judged by code: one expected cause must be the first reported, several must all be reported.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from tests.run_cases.kinds import code_of

TOLERANCE = 1e-6

JUDGED: dict[str, tuple[str, ...]] = {
    "lint": ("findings", "no_findings_in"),
    "request_diff": ("divergence", "cause", "severity", "alarm"),
    "request_check": ("valid", "cause"),
    "template_render": ("append_only", "append_only_with", "append_only_without", "cause"),
    "accounting": (
        "convention",
        "total_input",
        "uncached",
        "cache_read",
        "cache_write",
        "cache_write_5m",
        "cache_write_1h",
        "hit_rate",
        "cost_usd",
        "cost_known",
    ),
    "accounting_stream": ("total_input", "uncached", "cache_read", "cache_write", "output"),
    "metrics": (
        "per_record",
        "overall",
        "token_hit_rate",
        "request_hit_rate",
        "reported_requests",
        "unreported_requests",
        "cause",
    ),
    "miss_reason": ("reasons",),
    "usage_sequence": ("cause", "alarm", "counts_as_miss"),
    "usage_check": ("cause", "alarm", "counts_as_miss"),
    "plateau": ("plateau", "recovered_at"),
    "engine": ("cached_tokens", "cached_tokens_*", "cause", "free_after", "free_after_evict_all"),
    "engine_metrics": ("queries", "hits", "preempted_hits"),
}
"""The keys each check is judged by; a star stands for any ending."""

DIVERGENCE = ("append_only", "path", "char_offset", "same_segments", "shared_chars", "lost_chars")


@dataclass(frozen=True)
class Mismatch:
    key: str
    expected: Any
    actual: Any

    def to_dict(self) -> dict[str, Any]:
        return {"key": self.key, "expected": self.expected, "actual": self.actual}


def judged_keys(check: str, expected: dict[str, Any]) -> list[str]:
    """The keys of ``expected`` that decide, for a check known here; others are judged by every key."""
    patterns = JUDGED.get(check)
    if patterns is None:
        return list(expected)
    return [key for key in expected if any(_fits(pattern, key) for pattern in patterns)]


def judge(check: str, expected: dict[str, Any], actual: dict[str, Any]) -> list[Mismatch]:
    """Return where ``actual`` misses ``expected``; an empty list is a pass."""
    mismatches: list[Mismatch] = []
    for key in judged_keys(check, expected):
        if key == "cause":
            mismatches += _cause(expected["cause"], actual)
        elif key == "divergence":
            mismatches += _part(expected[key], actual.get(key) or {}, DIVERGENCE, "divergence.")
        elif key == "findings":
            mismatches += _findings(expected[key], actual.get("findings") or [])
        elif key == "no_findings_in":
            mismatches += _quiet(expected[key], actual.get("findings") or [])
        elif not same(expected[key], actual.get(key, _ABSENT)):
            mismatches.append(Mismatch(key, expected[key], actual.get(key)))
    return mismatches


def same(expected: Any, actual: Any) -> bool:
    """Equality in which floats agree within the tolerance, and null, 0 and absent all differ."""
    if isinstance(expected, dict) and isinstance(actual, dict):
        return all(key in actual and same(value, actual[key]) for key, value in expected.items())
    if isinstance(expected, list) and isinstance(actual, list | tuple):
        return len(expected) == len(actual) and all(map(same, expected, actual))
    if isinstance(expected, bool) or isinstance(actual, bool) or expected is None or actual is None:
        return expected is actual
    if isinstance(expected, int | float) and isinstance(actual, int | float):
        return abs(expected - actual) <= TOLERANCE
    return bool(expected == actual)


_ABSENT = object()


def _fits(pattern: str, key: str) -> bool:
    return re.fullmatch(re.escape(pattern).replace(r"\*", ".*"), key) is not None


def _part(
    expected: dict[str, Any], actual: dict[str, Any], keys: tuple[str, ...], prefix: str
) -> list[Mismatch]:
    return [
        Mismatch(prefix + key, expected[key], actual.get(key))
        for key in keys
        if key in expected and not same(expected[key], actual.get(key, _ABSENT))
    ]


def _cause(expected: str | list[str] | None, actual: dict[str, Any]) -> list[Mismatch]:
    reported = actual.get("causes") or ([actual["cause"]] if actual.get("cause") else [])
    if expected is None:
        return [Mismatch("cause", None, reported[0])] if reported else []
    codes = [code_of(kind) for kind in ([expected] if isinstance(expected, str) else expected)]
    wanted = [code for code in codes if code is not None]
    if len(wanted) == 1 and reported[:1] != wanted:
        return [Mismatch("cause", wanted[0], reported[0] if reported else None)]
    return [Mismatch("cause", code, reported) for code in wanted if code not in reported]


# --- lint findings ----------------------------------------------------------------------------------------


def _findings(expected: list[dict[str, Any]], actual: list[dict[str, Any]]) -> list[Mismatch]:
    """Each expected finding is reported once: at its line, from its line, or over it."""
    mismatches = []
    for fault in expected:
        others = [other for other in expected if other is not fault]
        matching = [
            found
            for found in actual
            if _reports(found, fault)
            and not any(found.get("line") == o["line"] and _reports(found, o) for o in others)
        ]
        if len(matching) != 1:
            key = f"findings[{fault['file']}:{fault['line']}]"
            seen = matching or [found for found in actual if found.get("file") == fault["file"]]
            mismatches.append(Mismatch(key, {**fault, "cause": code_of(fault["cause"])}, seen))
    return mismatches


def _reports(found: dict[str, Any], fault: dict[str, Any]) -> bool:
    lines = {found.get("line"), found.get("source_line"), *(found.get("flow_lines") or ())}
    return (
        found.get("file") == fault["file"]
        and found.get("cause") == code_of(fault["cause"])
        and fault["line"] in lines
        and found.get("severity") in {"error", "warning", None}
    )


def _quiet(files: list[str], actual: list[dict[str, Any]]) -> list[Mismatch]:
    loud = [found for found in actual if found.get("severity") in {"error", "warning"}]
    return [
        Mismatch(f"no_findings_in[{name}]", [], found)
        for name in files
        if (found := [item for item in loud if item.get("file") == name])
    ]
