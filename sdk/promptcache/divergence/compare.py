"""Finds the first difference between two requests and asks each kind of evidence about it.

The order of the causes is the order in which a provider meets them: what makes more of the prompt new comes
first. How each kind of evidence is read stands in the modules beside this one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from promptcache.causes import get_cause
from promptcache.divergence.breakpoints import breakpoint_findings, breakpoint_on_dynamic
from promptcache.divergence.change import Change
from promptcache.divergence.evidence import Finding, alike, common_prefix, excerpt
from promptcache.divergence.head import head_findings
from promptcache.divergence.history import history_findings, newest_turn_findings
from promptcache.divergence.parameters import parameter_findings
from promptcache.divergence.result import Divergence
from promptcache.divergence.severity import severity_of
from promptcache.divergence.text import drift_finding
from promptcache.divergence.tools import tool_findings, tool_name
from promptcache.providers import find_model
from promptcache.segments import Segment, cut_request, newest_turn_start

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from promptcache.usage import Usage

__all__ = ["compare_requests", "compare_segments"]

_REACH = {"tools": 0, "system": 1, "messages": 2}
_KIND_REACH = {"tool": 0, "system": 1, "message": 2}
_COINCIDENCE = 12


@dataclass(frozen=True, slots=True)
class _Place:
    """The first difference: the segment's index, and the characters shared inside it."""

    index: int
    offset: int
    in_newest_turn: bool


def compare_requests(
    earlier: Mapping[str, Any], later: Mapping[str, Any], *, usage: Usage | None = None
) -> Divergence:
    """Compare two decoded request bodies. ``usage`` is the later one's record, where it is at hand.

    Raises `MalformedRequestError` when one of them cannot be cut.
    """
    return compare_segments(
        cut_request(earlier), cut_request(later), earlier_body=earlier, later_body=later, usage=usage
    )


def compare_segments(
    earlier: Sequence[Segment],
    later: Sequence[Segment],
    *,
    earlier_body: Mapping[str, Any] | None = None,
    later_body: Mapping[str, Any] | None = None,
    usage: Usage | None = None,
) -> Divergence:
    """Compare two requests that are already cut.

    The bodies are only looked at for the model and the other parameters; without them these are not judged.
    """
    place = _first_difference(earlier, later)
    parameters = parameter_findings(earlier_body, later_body) if earlier_body and later_body else []
    content = [] if place is None else _content_findings(earlier, later, place)
    if later_body and _takes_both_shapes(later_body.get("model")):
        content = [
            replace(found, severity="info") if "shape" in found.details else found for found in content
        ]
    findings = _ordered(parameters, content, place, earlier, later)
    if place is None or place.in_newest_turn:
        findings += breakpoint_findings(earlier, later, len(earlier) if place is None else place.index, usage)
    return _result(findings, place, earlier, later)


# --- where ----------------------------------------------------------------------------------------------


def _first_difference(earlier: Sequence[Segment], later: Sequence[Segment]) -> _Place | None:
    """Return where ``later`` leaves ``earlier``; None when it only appends."""
    index = 0
    for old, new in zip(earlier, later, strict=False):
        if not old.same_as(new):
            break
        index += 1
    if index == len(earlier):
        return None
    newest = index >= newest_turn_start(later)
    if index == len(later) or earlier[index].place != later[index].place:
        return _Place(index, 0, newest)
    old, new = earlier[index], later[index]
    if old.role != new.role or old.text == new.text:
        return _Place(index, 0, newest)
    offset = common_prefix(old.body, new.body)
    if not old.role and index == len(earlier) - 1 and offset == len(old.body):
        return None  # a bare prompt has no closing mark: a longer text only appends
    return _Place(index, offset, newest)


# --- why ------------------------------------------------------------------------------------------------


def _content_findings(earlier: Sequence[Segment], later: Sequence[Segment], place: _Place) -> list[Finding]:
    """Ask tools, head and conversation in turn; nobody is blamed when two requests share nothing."""
    old, new = _Parts.of(earlier), _Parts.of(later)
    if not _related(earlier, later, old, new):
        return []
    findings = _placed(tool_findings(old.tools, new.tools), 0, 0)
    head = head_findings(old.head, new.head, old.talk, new.talk, handed_over=_handed_over(old, new))
    findings += _placed(head, len(new.tools), _first_unlike(old.head, new.head))
    start = _first_talk_difference(old.talk, new.talk)
    if start is not None:
        talk = len(new.tools) + len(new.head)
        if start >= newest_turn_start(new.talk):
            newest = [] if findings else newest_turn_findings(old.talk, new.talk, start)
            findings += _placed(newest, talk, start)
        else:
            findings += _placed(history_findings(old.talk, new.talk, start), talk, start)
    if findings and findings[0].code < "PC2" and (mark := breakpoint_on_dynamic(earlier, later, place.index)):
        findings.append(mark)
    return findings


def _placed(findings: Sequence[Finding], base: int, first: int) -> list[Finding]:
    """Findings of a part that begins at ``base``, with places in the whole request."""
    return [
        replace(found, segment=base + (first if found.segment is None else found.segment))
        for found in findings
    ]


def _handed_over(old: _Parts, new: _Parts) -> bool:
    """Whether the later one has tools that the earlier one lacks: another agent goes on."""
    return not {tool_name(tool) for tool in new.tools} <= {tool_name(tool) for tool in old.tools}


def _first_unlike(old: Sequence[Segment], new: Sequence[Segment]) -> int:
    pairs = enumerate(zip(old, new, strict=False))
    return next((at for at, (a, b) in pairs if a.text != b.text), min(len(old), len(new)))


@dataclass(frozen=True, slots=True)
class _Parts:
    tools: Sequence[Segment]
    head: Sequence[Segment]
    talk: Sequence[Segment]

    @classmethod
    def of(cls, segments: Sequence[Segment]) -> _Parts:
        """Split into tools, head (system prompt, leading system messages) and conversation."""
        tools = next((i for i, segment in enumerate(segments) if segment.kind != "tool"), len(segments))
        talk = next(
            (
                i
                for i in range(tools, len(segments))
                if segments[i].kind == "message" and segments[i].role not in {"system", "developer"}
            ),
            len(segments),
        )
        return cls(segments[:tools], segments[tools:talk], segments[talk:])


def _first_talk_difference(old: Sequence[Segment], new: Sequence[Segment]) -> int | None:
    """Index of the first message that differs; messages are compared by what they say, not where."""
    shift = (new[0].message or 0) - (old[0].message or 0) if old and new else 0
    for index, segment in enumerate(old):
        if index == len(new) or segment.text != new[index].text or segment.extra != new[index].extra:
            return index
        if not shift and segment.place != new[index].place:
            return index
    return None


def _related(earlier: Sequence[Segment], later: Sequence[Segment], old: _Parts, new: _Parts) -> bool:
    """Whether the two requests have anything in common that is more than a coincidence."""
    texts = {segment.text for segment in later if len(segment.body) >= _COINCIDENCE}
    if any(segment.text in texts for segment in earlier):
        return True
    names = {tool_name(tool) for tool in new.tools}
    if any(tool_name(tool) in names for tool in old.tools):
        return True
    pairs = [*zip(old.head, new.head, strict=False), *zip(old.talk[:1], new.talk[:1], strict=False)]
    return any(_is_version(first.body, second.body) for first, second in pairs)


def _is_version(before: str, after: str) -> bool:
    """Whether a text is another one again: as it was, edited, or laid out in another way."""
    return before == after or alike(before, after) or drift_finding(Change.between(before, after)) is not None


def _takes_both_shapes(model: object) -> bool:
    """Whether the model's provider reads a string and a list with that one text as the same."""
    facts = find_model(model) if isinstance(model, str) else None
    return facts is not None and facts.provider == "anthropic"


# --- the answer -----------------------------------------------------------------------------------------


def _ordered(
    parameters: list[Finding],
    content: list[Finding],
    place: _Place | None,
    earlier: Sequence[Segment],
    later: Sequence[Segment],
) -> list[Finding]:
    """Put parameters before the content when they make new what still matched."""
    if place is None or not content:
        return parameters + content
    where = [segments[place.index].kind for segments in (earlier, later) if place.index < len(segments)]
    reach = min(_KIND_REACH[kind] for kind in where)
    first = [
        found
        for found in parameters
        if found.code == "PC503" or _REACH[found.details["reach"]] < reach or reach == _KIND_REACH["message"]
    ]
    return first + content + [found for found in parameters if found not in first]


def _result(
    findings: list[Finding], place: _Place | None, earlier: Sequence[Segment], later: Sequence[Segment]
) -> Divergence:
    codes = tuple(dict.fromkeys(found.code for found in findings))
    severity = severity_of(findings[0], later, place.index if place else None) if findings else None
    details: dict[str, Any] = {}
    for found in reversed(findings):
        details.update(found.details)
    total = sum(len(segment.text) for segment in earlier)
    shared = total if place is None else _shared(place, earlier, later)
    before, after = _excerpts(findings, place, earlier, later)
    return Divergence(
        append_only=place is None,
        path=None if place is None else _path(place, earlier, later),
        char_offset=None if place is None else place.offset,
        cause=codes[0] if codes else None,
        causes=codes,
        severity=severity or (None if place is None else "info"),
        alarm=severity in {"error", "warning"},
        same_segments=len(earlier) if place is None else place.index,
        shared_chars=shared,
        lost_chars=total - shared,
        before=before,
        after=after,
        details=details,
        remedy=get_cause(codes[0]).remedy if codes else None,
        in_newest_turn=bool(place and place.in_newest_turn),
        places=_places(findings, place, later),
    )


def _places(
    findings: list[Finding], place: _Place | None, later: Sequence[Segment]
) -> dict[str, tuple[int, int]]:
    """Where each cause makes the request new; a parameter does from the part it reaches."""
    places: dict[str, tuple[int, int]] = {}
    for found in findings:
        segment, offset = found.segment, found.offset
        if segment is None:
            reach = _REACH.get(str(found.details.get("reach")), 0 if place is None else None)
            kinds = (at for at, one in enumerate(later) if reach is None or _KIND_REACH[one.kind] >= reach)
            segment = place.index if reach is None and place is not None else next(kinds, 0)
            offset = 0 if reach is not None else offset
        if offset is None:
            offset = place.offset if place is not None and segment == place.index else 0
        places.setdefault(found.code, (min(segment, len(later)), offset))
    return places


def _path(place: _Place, earlier: Sequence[Segment], later: Sequence[Segment]) -> str:
    return (later if place.index < len(later) else earlier)[place.index].path


def _shared(place: _Place, earlier: Sequence[Segment], later: Sequence[Segment]) -> int:
    shared = sum(len(segment.text) for segment in earlier[: place.index])
    if place.index == len(later):
        return shared
    old, new = earlier[place.index], later[place.index]
    if old.place != new.place or old.role != new.role:
        return shared
    return shared + old.head + place.offset


def _excerpts(
    findings: list[Finding], place: _Place | None, earlier: Sequence[Segment], later: Sequence[Segment]
) -> tuple[str | None, str | None]:
    if place is not None:
        texts = (
            segments[place.index].body if place.index < len(segments) else "" for segments in (earlier, later)
        )
        old, new = (excerpt(text, place.offset) for text in texts)
        return old, new
    if findings and "parameter" in findings[0].details:
        return str(findings[0].details["before"]), str(findings[0].details["after"])
    return None, None
