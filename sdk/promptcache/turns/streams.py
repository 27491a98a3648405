"""Puts the events of a stream together to the answer they tell, as the server would have sent it whole.

Knows the streams of OpenAI chat and Responses, of Anthropic messages and of Gemini, by their form. Texts are
joined, nothing else is touched; what an answer is made of is the business of `promptcache.turns.replay`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from promptcache.errors import ReplayError

if TYPE_CHECKING:
    from collections.abc import Sequence

_SAID_ONCE: Final = frozenset({"role", "id", "type", "name", "index"})
"""Fields that come whole; some servers repeat them in every chunk."""
_FAILED: Final = frozenset({"error", "response.failed"})
_CUT_OFF: Final = "Append an answer only when its stream has ended; otherwise ask again."


def unwrapped(items: Sequence[Mapping[str, Any]]) -> Sequence[Mapping[str, Any]]:
    """Return the chunks in events of OpenAI's helper ``stream()``, which wraps each one; others unchanged."""
    chunks = [item["chunk"] for item in items if item.get("type") == "chunk" and "chunk" in item]
    return [chunk for chunk in chunks if isinstance(chunk, Mapping)] or items


def is_stream(items: Sequence[Mapping[str, Any]]) -> bool:
    """Tell whether these are events of a stream, and not the parts of an answer."""
    return any(_is_chunk(item) or _is_event(item) for item in items)


def joined(events: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    """Return the answer in whole.

    Raises `ReplayError` when the stream holds none, tells of an error, or broke off inside a tool call or a
    thought: half of one cannot be sent back. Text that broke off can.
    """
    if any(event.get("type") in _FAILED for event in events):
        raise ReplayError("The stream tells of an error.", remedy=_CUT_OFF)
    if any("choices" in event for event in events):
        return {"choices": [{"message": _openai_message(events)}]}
    if any("candidates" in event for event in events):
        return {"candidates": [{"content": {"role": "model", "parts": _gemini_parts(events)}}]}
    if any(str(event.get("type")).startswith("response.") for event in events):
        return {"output": _response_items(events)}
    return {"type": "message", "role": "assistant", "content": _anthropic_blocks(events)}


def _is_chunk(item: Mapping[str, Any]) -> bool:
    choices = item.get("choices")
    return "candidates" in item or (isinstance(choices, list) and all("delta" in one for one in choices))


def _is_event(item: Mapping[str, Any]) -> bool:
    kind = str(item.get("type"))
    return kind.startswith(("response.", "message_start", "content_block_"))


# --- OpenAI chat -----------------------------------------------------------------------------------------


def _openai_message(chunks: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant"}
    finished = None
    for choice in (choice for chunk in chunks for choice in chunk.get("choices") or ()):
        if choice.get("index", 0) == 0:
            _add(message, choice.get("delta") or {})
            finished = choice.get("finish_reason") or finished
    if message.get("tool_calls") and not finished:
        raise ReplayError("The stream ended inside a tool call.", remedy=_CUT_OFF)
    _require(message.keys() - {"role"})
    for call in message.get("tool_calls") or ():
        call.pop("index", None)
    return message


def _add(whole: dict[str, Any], delta: Mapping[str, Any]) -> None:
    for key, value in delta.items():
        old = whole.get(key)
        if old is None or (key in _SAID_ONCE and value):
            whole[key] = value if not isinstance(value, list) else []
        elif isinstance(value, str) and isinstance(old, str) and key not in _SAID_ONCE:
            whole[key] = old + value
        elif isinstance(value, dict) and isinstance(old, dict):
            whole[key] = dict(old)
            _add(whole[key], value)
        if isinstance(value, list):
            whole[key] = [*whole[key]] if isinstance(whole[key], list) else []
            _add_items(whole[key], value)


def _add_items(whole: list[Any], items: Sequence[Any]) -> None:
    """Join items that say at which place they belong; others are appended."""
    for item in items:
        index = item.get("index") if isinstance(item, dict) else None
        same = [one for one in whole if isinstance(one, dict) and one.get("index") == index]
        if index is None or not same:
            whole.append(dict(item) if isinstance(item, dict) else item)
        else:
            _add(same[0], item)


# --- Anthropic -------------------------------------------------------------------------------------------


def _anthropic_blocks(events: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    blocks: dict[int, dict[str, Any]] = {}
    inputs: dict[int, str] = {}
    for event in events:
        if event.get("type") == "content_block_start":
            blocks[event["index"]] = dict(event["content_block"])
        elif event.get("type") == "content_block_delta" and event["index"] in blocks:
            delta = event["delta"]
            if delta.get("type") == "input_json_delta":
                inputs[event["index"]] = inputs.get(event["index"], "") + delta["partial_json"]
            else:
                _add_block(blocks[event["index"]], delta)
    ended = {event["index"] for event in events if event.get("type") == "content_block_stop"}
    for index, block in blocks.items():
        if index not in ended and ("input" in block or block.get("type") == "thinking"):
            what = "tool call" if "input" in block else "thought"
            raise ReplayError(f"The stream ended inside a {what}.", remedy=_CUT_OFF)
    for index, text in inputs.items():
        if text:
            blocks[index]["input"] = json.loads(text)
    _require(blocks)
    return [blocks[index] for index in sorted(blocks)]


def _add_block(block: dict[str, Any], delta: Mapping[str, Any]) -> None:
    if delta.get("type") == "citations_delta":
        block["citations"] = [*(block.get("citations") or ()), delta["citation"]]
        return
    for key, value in delta.items():
        if key != "type" and isinstance(value, str):
            block[key] = (block.get(key) or "") + value


def _require(content: object) -> None:
    if not content:
        raise ReplayError("The stream holds no answer.", remedy=_CUT_OFF)


# --- OpenAI Responses, Gemini ----------------------------------------------------------------------------


def _response_items(events: Sequence[Mapping[str, Any]]) -> list[Any]:
    for event in events:
        response = event.get("response")
        if event.get("type") in {"response.completed", "response.incomplete"} and response:
            return list(response["output"])
    done = [event for event in events if event.get("type") == "response.output_item.done"]
    _require(done)
    return [event["item"] for event in sorted(done, key=lambda event: event.get("output_index", 0))]


def _gemini_parts(events: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Join texts that follow one another; a part with a signature or anything else stays alone."""
    parts: list[dict[str, Any]] = []
    for event in events:
        for candidate in (event.get("candidates") or ())[:1]:
            for part in (candidate.get("content") or {}).get("parts") or ():
                if (
                    parts
                    and _is_plain(part)
                    and _is_plain(parts[-1])
                    and _thought(part) == _thought(parts[-1])
                ):
                    parts[-1] = {**parts[-1], "text": parts[-1]["text"] + part["text"]}
                else:
                    parts.append(dict(part))
    _require(parts)
    return parts


def _is_plain(part: Mapping[str, Any]) -> bool:
    return isinstance(part.get("text"), str) and part.keys() <= {"text", "thought"}


def _thought(part: Mapping[str, Any]) -> bool:
    return bool(part.get("thought"))
