"""An Anthropic message as a chat completion's answer, whole or chunk by chunk."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

from promptcache.usage import Usage
from promptcache_gateway.error_shapes import error_event
from promptcache_gateway.exact_json import dumps
from promptcache_gateway.translate.counts import openai_usage
from promptcache_gateway.translate.events import DONE, data_event
from promptcache_gateway.translate.joined import Joined

if TYPE_CHECKING:
    from collections.abc import Mapping

    from promptcache_gateway.errors import ApiError

_FINISH_REASONS = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "pause_turn": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "tool_use": "tool_calls",
    "refusal": "content_filter",
}


def finish_of(reason: object) -> str:
    """OpenAI's finish reason of Anthropic's stop reason."""
    return _FINISH_REASONS.get(str(reason), "stop")


def explanation_of(ended: Mapping[str, Any]) -> str | None:
    """Why the model gave no answer, where a message, or its last delta, says it."""
    details = ended.get("stop_details")
    explanation = details.get("explanation") if isinstance(details, dict) else None
    return explanation if isinstance(explanation, str) and explanation else None


def written(arguments: object) -> str:
    """The input of a call as the text that a chat has of it."""
    return dumps(arguments).decode()


def to_completion(
    message: Mapping[str, Any], model: str, name: str, created: int, usage: Usage | None = None
) -> dict[str, Any]:
    """A whole answer.

    Args:
        message: Anthropic's message.
        model: the model's name as the caller wrote it, for an answer that has none.
        name: an id for an answer that has none.
        created: Unix time in whole seconds.
        usage: what it used, as its upstream means it; else what it says itself.
    """
    choice = {
        "index": 0,
        "message": _said(message.get("content") or (), explanation_of(message)),
        "logprobs": None,
        "finish_reason": finish_of(message.get("stop_reason")),
    }
    return {
        "id": message.get("id") or name,
        "object": "chat.completion",
        "created": created,
        "model": message.get("model") or model,
        "choices": [choice],
        "usage": openai_usage(usage or Usage.from_response(message)),
    }


def _said(blocks: Any, refusal: str | None) -> dict[str, Any]:
    texts: list[str] = []
    calls: list[dict[str, Any]] = []
    thoughts: list[dict[str, Any]] = []
    for block in blocks:
        kind = block.get("type")
        if kind == "text":
            texts.append(block.get("text") or "")
        elif kind == "tool_use":
            function = {"name": block.get("name") or "", "arguments": written(block.get("input") or {})}
            calls.append({"id": block.get("id") or "", "type": "function", "function": function})
        elif kind in {"thinking", "redacted_thinking"}:
            thoughts.append(block)
    said: dict[str, Any] = {
        "role": "assistant",
        "content": "".join(texts) if texts else None,
        "refusal": refusal,
    }
    if thoughts:
        said["reasoning_content"] = "".join(thought.get("thinking") or "" for thought in thoughts)
        said["thinking_blocks"] = thoughts  # with their signatures, to be sent back with the next turn
    if calls:
        said["tool_calls"] = calls
    return said


class CompletionChunks:
    """Translates a message's events into a chat completion's chunks.

    Attributes:
        held: characters that were gathered.
    """

    def __init__(self, model: str, name: str, created: int, *, include_usage: bool) -> None:
        """``include_usage``: whether the caller asked for a last chunk with the usage."""
        self._head = {"id": name, "object": "chat.completion.chunk", "created": created, "model": model}
        self._include_usage = include_usage
        self._calls: dict[int, int] = {}
        self._unsaid: dict[int, Any] = {}  # the input of calls whose arguments have not begun, by block
        self._thoughts: dict[int, dict[str, Any]] = {}
        self._thought_texts: defaultdict[int, Joined] = defaultdict(Joined)
        self._told = 0  # thoughts that went to the caller
        self._finish = "stop"
        self.held = 0

    def take(self, event: dict[str, Any]) -> bytes:
        """The chunks for one event."""
        match event.get("type"):
            case "message_start":
                return self._start(event.get("message") or {})
            case "content_block_start":
                return self._open(event.get("index", 0), event.get("content_block") or {})
            case "content_block_delta":
                return self._delta(event.get("index", 0), event.get("delta") or {})
            case "content_block_stop":
                return self._close(event.get("index", 0))
            case "message_delta":
                return self._ended(event.get("delta") or {})
            case "ping":
                return b": ping\n\n"
            case _:
                return b""

    def end(self, usage: Usage) -> bytes:
        """Finish reason, usage where asked for and reported, and ``[DONE]``."""
        out = self._chunk({}, self._finish)
        if self._include_usage and (told := openai_usage(usage)) is not None:
            out += data_event({**self._head, "choices": [], "usage": told})
        return out + DONE

    def fail(self, error: ApiError) -> bytes:
        """OpenAI's error event."""
        return error_event(error, "openai.chat")

    def _start(self, message: Mapping[str, Any]) -> bytes:
        for field in ("id", "model"):
            if message.get(field):
                self._head[field] = message[field]
        return self._chunk({"role": "assistant", "content": "", "refusal": None})

    def _open(self, index: int, block: Mapping[str, Any]) -> bytes:
        if block.get("type") == "tool_use":
            number = self._calls[index] = len(self._calls)
            self._unsaid[index] = block.get("input") or {}
            function = {"name": block.get("name") or "", "arguments": ""}
            call = {"index": number, "id": block.get("id") or "", "type": "function", "function": function}
            return self._chunk({"tool_calls": [call]})
        if block.get("type") in {"thinking", "redacted_thinking"}:
            more = {"thinking": block.get("thinking") or ""} if block["type"] == "thinking" else {}
            self._thoughts[index] = {**block, **more}
            return b""
        text = block.get("text")
        return self._chunk({"content": text}) if text else b""

    def _delta(self, index: int, delta: Mapping[str, Any]) -> bytes:
        match delta.get("type"):
            case "text_delta":
                return self._chunk({"content": delta.get("text") or ""})
            case "thinking_delta":
                thought = delta.get("thinking") or ""
                self._thought(index)
                self._thought_texts[index].add(thought)
                self.held += len(thought)
                return self._chunk({"reasoning_content": thought})
            case "signature_delta":
                self._thought(index)["signature"] = delta.get("signature") or ""
                return b""
            case "input_json_delta" if index in self._calls:
                return self._arguments(index, delta.get("partial_json") or "")
            case _:
                return b""

    def _close(self, index: int) -> bytes:
        if index in self._thoughts:
            block = self._thoughts.pop(index)
            if index in self._thought_texts:
                block["thinking"] += self._thought_texts.pop(index).text()
            numbered = {"index": self._told, **block}  # OpenAI's client puts no list together without
            self._told += 1
            return self._chunk({"thinking_blocks": [numbered]})
        # A call without deltas has its input, mostly none, where it started; a chat's arguments are JSON.
        return self._arguments(index, written(self._unsaid[index])) if index in self._unsaid else b""

    def _arguments(self, index: int, text: str) -> bytes:
        if text:
            self._unsaid.pop(index, None)
        return self._chunk({"tool_calls": [{"index": self._calls[index], "function": {"arguments": text}}]})

    def _ended(self, delta: Mapping[str, Any]) -> bytes:
        reason, refusal = delta.get("stop_reason"), explanation_of(delta)
        self._finish = finish_of(reason) if reason is not None else self._finish
        return b"" if refusal is None else self._chunk({"refusal": refusal})

    def _thought(self, index: int) -> dict[str, Any]:
        """The block of a thought, which goes to the caller whole, to be sent back with the next turn."""
        return self._thoughts.setdefault(index, {"type": "thinking", "thinking": "", "signature": ""})

    def _chunk(self, delta: dict[str, Any], finish: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        chunk = {**self._head, "choices": [choice]}
        return data_event({**chunk, "usage": None} if self._include_usage else chunk)
