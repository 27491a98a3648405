"""Evidence in the conversation: what became of messages that had already been sent.

Works on the segments behind the leading system messages. A difference in the newest turn is nobody's fault:
what the user has just written cannot have been cached.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from promptcache.divergence.alignment import Step, changed_runs, first_step, shuffled_run
from promptcache.divergence.change import Change
from promptcache.divergence.evidence import Finding, alike
from promptcache.divergence.json_text import json_finding, same_json
from promptcache.divergence.media import media_finding
from promptcache.divergence.text import drift_finding, volatile_findings

if TYPE_CHECKING:
    from promptcache.segments import Segment

__all__ = ["history_findings", "newest_turn_findings", "result_shape"]

_THINK = re.compile(r"<(think|thinking|reasoning)>.*?</\1>\s*", re.DOTALL)
_REASONING_KEYS = ("reasoning", "reasoning_content", "reasoning_details", "thinking", "thinking_blocks")
_SEALS = ("signature", "encrypted_content", "data")
_REASONING_TYPES = frozenset({"thinking", "redacted_thinking", "reasoning"})
_SUMMARY = re.compile(
    r"\b(summar(?:y|ies|i[sz]ed?|i[sz]ing)|compact(?:ed|ion)|condensed|recap|conversation so far"
    r"|continued from)\b",
    re.IGNORECASE,
)
_CLEARED = re.compile(r"\b(cleared|truncated|omitted|elided|removed|redacted)\b", re.IGNORECASE)
_STRANDED = 256
_PINNED_MESSAGES = 2


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
    found = _same_message(earlier, later, index) or _shuffle_finding(old, new)
    step = first_step(old, new)
    if found:
        first = [found]
    elif (step.removed, step.inserted) != (1, 1) and step.kept:
        first = _moved_findings(step, earlier, later, index)
    elif step.kept == 0 and (summary := _summary_finding(old, new)):
        return [summary]
    elif not step.kept and not index and not alike(old[0].body, new[0].body):
        return []
    else:
        first = _edit_findings(old[0], new[0], new)
    return [*first, *_further_findings(earlier, later, index, first)] if step.kept else first


def _further_findings(
    earlier: Sequence[Segment], later: Sequence[Segment], index: int, first: Sequence[Finding]
) -> list[Finding]:
    """What else became of the history behind its first change, each code once, up to what is equal again."""
    found = {one.code: one for one in first}
    shuffled = first[0].details.get("segments", 0)  # these are the first change as a whole
    index += shuffled
    for i, i_end, j, j_end in changed_runs(earlier[index:], later[index:])[0 if shuffled else 1 :]:
        front = _messages_in(earlier[: index + i]) <= _PINNED_MESSAGES
        run = earlier[index + i : index + i_end], later[index + j : index + j_end]
        for finding in _run_findings(*run, "PC501" if front else "PC502"):
            found.setdefault(finding.code, replace(finding, segment=index + j + (finding.segment or 0)))
    return list(found.values())[len({one.code for one in first}) :]


def _run_findings(one: Sequence[Segment], other: Sequence[Segment], dropped: str) -> Iterator[Finding]:
    """Messages dropped in front of others, and edits of those, where it is known which took whose place."""
    gone = len(one) - len(other)
    pairs = list(zip(one[max(gone, 0) :], other, strict=False))
    known = all(before.role == after.role and alike(before.body, after.body) for before, after in pairs)
    if gone < 0 or not known:
        return
    if gone:
        yield Finding(dropped, {"pattern": "dropped"}, segment=0)
    for number, (before, after) in enumerate(pairs):
        drift = drift_finding(Change.between(before.body, after.body))
        yield replace(drift or _edit_findings(before, after, ())[0], segment=number)


# --- the same message in another dress ----------------------------------------------------------------


def _same_message(earlier: Sequence[Segment], later: Sequence[Segment], index: int) -> Finding | None:
    before, after = earlier[index], later[index]
    if reasoning := _reasoning_finding(earlier, later, index):
        return reasoning
    if (
        before.role == after.role
        and (".content[" in before.place) != (".content[" in after.place)
        and (flip := _flip_finding(earlier, later, index))
    ):
        return flip
    if before.role != after.role:
        return None
    if _same_arguments(before.body, after.body):
        return Finding("PC507")
    if shape := result_shape(before.body, after.body):
        return Finding("PC206", {"shape": shape})
    change = Change.between(before.body, after.body)
    return drift_finding(change) or json_finding(change)


def _flip_finding(earlier: Sequence[Segment], later: Sequence[Segment], index: int) -> Finding | None:
    """A message that was a string and is a list now, or the other way round, with the same text."""
    old, new = _message_text(earlier, index), _message_text(later, index)
    if old != new and not drift_finding(Change.between(old, new)):
        return None
    shape = (
        "list to string" if earlier[index].path.endswith("]") and ".content[" in earlier[index].path else ""
    )
    return Finding("PC206", {"shape": shape or "string to list"})


def result_shape(before: str, after: str) -> str | None:
    """How a tool's result was wrapped otherwise, with the same text: once as a string, once as a list."""
    old, new = _object(before), _object(after)
    if not (old and new and "content" in old and "content" in new):
        return None
    one, other = old["content"], new["content"]
    if isinstance(one, str) == isinstance(other, str) or {**old, "content": ""} != {**new, "content": ""}:
        return None
    texts = [side if isinstance(side, str) else _only_text(side) for side in (one, other)]
    if texts[0] != texts[1]:
        return None
    return "string to list" if isinstance(one, str) else "list to string"


def _only_text(parts: object) -> str | None:
    """The text of a list that holds one part, which is text; None of any other."""
    if not (isinstance(parts, list) and len(parts) == 1 and isinstance(parts[0], dict)):
        return None
    text = parts[0].get("text")
    return text if isinstance(text, str) and set(parts[0]) <= {"type", "text", "cache_control"} else None


def _message_text(segments: Sequence[Segment], index: int) -> str:
    message = segments[index].message
    return "".join(segment.body for segment in segments[index:] if segment.message == message)


def _same_arguments(before: str, after: str) -> bool:
    """Whether two tool calls differ in nothing but the way their arguments are written."""
    old, new = _object(before), _object(after)
    if old is None or new is None or before == after:
        return False
    first, second = _arguments(old), _arguments(new)
    if first is None or second is None or not same_json(first[0], second[0]):
        return False
    return first[0] != second[0] and first[1] == second[1]


def _arguments(call: Mapping[str, Any]) -> tuple[str, object] | None:
    """Return a tool call's arguments as text and the rest of the call."""
    function = call.get("function")
    if isinstance(function, Mapping) and isinstance(function.get("arguments"), str):
        return function["arguments"], {**call, "function": {**function, "arguments": ""}}
    if isinstance(call.get("arguments"), str):
        return call["arguments"], {**call, "arguments": ""}
    if str(call.get("type")).endswith("tool_use") and "input" in call:
        return json.dumps(call["input"]), {**call, "input": None}
    return None


def _reasoning_finding(earlier: Sequence[Segment], later: Sequence[Segment], index: int) -> Finding | None:
    before, after = earlier[index], later[index]
    if before.role != "assistant":
        return None
    block, other = _object(before.body), _object(after.body)
    if block and _is_reasoning(block) and not (other and _is_reasoning(other)):
        return Finding("PC505", {"dropped": block["type"]})
    if block and other and (sealed := _lost_seal(block, other)):
        return Finding("PC505", {"dropped": sealed})
    extra, kept = _object(before.extra) or {}, _object(after.extra) or {}
    lost = [key for key in _REASONING_KEYS if key in extra and key not in kept]
    if lost and before.text == after.text:
        return Finding("PC505", {"dropped": lost[0]})
    if _THINK.search(before.body) and _THINK.sub("", before.body).strip() == after.body.strip():
        return Finding("PC505", {"dropped": "think"})
    return None


def _lost_seal(block: Mapping[str, Any], other: Mapping[str, Any]) -> str | None:
    """The signature or cipher text of a thought that came back without it."""
    if not (_is_reasoning(block) and _is_reasoning(other)):
        return None
    return next((key for key in _SEALS if block.get(key) and not other.get(key)), None)


def _is_reasoning(block: Mapping[str, Any]) -> bool:
    return str(block.get("type")) in _REASONING_TYPES


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
    block = _object(segment.body)
    return segment.role == "tool" or bool(block and str(block.get("type")).endswith("tool_result"))


def _moved_findings(
    step: Step, earlier: Sequence[Segment], later: Sequence[Segment], index: int
) -> list[Finding]:
    old, new = earlier[index:], later[index:]
    dropped = _messages_in(old[: step.removed])
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


def _object(text: str) -> dict[str, Any] | None:
    if not text.startswith("{"):
        return None
    try:
        value = json.loads(text)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None
