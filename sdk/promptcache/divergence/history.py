"""Evidence in the conversation: what became of messages that had already been sent.

Works on the segments behind the leading system messages. A difference in the newest turn is nobody's fault:
what the user has just written cannot have been cached.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from promptcache.divergence.alignment import Step, changed_runs, content_key, first_step, shuffled_run
from promptcache.divergence.change import Change
from promptcache.divergence.evidence import Finding, alike
from promptcache.divergence.media import media_finding
from promptcache.divergence.same_message import is_reasoning, object_in, same_message
from promptcache.divergence.text import volatile_findings

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from promptcache.segments import Segment

__all__ = ["history_findings", "newest_turn_findings"]

_SUMMARY = re.compile(
    r"\b(summar(?:y|ies|i[sz]ed?|i[sz]ing)|compact(?:ed|ion)|condensed|recap|conversation so far"
    r"|continued from)\b",
    re.IGNORECASE,
)
_CLEARED = re.compile(r"\b(cleared|truncated|omitted|elided|removed|redacted)\b", re.IGNORECASE)
_STRANDED = 256
_TELLING = 24  # characters of a message; a shorter one stands at the end of others by chance
_PINNED_MESSAGES = 2
_BESIDE = frozenset({"system", "developer"})


def newest_turn_findings(earlier: Sequence[Segment], later: Sequence[Segment], index: int) -> list[Finding]:
    """Judge a difference that lies in the newest turn, at ``index`` of both conversations.

    A user who goes back and asks differently is PC502 for information; a volatile value with much static
    text behind it is a fault even here, in a bare prompt also where its end is new besides; anything else
    is a new question.
    """
    if index < min(len(earlier), len(later)):
        change = Change.between(earlier[index].body, later[index].body)
        bare = not later[index].role and "prompt" in later[index].path
        if (change.tail >= _STRANDED or (bare and change.recurring >= _STRANDED)) and (
            found := volatile_findings(change)
        ):
            return [*found, Finding("PC401")]
    if any(segment.role == "assistant" for segment in later[:index]):
        pattern = "rolled_back" if index == len(later) else "branch"
        return [Finding("PC502", {"pattern": pattern}, severity="info")]
    return []


def history_findings(earlier: Sequence[Segment], later: Sequence[Segment], index: int) -> list[Finding]:
    """Explain a difference at ``index``, before the newest turn.

    ``earlier`` and ``later`` are whole conversations. Returns an empty list when they are two different
    conversations.
    """
    old, new = earlier[index:], later[index:]
    found = same_message(earlier, later, index) or _shuffle_finding(old, new)
    step = first_step(old, new)
    if found:
        first = [found]
    elif (step.removed, step.inserted) != (1, 1) and step.kept:
        first = _moved_findings(step, earlier, later, index)
    elif step.kept == 0 and (summary := _summary_finding(old, new)):
        return [summary]
    elif not step.kept and not index and not _is_one_message(old[0], new[0]):
        return []
    else:
        first = _edit_findings(old[0], new[0], new)
    return [*first, *_further_findings(earlier, later, index, first)] if step.kept else first


def _is_one_message(before: Segment, after: Segment) -> bool:
    """Whether two messages are two versions of one, or one is an end of the other."""
    if alike(before.body, after.body):
        return True
    shorter, longer = sorted((before.body, after.body), key=len)
    ends = longer.startswith(shorter) or longer.endswith(shorter)
    return before.role == after.role and len(shorter) >= _TELLING and ends


def _further_findings(
    earlier: Sequence[Segment], later: Sequence[Segment], index: int, first: Sequence[Finding]
) -> list[Finding]:
    """What else became of the history behind its first change, each code once, up to what is equal again."""
    found = {one.code: one for one in first}
    shuffled = first[0].details.get("segments", 0)  # these are the first change as a whole
    index = _behind_shuffles(earlier, later, index + shuffled) if shuffled else index
    for i, i_end, j, j_end in changed_runs(earlier[index:], later[index:])[0 if shuffled else 1 :]:
        front = _messages_in(earlier[: index + i]) <= _PINNED_MESSAGES
        run = (index + i, index + i_end, index + j, index + j_end)
        for finding in _run_findings(earlier, later, run, "PC501" if front else "PC502"):
            found.setdefault(finding.code, finding)
    return list(found.values())[len({one.code for one in first}) :]


def _behind_shuffles(earlier: Sequence[Segment], later: Sequence[Segment], index: int) -> int:
    """Where the last run ends that holds the same messages in another order, from the end of the first on."""
    while index < min(len(earlier), len(later)):
        same = content_key(earlier[index]) == content_key(later[index])
        run = 1 if same else shuffled_run(earlier[index:], later[index:])
        if not run:
            break
        index += run
    return index


def _run_findings(
    earlier: Sequence[Segment], later: Sequence[Segment], run: tuple[int, int, int, int], dropped: str
) -> Iterator[Finding]:
    """What became of a run, asked as at the first change, where it is known which segment took whose place:
    messages dropped in front of others, and what those came back as, without their reasoning or otherwise."""
    i, i_end, j, j_end = run
    thoughts = set() if any(map(is_reasoning, later[j:j_end])) else {*_thoughts(earlier, i, i_end)}
    spoken = [at for at in range(i, i_end) if at not in thoughts]
    gone = len(spoken) - (j_end - j)
    if gone < 0:
        split = _is_one_each(earlier[i:i_end], later[j:j_end]) and same_message(earlier[i:], later[j:], 0)
        if split:
            yield replace(split, segment=j)
        return
    places = {i_end: j_end, **dict(zip(spoken[gone:], range(j, j_end), strict=True))}
    for at in sorted(thoughts, reverse=True):
        if at + 1 in places:  # before an answer that stayed
            places[at] = places[at + 1]
    del places[i_end]
    same = {at: same_message(earlier[at:], later[place:], 0) for at, place in sorted(places.items())}
    if not all(same[at] or _are_versions(earlier[at], later[places[at]]) for at in spoken[gone:]):
        return
    if gone:
        yield Finding(dropped, {"pattern": "dropped"}, segment=j)
    for at, found in same.items():
        other = found or _edit_findings(earlier[at], later[places[at]], ())[0]
        yield replace(other, segment=places[at])


def _thoughts(segments: Sequence[Segment], start: int, end: int) -> Iterator[int]:
    return (at for at in range(start, end) if is_reasoning(segments[at]))


def _is_one_each(one: Sequence[Segment], other: Sequence[Segment]) -> bool:
    return _messages_in(one) == _messages_in(other) == 1


def _are_versions(before: Segment, after: Segment) -> bool:
    return before.role == after.role and alike(before.body, after.body)


# --- messages that moved ------------------------------------------------------------------------------


def _shuffle_finding(old: Sequence[Segment], new: Sequence[Segment]) -> Finding | None:
    length = shuffled_run(old, new)
    if not length:
        return None
    results = all(_is_result(segment) for segment in old[:length])
    code = "PC304" if results else "PC103" if _are_examples(old[:length], new[:length]) else "PC502"
    return Finding(code, {"pattern": "reordered", "segments": length})


def _are_examples(old: Sequence[Segment], new: Sequence[Segment]) -> bool:
    """Whether questions with their answers changed places in pairs: no conversation does so."""
    pairs = [
        [tuple(segment.text for segment in side[at : at + 2]) for at in range(0, len(side), 2)]
        for side in (old, new)
    ]
    roles = [segment.role for segment in old]
    alternating = set(roles[::2]) == {"user"} and set(roles[1::2]) == {"assistant"}
    return alternating and sorted(pairs[0]) == sorted(pairs[1])


def _is_result(segment: Segment) -> bool:
    block = object_in(segment.body)
    return segment.role == "tool" or bool(block and str(block.get("type")).endswith("tool_result"))


def _moved_findings(
    step: Step, earlier: Sequence[Segment], later: Sequence[Segment], index: int
) -> list[Finding]:
    old, new = earlier[index:], later[index:]
    dropped = _messages_in(old[: step.removed])
    if step.kind == "dropped" and _is_part_gone(old, step.removed):
        return [Finding("PC502", {"pattern": "shortened"})]
    summary = _SUMMARY.search(" ".join(segment.body[:2000] for segment in new[: step.inserted]))
    if step.kind == "dropped":
        near_front = _messages_in(earlier[:index]) <= _PINNED_MESSAGES
        details = {"dropped_messages": dropped, "pattern": "dropped"}
        return [Finding("PC501" if near_front else "PC502", details)]
    if step.kind == "inserted":
        return [
            Finding("PC502", {"pattern": "inserted", "inserted_messages": _messages_in(new[: step.inserted])})
        ]
    if summary or step.removed >= 3 * step.inserted:
        return [Finding("PC506", {"dropped_messages": dropped})]
    return _edit_findings(old[0], new[0], new)


def _is_part_gone(old: Sequence[Segment], removed: int) -> bool:
    """Whether parts of one message went, or messages that were sent with a question, and the rest stayed."""
    gone, stays = old[:removed], old[removed:]
    if _messages_in([*gone, *stays[:1]]) == 1:
        return True
    return bool(stays) and gone[0].role in _BESIDE and not any(part.role == "assistant" for part in old)


def _summary_finding(old: Sequence[Segment], new: Sequence[Segment]) -> Finding | None:
    """A history that is gone altogether, with a summary in its place."""
    if len(old) <= len(new) or not _SUMMARY.search(new[0].body[:2000]) or _SUMMARY.search(old[0].body[:2000]):
        return None
    return Finding("PC506", {"dropped_messages": _messages_in(old)})


# --- messages that were edited --------------------------------------------------------------------------


def _edit_findings(before: Segment, after: Segment, rest: Sequence[Segment]) -> list[Finding]:
    if media := media_finding(before, after):
        return [media]
    change = Change.between(before.body, after.body)
    if before.role == after.role and (volatile := volatile_findings(change)):
        return volatile
    return [Finding("PC502", _edit_pattern(change, rest))]


def _edit_pattern(change: Change, rest: Sequence[Segment]) -> dict[str, Any]:
    """Name what kind of edit it was, where the texts show it."""
    gone, came = change.gone.strip(), change.came.strip()
    if gone and not came:
        moved = next((segment.path for segment in rest[1:] if len(gone) > 8 and gone in segment.body), None)
        return {"pattern": "block_moved", "to": moved} if moved else {"pattern": "shortened"}
    if came and not gone:
        return {"pattern": "enriched"}
    if len(came) < len(gone) and _CLEARED.search(change.new) and not _CLEARED.search(change.old):
        return {"pattern": "shortened"}
    return {"pattern": "edited"}


def _messages_in(segments: Sequence[Segment]) -> int:
    return len({segment.message for segment in segments})
