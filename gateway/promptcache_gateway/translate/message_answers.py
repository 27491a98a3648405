"""A chat completion's answer as an Anthropic message, whole or event by event."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from promptcache.usage import Usage
from promptcache_gateway.error_shapes import error_event
from promptcache_gateway.translate.blocks import Blocks, call_name
from promptcache_gateway.translate.chat_forms import plain
from promptcache_gateway.translate.counts import anthropic_usage, engine_usage
from promptcache_gateway.translate.cut_json import arguments_object
from promptcache_gateway.translate.events import named_event
from promptcache_gateway.translate.joined import Joined

if TYPE_CHECKING:
    from collections.abc import Mapping

    from promptcache_gateway.errors import ApiError
    from promptcache_gateway.exchange import EngineFacts

_STOP_REASONS = {
    "stop": "end_turn",
    "length": "max_tokens",
    "tool_calls": "tool_use",
    "function_call": "tool_use",
}
_ENDED = frozenset({"stop", None})


def stop_of(choice: Mapping[str, Any], refused: str = "", *, called: bool = False) -> dict[str, Any]:
    """Why an answer ended, in Anthropic's fields.

    The stop sequence is there where the server named it (vLLM does). ``refused`` is what the model said
    instead of an answer, ``called`` whether it calls tools: a chat may end with either and say no more
    than ``stop``, as OpenAI's do with a call of the tool that ``tool_choice`` names.
    """
    finish, matched = choice.get("finish_reason"), choice.get("stop_reason")
    if finish == "content_filter" or (refused and finish in _ENDED):
        details = {"type": "refusal", "category": None, "explanation": refused or None}
        return {"stop_reason": "refusal", "stop_sequence": None, "stop_details": details}
    if called and finish in _ENDED:
        return {"stop_reason": "tool_use", "stop_sequence": None}
    if finish == "stop" and isinstance(matched, str):
        return {"stop_reason": "stop_sequence", "stop_sequence": matched}
    return {"stop_reason": _STOP_REASONS.get(str(finish), "end_turn"), "stop_sequence": None}


def to_message(
    answer: Mapping[str, Any], model: str, name: str, usage: Usage | None = None
) -> dict[str, Any]:
    """A whole answer.

    Args:
        answer: the chat completion.
        model: the model's name as the caller wrote it, for an answer that has none.
        name: an id for an answer that has none.
        usage: what it used, as its upstream means it; else what it says itself.
    """
    choices = answer.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], dict) else {}
    said = choice.get("message")
    message = plain(said) if isinstance(said, dict) else {}
    return {
        "id": answer.get("id") or name,
        "type": "message",
        "role": "assistant",
        "model": answer.get("model") or model,
        "content": _content(message, name),
        **stop_of(choice, refusal_of(message), called=bool(message.get("tool_calls"))),
        "usage": anthropic_usage(usage or Usage.from_response(answer)),
    }


def _content(message: Mapping[str, Any], name: str) -> list[dict[str, Any]]:
    blocks: list[dict[str, Any]] = []
    thought = thought_of(message)
    if thought:
        blocks.append({"type": "thinking", "thinking": thought, "signature": ""})
    blocks.extend({"type": "text", "text": text} for _, text in texts_of(message))
    for number, call in enumerate(message.get("tool_calls") or ()):
        function = call.get("function") or {}
        blocks.append(
            {
                "type": "tool_use",
                "id": call.get("id") or call_name(name, number),
                "name": function.get("name") or "",
                "input": arguments_object(function.get("arguments")),
            }
        )
    return blocks


def texts_of(said: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What is said, as ``text``, and what is said instead of it, as ``refusal``."""
    told = (("text", said.get("content")), ("refusal", refusal_of(said)))
    return [(kind, text) for kind, text in told if isinstance(text, str) and text]


def refusal_of(said: Mapping[str, Any]) -> str:
    """What a message, or a piece of one, says instead of an answer."""
    refusal = said.get("refusal")
    return refusal if isinstance(refusal, str) else ""


def thought_of(said: Mapping[str, Any]) -> str:
    """Reasoning as vLLM, SGLang and DeepSeek report it."""
    thought = said.get("reasoning_content") or said.get("reasoning")
    return thought if isinstance(thought, str) else ""


class MessageEvents:
    """Translates a chat completion's chunks into a message's events."""

    def __init__(self, model: str, name: str, engine: EngineFacts | None) -> None:
        self._model = model
        self._name = name
        self._engine = engine
        self._started = False
        self._blocks = Blocks(name)
        self._last: Mapping[str, Any] = {}
        self._refusal = Joined()
        self._refused = 0
        self._called = False

    @property
    def held(self) -> int:
        """Characters of arguments and of a refusal that were gathered."""
        return self._blocks.held + self._refused

    def take(self, event: dict[str, Any]) -> bytes:
        """The events for one chunk."""
        out = [] if self._started else [self._start(event)]
        for choice in event.get("choices") or ():
            if choice.get("index", 0) != 0:
                continue
            delta = plain(choice.get("delta") or {})
            if thought := thought_of(delta):
                out.append(self._blocks.text("thinking", thought))
            out.extend(self._blocks.text(kind, text) for kind, text in texts_of(delta))
            if refusal := refusal_of(delta):
                self._refusal.add(refusal)
                self._refused += len(refusal)
            for call in delta.get("tool_calls") or ():
                self._called = True
                out.append(self._call(call))
            if choice.get("finish_reason") is not None:
                self._last = choice
        return b"".join(out)

    def end(self, usage: Usage) -> bytes:
        """Blocks closed, stop reason, usage, and the last event."""
        out = [] if self._started else [self._start({})]
        out.append(self._blocks.end())
        delta = stop_of(self._last, self._refusal.text(), called=self._called)
        out.append(named_event({"type": "message_delta", "delta": delta, "usage": anthropic_usage(usage)}))
        out.append(named_event({"type": "message_stop"}))
        return b"".join(out)

    def fail(self, error: ApiError) -> bytes:
        """Anthropic's error event."""
        return error_event(error, "anthropic.messages")

    def _start(self, event: Mapping[str, Any]) -> bytes:
        self._started = True
        message: dict[str, Any] = {
            "id": event.get("id") or self._name,
            "type": "message",
            "role": "assistant",
            "model": event.get("model") or self._model,
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": engine_usage(self._engine),
        }
        return named_event({"type": "message_start", "message": message})

    def _call(self, call: Mapping[str, Any]) -> bytes:
        function = call.get("function") or {}
        arguments = function.get("arguments")
        return self._blocks.call(
            call.get("index", 0),
            call.get("id") or "",
            function.get("name") or "",
            arguments if isinstance(arguments, str) else "",
        )
