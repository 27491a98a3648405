"""Takes what a model answered and keeps exactly that: SDK objects, dicts, lists of items, or text.

Answers are recognized by their form, not by importing the SDKs. From an object only what the server sent is
kept (nothing an SDK fills in), and of that only what may be sent back.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from promptcache.errors import ReplayError
from promptcache.turns import streams
from promptcache.turns.entries import AssistantEntry, compact

_NOT_SENT_BACK: Final = frozenset({"annotations", "function_call", "audio", "refusal", "parsed"})
"""Fields of an OpenAI answer that mean nothing, or are refused, when empty in a request."""
_REMEDY: Final = "Give the SDK's response object, its message, a dict of either, or text."


def entry_of(answer: Any) -> AssistantEntry:
    """Return the assistant entry that replays ``answer``; raises `ReplayError` when it holds no answer."""
    if isinstance(answer, str):
        return AssistantEntry("text", compact(answer))
    if isinstance(answer, Iterator):
        answer = list(answer)
    value = _plain(answer)
    if _is_list_of_objects(value) and streams.is_stream(value):
        return _from_mapping(_joined(value), generated=True)
    if isinstance(value, Mapping):
        return _from_mapping(value, generated=not isinstance(answer, Mapping))
    if _is_list_of_objects(value):
        return _from_items(list(value))
    raise ReplayError(f"A {type(answer).__name__} is no answer of a model.", remedy=_REMEDY)


def _is_list_of_objects(value: Any) -> bool:
    return isinstance(value, Sequence) and bool(value) and all(isinstance(item, Mapping) for item in value)


def _joined(events: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    try:
        return streams.joined(events)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ReplayError(f"The stream's events have no known form ({error}).", remedy=_REMEDY) from None


def _from_mapping(value: Mapping[str, Any], *, generated: bool) -> AssistantEntry:
    if "choices" in value:
        return _openai(_message_of(value), generated=True)
    if "candidates" in value:
        return _frozen("gemini", _gemini_parts(value))
    if value.get("role") == "model" and isinstance(value.get("parts"), list):
        return _frozen("gemini", value["parts"])
    if isinstance(value.get("output"), list):
        return _frozen("responses", [_without_none(item) for item in value["output"]])
    if value.get("type") == "message" and isinstance(value.get("content"), list):
        blocks = value["content"]
        if any(block.get("type") == "output_text" for block in blocks):
            return _frozen("responses", [dict(value)])
        return _frozen("anthropic", [_without_none(block) for block in blocks])
    if value.get("role") != "assistant":
        raise ReplayError(f"The answer's role is {value.get('role')!r}, not 'assistant'.", remedy=_REMEDY)
    content = value.get("content")
    if isinstance(content, list) and any(_is_anthropic(block) for block in content):
        return _frozen("anthropic", content)
    return _openai(value, generated=generated)


def _from_items(items: list[Mapping[str, Any]]) -> AssistantEntry:
    if any(item.get("type") in {"message", "function_call", "reasoning"} for item in items):
        return _frozen("responses", items)
    if all("type" in item for item in items):
        return _frozen("anthropic", items)
    raise ReplayError("The list holds neither content blocks nor output items.", remedy=_REMEDY)


def _gemini_parts(value: Mapping[str, Any]) -> list[Any]:
    candidates = value["candidates"]
    content = candidates[0].get("content") if candidates else None
    parts = content.get("parts") if isinstance(content, Mapping) else None
    if not parts:
        raise ReplayError("The response holds no candidate's parts.", remedy=_REMEDY)
    return [_without_none(part) for part in parts]


def _message_of(value: Mapping[str, Any]) -> Mapping[str, Any]:
    choices = value["choices"]
    message = choices[0].get("message") if choices and isinstance(choices[0], Mapping) else None
    if not isinstance(message, Mapping):
        raise ReplayError(
            "The response holds no message (a stream's chunk?).", remedy="Give the complete response."
        )
    return message


def _openai(message: Mapping[str, Any], *, generated: bool) -> AssistantEntry:
    kept = {"role": "assistant", **message}
    if generated:
        kept = {key: value for key, value in kept.items() if value or key not in _NOT_SENT_BACK}
    _require_calls(kept.get("tool_calls"))
    return _frozen("openai", kept)


def _require_calls(calls: Any) -> None:
    for call in calls or ():
        function = call.get("function") if isinstance(call, Mapping) else None
        if isinstance(function, Mapping) and not isinstance(function.get("arguments"), str):
            raise ReplayError(
                "A tool call's arguments are not the string the model wrote.",
                remedy="Keep the arguments unparsed; writing them again changes the tokens.",
            )


def _is_anthropic(block: Any) -> bool:
    kinds = {"tool_use", "thinking", "redacted_thinking", "server_tool_use"}
    return isinstance(block, Mapping) and block.get("type") in kinds


def _without_none(item: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in item.items() if value is not None}


def _frozen(dialect: Any, value: Any) -> AssistantEntry:
    try:
        return AssistantEntry(dialect, compact(value))
    except (TypeError, ValueError) as error:
        raise ReplayError(f"The answer is not JSON ({error}).", remedy=_REMEDY) from None


def _plain(answer: Any) -> Any:
    """Return dicts and lists of an SDK's object; what the server did not send is left out."""
    if isinstance(answer, (list, tuple)):
        return [_plain(item) for item in answer]
    dump = getattr(answer, "model_dump", None)
    if callable(dump) and not isinstance(answer, type):
        return dump(mode="json", by_alias=True, exclude_unset=True, warnings=False)
    return answer
