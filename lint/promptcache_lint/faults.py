"""One finding for one fault: of several findings that speak of the same value, the one that says most stays.

A volatile value often reaches the model through several names (a function, a variable, a call), and a
parameter may be suspected by its name where another finding shows what is really passed.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from promptcache_lint.findings import Finding
    from promptcache_lint.places import Place
    from promptcache_lint.prompts import Prompt

__all__ = ["one_for_each_fault", "without_echoes"]

_ONCE = "PC110"
_ONE_A_LINE = {"PC101", "PC109", "PC303"}
_A_LINE_OR_TWO = 2
_PROGRAMS = (".py", ".pyi", ".ts", ".tsx", ".js", ".jsx", ".mts", ".cts", ".mjs", ".cjs")


def one_for_each_fault(checked: Iterable[tuple[Prompt, Finding]]) -> list[Finding]:
    """The findings without those that repeat another one's fault; grave, direct and complete ones win."""
    taken: set[tuple[str, str, int, int]] = set()
    said: set[tuple[str, str, Place]] = set()
    kept: list[Finding] = []
    for prompt, finding in sorted(checked, key=lambda pair: _preference(*pair)):
        each_call = _is_of_each_call(prompt, finding)
        source = None if each_call else finding.source
        places = [place for place in (finding.place, source) if place is not None]
        keys = {(finding.code, *place.start) for place in places}
        if source is not None:  # ``now(zone) if zone else now()`` is one clock
            keys.add((finding.code, source.path, source.row, 0))
        if finding.source is None and finding.code in _ONE_A_LINE:  # "{weekday}, {date}" is one date
            keys.add((finding.code, finding.place.path, finding.place.row, 0))
        same_name = (finding.code, finding.subject, prompt.place)
        if keys & taken or (finding.source is None and same_name in said) or _is_known_graver(finding, kept):
            _tell_source(kept, finding)
            continue
        taken |= keys
        said.add(same_name)
        kept.append(finding)
    clocks = [finding for finding in kept if finding.code == "PC101"]
    return [
        finding
        for finding in kept
        if not _is_passed_through(finding, kept)
        and not (finding.code == "PC109" and any(_same_clock(finding, clock) for clock in clocks))
    ]


def _is_of_each_call(prompt: Prompt, finding: Finding) -> bool:
    """Whether it is a call's fault what a function of another file does to the conversation given to it."""
    source = finding.source
    return bool(prompt.practices) and source is not None and source.path != finding.place.path


def _tell_source(kept: list[Finding], dropped: Finding) -> None:
    """Give a finding that only a name suggests the source that another one at its very place knows."""
    for index, finding in enumerate(kept if dropped.source is not None else ()):
        if finding.code == dropped.code and finding.place == dropped.place and finding.source is None:
            kept[index] = replace(finding, source=dropped.source, flow=dropped.flow)


def without_echoes(findings: list[Finding]) -> list[Finding]:
    """The findings of a run without those at a call whose fault is reported where the text is written.

    What is reported there gets the way to the call as its flow. So does a prompt that a function of another
    file builds: whoever calls that function sends the same text. A template that others include or extend is
    told once, with what is lost behind it in them. A template of one module that is suspected by its names
    gives way to what another module is seen to fill in.
    """
    findings = _without_filled(_without_callers(findings))
    written = {_place(finding): finding for finding in findings if finding.source is None}
    echoes: dict[tuple[str, str, int, int], Finding] = {}
    for finding in findings:
        key = _origin(finding)
        if key in written and _repeats(finding, written[key]):
            echoes[key] = max(echoes.get(key, finding), finding, key=_weight)
    return [
        _echoed(finding, echoes[_place(finding)])
        if finding.source is None and _place(finding) in echoes
        else finding
        for finding in findings
        if not ((key := _origin(finding)) in written and _repeats(finding, written[key]))
    ]


def _repeats(finding: Finding, written: Finding) -> bool:
    """Whether what is found at a call, or at an include, only says again what stands in a file of its own."""
    if finding.place.path.endswith(_PROGRAMS):
        return True
    return not written.place.path.endswith(_PROGRAMS)


def _weight(finding: Finding) -> tuple[int, int]:
    return int(finding.severity), finding.stranded_tokens or 0


def _echoed(finding: Finding, echo: Finding) -> Finding:
    """What stands where the text is written, as grave as where it is sent, and with the way there."""
    if not echo.place.path.endswith(_PROGRAMS) and _weight(echo) > _weight(finding):
        message, stranded = echo.message, echo.stranded_tokens
        finding = replace(finding, message=message, stranded_tokens=stranded, segment=echo.segment)
    return replace(finding, flow=echo.flow, severity=max(finding.severity, echo.severity))


def _without_callers(findings: list[Finding]) -> list[Finding]:
    """The findings without those whose value came through a place where the same fault is reported.

    What stays is as grave as the gravest of them, and knows the longest way.
    """
    told = {_place(finding): index for index, finding in enumerate(findings)}
    kept = dict(enumerate(findings))
    for index, finding in enumerate(findings):
        passed = (told.get((finding.code, *step.start)) for step in finding.flow[:-1])
        first = next((other for other in passed if other is not None and other != index), None)
        if first is None or not finding.place.path.endswith(_PROGRAMS) or first not in kept:
            continue
        if findings[first].source is None or findings[first].place.start == finding.place.start:
            continue  # what is written there itself is the business of `without_echoes`
        del kept[index]
        other = kept[first]
        flow = finding.flow if finding.source == other.source else other.flow
        kept[first] = replace(other, severity=max(other.severity, finding.severity), flow=flow)
    return list(kept.values())


def _without_filled(findings: list[Finding]) -> list[Finding]:
    """The findings without those at a field of which another finding shows what fills it."""
    filled = {
        _field(finding.code, step)
        for finding in findings
        for step in finding.flow
        if step.path != finding.place.path and step != finding.source
    }
    return [
        finding
        for finding in findings
        if finding.source is not None or _field(finding.code, finding.place) not in filled
    ]


def _field(code: str, place: Place) -> tuple[str, str, int, int]:
    """A field of a template: a clock that fills ``{current_date}`` is its date, and one line has one date."""
    return ("PC101", place.path, place.row, 0) if code in _ONE_A_LINE else (code, *place.start)


def _same_clock(date: Finding, clock: Finding) -> bool:
    """Whether a date is that of a clock that is told: at its place, or from its source a line or two away."""
    if date.source is None or clock.source is None:
        return date.place == clock.place and date.source == clock.source
    if date.place == clock.place:
        return _are_near(date.source, clock.source)  # "{today}, or {timestamp} in seconds"
    return date.source == clock.source and _are_near(date.place, clock.place)


def _are_near(one: Place, other: Place) -> bool:
    return one.path == other.path and abs(one.row - other.row) <= _A_LINE_OR_TWO


def _place(finding: Finding) -> tuple[str, str, int, int]:
    return (finding.code, *finding.place.start)


def _origin(finding: Finding) -> tuple[str, str, int, int] | None:
    """Where a fault of another file stands; None if it is of this file."""
    source = finding.source
    return None if source is None or source.path == finding.place.path else (finding.code, *source.start)


def _preference(prompt: Prompt, finding: Finding) -> tuple[bool, int, int, int, Place]:
    graver_first = -int(finding.severity)
    return (finding.code == _ONCE, graver_first, len(finding.flow), -len(prompt.segments), finding.place)


def _is_known_graver(finding: Finding, kept: list[Finding]) -> bool:
    """Whether a value computed once is already reported as something graver."""
    if finding.code != _ONCE:
        return False
    origin = (finding.source or finding.place).start
    return any((other.source or other.place).start == origin for other in kept)


def _is_passed_through(finding: Finding, kept: list[Finding]) -> bool:
    """Whether a parameter was suspected by its name, and another finding shows what is really passed."""
    return finding.source is None and any(
        finding.place in other.flow[:-1]
        for other in kept
        if other.code == finding.code and other is not finding
    )
