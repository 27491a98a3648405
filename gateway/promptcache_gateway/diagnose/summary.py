"""Adds up what a log's requests were diagnosed with: totals, templates, causes, an example of each cause.

Memory is bounded by the number of templates, not by the log. Counts of a log that does not say how much was
read are estimates and stay apart from those that were reported. How it is shown is the reports' business.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from promptcache.causes import get_cause
from promptcache_gateway.diagnose.unexplained import Unexplained, is_unexplained
from promptcache_gateway.observe.templates import MIXED

if TYPE_CHECKING:
    from collections.abc import Mapping

    from promptcache_gateway.diagnose.patterns import Pattern
    from promptcache_gateway.diagnose.replay import Judged
    from promptcache_gateway.observe.diagnosis import Diagnosis
    from promptcache_gateway.observe.places import Place

_MAX_BAD = 20
_MAX_TEMPLATES = 1_000
_OTHERS = "(others)"
_RUN_TIME = "PC8"  # codes from here on are not in what callers send
_OF_ONE = frozenset({"name", "learned", "mixed"})  # what only a single template has


@dataclass(slots=True)
class CauseTotal:
    """What one cause did to one template, and the first request that shows it."""

    code: str
    requests: int = 0
    lost_tokens: int = 0
    lost_usd: float | None = None
    attribution: str = "unknown"
    example: dict[str, Any] | None = None

    def to_dict(self) -> dict[str, Any]:
        """As JSON, with the catalogue's words."""
        cause = get_cause(self.code)
        return {
            "code": self.code,
            "title": cause.title,
            "requests": self.requests,
            "lost_tokens": self.lost_tokens,
            "lost_usd": self.lost_usd,
            "attribution": self.attribution,
            "remedy": cause.remedy,
            "example": self.example,
        }


@dataclass(slots=True)
class TemplateTotal:
    """One template's sums.

    ``reported`` ones are of requests whose log says what was read, ``judged_prompt_tokens`` of those of which
    it can be told what could have been: of counters alone that is not known. Of ``unexplained`` ones what was
    read is taken for all that could be.
    """

    name: str
    learned: bool
    requests: int = 0
    reported: int = 0
    prompt_tokens: int = 0
    reported_prompt_tokens: int = 0
    cached_tokens: int = 0
    reusable_tokens: int = 0
    judged_prompt_tokens: int = 0
    lost_tokens: int = 0
    lost_usd: float | None = None
    saved_usd: float | None = None
    estimated: bool = False
    causes: dict[str, CauseTotal] = field(default_factory=dict)
    unexplained: Unexplained = field(default_factory=Unexplained)

    def add(self, judged: Judged, place: Mapping[str, Any]) -> None:
        """Add one request, which stands at a place in the logs."""
        record, diagnosis = judged.record, judged.record.diagnosis
        prompt = record.prompt_tokens or 0
        reported = record.reported and judged.counted
        self.requests += 1
        self.prompt_tokens += prompt
        self.estimated |= not judged.counted or (diagnosis.estimated and bool(_lost(judged)))
        if reported:
            self.reported += 1
            self.reported_prompt_tokens += prompt
            self.cached_tokens += record.cached_tokens or 0
        reusable = diagnosis.reusable_tokens
        if is_unexplained(judged):
            self.unexplained.add(judged, place)
            reusable = None
        if judged.exchange.counts is None:
            self.judged_prompt_tokens += prompt
            self.reusable_tokens += min(prompt, _or(reusable, record.cached_tokens or 0))
        self.lost_tokens += _lost(judged)
        self.lost_usd = _plus(self.lost_usd, diagnosis.lost_usd)
        self.saved_usd = _plus(self.saved_usd, record.saved_usd)
        for code in diagnosis.causes:
            self._add_cause(code, judged, place)

    def _add_cause(self, code: str, judged: Judged, place: Mapping[str, Any]) -> None:
        diagnosis = judged.record.diagnosis
        total = self.causes.setdefault(code, CauseTotal(code))
        first = code == diagnosis.cause
        lost = diagnosis.losses.get(code, 0) or (_lost(judged) if first and not diagnosis.losses else 0)
        total.requests += first
        total.lost_tokens += lost
        if diagnosis.lost_usd is not None and diagnosis.lost_tokens:
            total.lost_usd = _plus(total.lost_usd, diagnosis.lost_usd * lost / diagnosis.lost_tokens)
        if first and total.attribution != "caller":  # what was to be expected once hides no fault
            total.attribution = diagnosis.attribution
        elif total.attribution == "unknown" and code < _RUN_TIME:
            total.attribution = "caller"  # it stands behind what had ended the prefix anyway
        if total.example is None and (first or diagnosis.path or diagnosis.places):
            total.example = {**place, **_example(judged, code)}

    def to_dict(self) -> dict[str, Any]:
        """As JSON; a rate is null where nothing was reported."""
        return {
            "name": self.name,
            "learned": self.learned,
            "mixed": self.name in MIXED,
            "requests": self.requests,
            "reported_requests": self.reported,
            "prompt_tokens": self.prompt_tokens,
            "cached_tokens": self.cached_tokens if self.reported else None,
            "hit_rate": _rate(self.cached_tokens, self.reported_prompt_tokens),
            "achievable_hit_rate": _rate(self.reusable_tokens, self.judged_prompt_tokens),
            "lost_tokens": self.lost_tokens,
            "lost_usd": self.lost_usd,
            "saved_usd": self.saved_usd,
            "estimated": self.estimated,
            "causes": [cause.to_dict() for cause in self.ranked()],
            "unexplained": self.unexplained.to_dict(),
        }

    def ranked(self) -> list[CauseTotal]:
        """The causes, the costliest first."""
        return sorted(
            self.causes.values(), key=lambda one: (-(one.lost_usd or 0.0), -one.lost_tokens, -one.requests)
        )


class Summary:
    """Everything a report says.

    Args:
        name: what it is of.
        several: it is of several logs, so that a place in one is told with its name.
    """

    def __init__(self, name: str, *, several: bool = False) -> None:
        self.name = name
        self._several = several
        self.total = TemplateTotal("all", learned=False)
        self.first_time: float | None = None
        self.last_time: float | None = None
        self.bad_lines = 0
        self.mended_lines = 0
        self.copies = 0
        self.bad: list[dict[str, Any]] = []
        self.patterns: list[Pattern] = []
        self._templates: dict[str, TemplateTotal] = {}
        self._logs: list[str] = []
        self._begins: list[int] = []

    @property
    def logs(self) -> int:
        """How many logs were read."""
        return len(self._logs)

    def begin_log(self, path: str, before: int) -> None:
        """From here on lines are of another log; so many stood in those before it."""
        self._logs.append(path)
        self._begins.append(before)

    def add(self, judged: Judged) -> None:
        """Add one diagnosed request."""
        record = judged.record
        name = record.template
        if name not in self._templates and len(self._templates) >= _MAX_TEMPLATES:
            name = _OTHERS
        template = self._templates.setdefault(name, TemplateTotal(name, learned=record.learned))
        place = self._place(judged.line)
        template.add(judged, place)
        self.total.add(judged, place)
        time = judged.exchange.time
        if time is not None:
            self.first_time = time if self.first_time is None else min(self.first_time, time)
            self.last_time = time if self.last_time is None else max(self.last_time, time)

    def add_pattern(self, pattern: Pattern) -> None:
        """Note what a row of counters shows; rows of one template that show the same are one."""
        for at, known in enumerate(self.patterns):
            if (known.summary, known.template) == (pattern.summary, pattern.template):
                self.patterns[at] = replace(
                    known, requests=known.requests + pattern.requests, tokens=known.tokens + pattern.tokens
                )
                return
        if len(self.patterns) < _MAX_TEMPLATES:
            self.patterns.append(pattern)

    def add_bad(self, line: int, problem: str) -> None:
        """Note a line that holds no request; the first few are named."""
        self.bad_lines += 1
        if len(self.bad) < _MAX_BAD:
            self.bad.append({**self._place(line), "problem": problem})

    def _place(self, line: int) -> dict[str, Any]:
        """Where a line stands that was counted through all logs."""
        if not self._several:
            return {"line": line}
        at = max(0, bisect_right(self._begins, line - 1) - 1)
        return {"log": self._logs[at], "line": line - self._begins[at]}

    @property
    def templates(self) -> list[TemplateTotal]:
        """The templates, the one that loses most first."""
        return sorted(
            self._templates.values(),
            key=lambda one: (-(one.lost_usd or 0.0), -one.lost_tokens, -one.requests),
        )

    @property
    def faults(self) -> list[CauseTotal]:
        """The causes that are the caller's own, in whichever template."""
        return [cause for cause in self.total.ranked() if cause.attribution == "caller"]

    def to_dict(self, formats: dict[str, int] | None = None) -> dict[str, Any]:
        """The JSON report."""
        return {
            "log": self.name,
            "logs": len(self._logs),
            "formats": dict(formats or {}),
            "first_time": self.first_time,
            "last_time": self.last_time,
            "mended_lines": self.mended_lines,
            "copies": self.copies,
            "bad_lines": self.bad_lines,
            "bad": list(self.bad),
            "total": {
                key: value
                for key, value in self.total.to_dict().items()
                if key not in {"name", "learned", "mixed"}
            },
            "templates": [template.to_dict() for template in self.templates],
            "patterns": [pattern.to_dict() for pattern in self.patterns],
        }


def _lost(judged: Judged) -> int:
    """The lost tokens; where nobody said what was read, those that the bytes as sent could not have read."""
    diagnosis = judged.record.diagnosis
    if diagnosis.lost_tokens is not None:
        return diagnosis.lost_tokens
    if diagnosis.cause is None or diagnosis.reusable_tokens is None:
        return 0
    return max(0, diagnosis.reusable_tokens - (diagnosis.expected_cached_tokens or 0))


def _example(judged: Judged, code: str) -> dict[str, Any]:
    """A request that a cause broke, with the cause's own place in it."""
    diagnosis = judged.record.diagnosis
    place: Diagnosis | Place = next((each for each in diagnosis.places if each.code == code), diagnosis)
    return {
        "request": judged.record.id,
        "compared_with": diagnosis.compared_with,
        "path": place.path,
        "char_offset": place.char_offset,
        "token_offset": place.token_offset,
        "before": place.before,
        "after": place.after,
        "summary": diagnosis.summary,
    }


def _or(value: int | None, other: int) -> int:
    return other if value is None else value


def _plus(one: float | None, other: float | None) -> float | None:
    if one is None:
        return other
    return one if other is None else one + other


def _rate(part: int, whole: int) -> float | None:
    return min(1.0, part / whole) if whole else None
