"""Evidence that a message is the one that was sent, in another dress: other parts, other JSON, no reasoning.

What a message became that says something else is `history`'s business.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from promptcache.divergence.change import Change
from promptcache.divergence.evidence import Finding
from promptcache.divergence.json_text import json_finding, same_json
from promptcache.divergence.text import drift_finding

if TYPE_CHECKING:
    from collections.abc import Sequence

    from promptcache.segments import Segment

__all__ = ["is_reasoning", "object_in", "result_shape", "same_arguments", "same_message"]

_THINK = re.compile(r"<(think|thinking|reasoning)>.*?</\1>\s*", re.DOTALL)
_REASONING_KEYS = ("reasoning", "reasoning_content", "reasoning_details", "thinking", "thinking_blocks")
_SEALS = ("signature", "encrypted_content", "data")
_REASONING_TYPES = frozenset({"thinking", "redacted_thinking", "reasoning"})


def same_message(earlier: Sequence[Segment], later: Sequence[Segment], index: int) -> Finding | None:
    """What a message came back as that says the same, or had its reasoning dropped; None of another one."""
    before, after = earlier[index], later[index]
    if reasoning := _reasoning_finding(earlier, later, index):
        return reasoning
    if before.role == after.role and (flip := _flip_finding(earlier, later, index)):
        return flip
    if before.role != after.role:
        return None
    if same_arguments(before.body, after.body):
        return Finding("PC507")
    if shape := result_shape(before.body, after.body):
        return Finding("PC206", {"shape": shape})
    change = Change.between(before.body, after.body)
    return drift_finding(change) or json_finding(change)


def _flip_finding(earlier: Sequence[Segment], later: Sequence[Segment], index: int) -> Finding | None:
    """A message that was a string and is a list now, or the other way round, or in other parts."""
    before, after = earlier[index], later[index]
    parts = _parts(earlier, index), _parts(later, index)
    if (".content[" in before.place) == (".content[" in after.place) and len(parts[0]) == len(parts[1]):
        return None
    old, new = ("".join(part.body for part in side) for side in parts)
    if old != new and not drift_finding(Change.between(old, new)):
        return None
    if len(parts[0]) != len(parts[1]) and before.place == after.place:
        return Finding("PC206", {"parts": "joined" if len(parts[0]) > len(parts[1]) else "split"})
    shape = "list to string" if before.path.endswith("]") and ".content[" in before.path else ""
    return Finding("PC206", {"shape": shape or "string to list"})


def result_shape(before: str, after: str) -> str | None:
    """How a tool's result was wrapped otherwise, with the same text: once as a string, once as a list."""
    old, new = object_in(before), object_in(after)
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


def _parts(segments: Sequence[Segment], index: int) -> Sequence[Segment]:
    """The parts of a message from one of them on."""
    message = segments[index].message
    return [segment for segment in segments[index:] if segment.message == message]


def same_arguments(before: str, after: str) -> bool:
    """Whether two tool calls differ in nothing but the way their arguments are written."""
    old, new = object_in(before), object_in(after)
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
    block, other = object_in(before.body), object_in(after.body)
    if block and _names_reasoning(block) and not (other and _names_reasoning(other)):
        return Finding("PC505", {"dropped": block["type"]})
    if block and other and (sealed := _lost_seal(block, other)):
        return Finding("PC505", {"dropped": sealed})
    extra, kept = object_in(before.extra) or {}, object_in(after.extra) or {}
    lost = [key for key in _REASONING_KEYS if key in extra and key not in kept]
    if lost and before.text == after.text:
        return Finding("PC505", {"dropped": lost[0]})
    if _THINK.search(before.body) and _THINK.sub("", before.body).strip() == after.body.strip():
        return Finding("PC505", {"dropped": "think"})
    return None


def is_reasoning(segment: Segment) -> bool:
    """Whether a segment is a thought of the model and nothing else."""
    block = object_in(segment.body) if segment.role == "assistant" else None
    return block is not None and _names_reasoning(block)


def _lost_seal(block: Mapping[str, Any], other: Mapping[str, Any]) -> str | None:
    """The signature or cipher text of a thought that came back without it."""
    if not (_names_reasoning(block) and _names_reasoning(other)):
        return None
    return next((key for key in _SEALS if block.get(key) and not other.get(key)), None)


def _names_reasoning(block: Mapping[str, Any]) -> bool:
    return str(block.get("type")) in _REASONING_TYPES


def object_in(text: str) -> dict[str, Any] | None:
    """The JSON object that a text is; None of any other."""
    if not text.startswith("{"):
        return None
    try:
        value = json.loads(text)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None
