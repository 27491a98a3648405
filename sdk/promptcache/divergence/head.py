"""Evidence in the head of a prompt: the system prompt, in its own field or as the leading messages."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from promptcache.divergence.alignment import content_key, first_step
from promptcache.divergence.change import Change
from promptcache.divergence.evidence import Finding
from promptcache.divergence.summing_up import sums_up
from promptcache.divergence.text import drift_finding, text_findings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from promptcache.segments import Segment

__all__ = ["head_findings"]

_STRANDED = 256
_SHAPE_ONLY = ("PC201", "PC202", "PC203", "PC204", "PC205", "PC206")  # the text would be static, written once


def head_findings(
    old: Sequence[Segment],
    new: Sequence[Segment],
    old_talk: Sequence[Segment],
    new_talk: Sequence[Segment],
    *,
    handed_over: bool = False,
) -> list[Finding]:
    """Explain how the system prompt changed; an empty list when it did not.

    The conversations behind tell a compaction (the history under another system prompt) from an edit. Not
    where it was ``handed_over`` to an agent with tools of its own, nor where both system prompts are
    versions of one.
    """
    if [content_key(segment) for segment in old] == [content_key(segment) for segment in new]:
        return _flip_findings(old, new)
    change = Change.between(*("\n".join(segment.body for segment in side) for side in (old, new)))
    if drift := drift_finding(change):
        return [drift]
    if not handed_over and sums_up(old_talk, new_talk) and not text_findings(change):
        return [Finding("PC506")]
    if len(old) != len(new):
        return _section_findings(old, new)
    findings: list[Finding] = []
    for number, (first, second) in enumerate(zip(old, new, strict=True)):
        if first.body != second.body:
            behind = _equal_chars(old[number + 1 :], new[number + 1 :])
            findings += [replace(found, segment=number) for found in _block_findings(first, second, behind)]
    return findings or [Finding("PC403")]


def _flip_findings(old: Sequence[Segment], new: Sequence[Segment]) -> list[Finding]:
    """The same text, once as a string and once as a list of blocks."""
    first, second = (".".join(segment.place for segment in side) for side in (old, new))
    if first == second or first.count("[") == second.count("["):
        return []
    return [
        Finding(
            "PC206", {"shape": "string to list" if first.count("[") < second.count("[") else "list to string"}
        )
    ]


def _section_findings(old: Sequence[Segment], new: Sequence[Segment]) -> list[Finding]:
    """Whole blocks came or went: PC404; what else changed in the others is explained too."""
    step = first_step(old, new) if old and new else None
    changed = next(((a, b) for a, b in zip(old, new, strict=False) if a.body != b.body), None)
    if step is None or step.kind != "replaced" or changed is None:
        return [Finding("PC404", {"blocks_before": len(old), "blocks_after": len(new)})]
    return _block_findings(*changed, 0) or [Finding("PC403")]


def _block_findings(first: Segment, second: Segment, behind: int) -> list[Finding]:
    """Explain one block, and say what stands stranded behind the change (PC401).

    A value of unknown kind that took another's place shows that this text is dynamic: it stands too early,
    and the instructions themselves were not edited. A plain edit may be another version, or one of many.
    """
    change = Change.between(first.body, second.body)
    findings = text_findings(change)
    stranded = behind + change.stranded
    if not findings and behind >= _STRANDED:  # another text took its place, what stands behind is the same
        findings, stranded = [Finding("PC403")], behind
    if not findings or stranded < _STRANDED or findings[0].code in _SHAPE_ONLY:
        return findings
    layout = Finding("PC401", {"stranded_chars": stranded})
    if findings[0].code == "PC401":  # a value of a kind that no detector knows
        return [Finding("PC401", {**findings[0].details, **layout.details}), *findings[1:]]
    return [*findings, layout]


def _equal_chars(old: Sequence[Segment], new: Sequence[Segment]) -> int:
    return sum(len(a.body) for a, b in zip(old, new, strict=False) if a.body == b.body)
