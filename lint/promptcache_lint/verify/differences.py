"""Where two renderings of a request differ, segment by segment, and whether it matters there.

A difference behind the last breakpoint or in the newest turn costs nothing; neither does a request that only
appends to the other.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from promptcache.divergence.parameters import parameter_findings
from promptcache.segments import cut_request, newest_turn_start

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from promptcache.segments import Segment

__all__ = ["Difference", "Kind", "differences"]

Kind = Literal["value", "order", "parameter", "shape"]
_WORD = re.compile(r"\w+")
_EXCERPT = 60


@dataclass(frozen=True, slots=True)
class Difference:
    """One place where a rendering leaves the usual one.

    ``path`` as in a request, ``offset`` in characters of that segment (role not counted), ``end`` the offset
    behind the differing text in the usual rendering. ``before`` and ``after`` are the whole segments' texts.
    ``tolerated`` says why it costs nothing, "" where it does. ``code`` is set where the place alone says it.
    """

    path: str
    offset: int
    end: int
    before: str
    after: str
    kind: Kind = "value"
    tolerated: str = ""
    code: str = ""

    def excerpts(self) -> tuple[str, str]:
        """What stands around the difference on both sides, short."""
        return _excerpt(self.before, self.offset), _excerpt(self.after, self.offset)

    def near(self, other: Difference) -> bool:
        """Whether both lie in what is, as far as one can see, the same value."""
        if self.path != other.path:
            return False
        return self.offset <= other.end + _CLOSE and other.offset <= self.end + _CLOSE


_CLOSE = 24


def differences(usual: Mapping[str, Any], other: Mapping[str, Any]) -> list[Difference]:
    """All differences, in the order of the prompt. Raises `MalformedRequestError` for what is no request."""
    first, second = cut_request(usual), cut_request(other)
    found = [
        Difference(
            str(finding.details.get("parameter", "")),
            0,
            0,
            str(finding.details.get("before", "")),
            str(finding.details.get("after", "")),
            kind="parameter",
            code=finding.code,
        )
        for finding in parameter_findings(usual, other)
    ]
    return found + _in_text(first, second)


def _in_text(first: Sequence[Segment], second: Sequence[Segment]) -> list[Difference]:
    tools = _tools_reordered(first, second)
    found = [tools] if tools is not None else []
    limit = _limit(first)
    for index, segment in enumerate(first):
        if tools is not None and segment.kind == "tool":
            continue
        if index >= len(second) or segment.path != second[index].path:
            found.append(_gone(segment, second[index] if index < len(second) else None, limit(index)))
            break
        if not segment.same_as(second[index]):
            found.append(replace(_difference(segment, second[index]), tolerated=limit(index)))
    return found


def _difference(segment: Segment, other: Segment) -> Difference:
    before, after = segment.body, other.body
    if before == after:  # what differs stands beside the text: an id, reasoning
        before, after = segment.extra, other.extra
    offset = _shared(before, after)
    tail = _shared(before[offset:][::-1], after[offset:][::-1])
    same_words = sorted(_WORD.findall(before)) == sorted(_WORD.findall(after))
    kind: Kind = "order" if same_words and before != after else "value"
    return Difference(segment.path, offset, len(before) - tail, before, after, kind)


def _gone(segment: Segment, other: Segment | None, tolerated: str) -> Difference:
    text = other.body if other is not None else ""
    return Difference(segment.path, 0, len(segment.body), segment.body, text, "shape", tolerated)


def _tools_reordered(first: Sequence[Segment], second: Sequence[Segment]) -> Difference | None:
    """One difference for the whole list, when both have the same tools in another order."""
    texts = [[s.text for s in segments if s.kind == "tool"] for segments in (first, second)]
    if texts[0] == texts[1] or sorted(texts[0]) != sorted(texts[1]):
        return None
    index = next(number for number, text in enumerate(texts[0]) if text != texts[1][number])
    before, after = texts[0][index], texts[1][index]
    return Difference(f"tools[{index}]", 0, len(before), before, after, "order", code="PC301")


def _limit(segments: Sequence[Segment]) -> _Limit:
    marks = [index for index, segment in enumerate(segments) if segment.breakpoint is not None]
    bare = any(segment.kind == "message" and not segment.role for segment in segments)
    newest = len(segments) if bare else newest_turn_start(segments)
    return _Limit(marks[-1] if marks else None, newest)


@dataclass(frozen=True, slots=True)
class _Limit:
    """Up to where a cache could give something back."""

    last_mark: int | None
    newest: int

    def __call__(self, index: int) -> str:
        """Why a difference in the segment at ``index`` costs nothing, or ""."""
        if self.last_mark is not None and index > self.last_mark:
            return "it stands behind the last breakpoint"
        if self.last_mark is None and index >= self.newest:
            return "it stands in the newest turn"
        return ""


def _shared(first: str, second: str) -> int:
    count = 0
    for one, other in zip(first, second, strict=False):
        if one != other:
            break
        count += 1
    return count


def _excerpt(text: str, offset: int) -> str:
    start = max(0, offset - _EXCERPT // 3)
    cut = text[start : start + _EXCERPT]
    return ("…" if start else "") + cut + ("…" if start + _EXCERPT < len(text) else "")
