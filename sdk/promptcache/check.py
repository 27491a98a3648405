"""Pre-flight check of one request: will a provider accept its breakpoints, and can it be cached?

Judges what a single body shows. Lengths are estimated from characters and only speak where the estimate
leaves no doubt. What changed since an earlier request is `promptcache.divergence`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import takewhile
from typing import TYPE_CHECKING, Any

from promptcache.breakpoints import Breakpoint, breakpoints_in
from promptcache.check_finding import CheckFinding
from promptcache.check_marks import invalid_marks
from promptcache.check_reach import fine_keys, out_of_reach
from promptcache.detectors import find_volatile
from promptcache.divergence.evidence import excerpt
from promptcache.providers import ModelFacts, find_model
from promptcache.segments import Segment, cut_request

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["CheckFinding", "CheckReport", "check_request"]

_FEWEST_CHARS_PER_TOKEN = 2.5
_CERTAIN = frozenset({"PC101", "PC102", "PC103", "PC106", "PC107"})
_RANK = {"error": 0, "warning": 1, "info": 2}


@dataclass(frozen=True, slots=True)
class CheckReport:
    """What a check found. ``valid`` is False when the provider would refuse the request."""

    valid: bool
    findings: tuple[CheckFinding, ...]
    breakpoints: int

    @property
    def causes(self) -> tuple[str, ...]:
        """The codes of all findings, the most severe first."""
        return tuple(dict.fromkeys(finding.code for finding in self.findings))

    @property
    def cause(self) -> str | None:
        """The most severe finding's code, or None."""
        return self.causes[0] if self.findings else None

    def to_dict(self) -> dict[str, Any]:
        """Return the report as JSON."""
        findings = [finding.to_dict() for finding in self.findings]
        return {
            "valid": self.valid,
            "cause": self.cause,
            "breakpoints": self.breakpoints,
            "findings": findings,
        }


def check_request(body: Mapping[str, Any]) -> CheckReport:
    """Check a decoded request body. Raises `MalformedRequestError` when it cannot be cut."""
    segments = cut_request(body)
    marks = breakpoints_in(body)
    model = body.get("model")
    facts = find_model(model) if isinstance(model, str) else None
    findings = [
        *invalid_marks(body, marks, facts),
        *_missing_marks(body, marks, segments, facts),
        *out_of_reach(body, segments, facts),
        *_too_short(segments, marks, facts),
        *fine_keys(body),
        *_volatile(segments),
    ]
    findings.sort(key=lambda finding: _RANK[finding.severity])
    valid = not any(finding.severity == "error" for finding in findings)
    return CheckReport(valid, tuple(findings), len(marks))


def _missing_marks(
    body: Mapping[str, Any],
    marks: Sequence[Breakpoint],
    segments: Sequence[Segment],
    facts: ModelFacts | None,
) -> Iterator[CheckFinding]:
    if marks or not segments:
        return
    options = body.get("prompt_cache_options")
    if isinstance(options, Mapping) and options.get("mode") == "explicit":
        message = "explicit mode without a breakpoint turns caching off."
        yield CheckFinding("PC602", "prompt_cache_options", message, "warning")
    elif facts and facts.control == "marks" and not _surely_short(segments, facts):
        message = f"{facts.name} caches only up to a breakpoint, and there is none."
        yield CheckFinding("PC602", segments[-1].path, message, "warning")
    elif facts and facts.control == "both":
        message = "without an explicit breakpoint the boundary falls on the newest message."
        yield CheckFinding("PC606", segments[-1].path, message, "info")


def _too_short(
    segments: Sequence[Segment], marks: Sequence[Breakpoint], facts: ModelFacts | None
) -> Iterator[CheckFinding]:
    """The longest cacheable prefix is below the model's minimum even if it were the densest text."""
    if facts is None or facts.min_tokens is None or (not marks and facts.control == "marks"):
        return
    last = max(
        (i for i, segment in enumerate(segments) if segment.breakpoint is not None), default=len(segments) - 1
    )
    prefix = segments[: last + 1]
    if prefix and _surely_short(prefix, facts):
        tokens = round(sum(len(segment.text) for segment in prefix) / 4)
        message = f"about {tokens} tokens; {facts.name} caches nothing below {facts.min_tokens}."
        yield CheckFinding("PC604", prefix[-1].path, message, "info")


def _surely_short(segments: Sequence[Segment], facts: ModelFacts) -> bool:
    chars = sum(len(segment.text) for segment in segments)
    return facts.min_tokens is not None and chars / _FEWEST_CHARS_PER_TOKEN < facts.min_tokens


def _volatile(segments: Sequence[Segment]) -> Iterator[CheckFinding]:
    """Values in tools and system prompt that look as if they change from call to call."""
    changing = [
        (segment, code, *found) for segment in _head(segments) for code, found in _spans(segment).items()
    ]
    first = next((segment for segment, _, _, sure in changing if sure), None)
    marked = [segment for segment in segments if segment.breakpoint is not None]
    if first is not None and marked and segments.index(marked[0]) >= segments.index(first):
        message = f"every breakpoint stands on or behind {first.path}, which changes."
        yield CheckFinding("PC601", marked[0].path, message, "warning")
    for segment, code, text, sure in changing:
        message = f"{text!r} looks like a value that changes from call to call."
        yield CheckFinding(code, segment.path, message, "warning" if sure else "info")


def _head(segments: Sequence[Segment]) -> Iterator[Segment]:
    """Tools, system prompt and leading system messages."""
    return takewhile(lambda part: part.kind != "message" or part.role in {"system", "developer"}, segments)


def _spans(segment: Segment) -> dict[str, tuple[str, bool]]:
    """The first span of each cause in a segment, and whether it leaves little doubt."""
    found: dict[str, tuple[str, bool]] = {}
    for span in find_volatile(segment.body):
        sure = span.labelled or span.code in _CERTAIN
        if span.code not in found or (sure and not found[span.code][1]):
            found[span.code] = (excerpt(span.text, 0), sure)
    return found
