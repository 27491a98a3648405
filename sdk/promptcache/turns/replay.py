"""Takes what a model answered and keeps exactly that: SDK objects, dicts, lists of items, or text.

Answers are recognized by their form, not by importing the SDKs. From an object only what the server sent is
kept (nothing an SDK fills in), and of that only what may be sent back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from promptcache.errors import ReplayError
from promptcache.turns import streams
from promptcache.turns.entries import AssistantEntry, Dialect, compact
from promptcache.turns.wellformed import is_block, is_item, require_wellformed

_NOT_SENT_BACK: Final = frozenset({"annotations", "function_call", "audio", "refusal", "tool_calls"})
"""Fields of an OpenAI answer that mean nothing, or are refused, when empty in a request."""
_NEVER_SENT: Final = frozenset({"parsed", "parsed_arguments", "parsed_output"})
"""Fields in which the SDKs put what they parsed themselves; no server sent them or takes them."""
_REMEDY: Final = "Give the SDK's response object, its message, a dict of either, or text."


def entry_of(answer: Any) -> AssistantEntry:
    """Return the assistant entry that replays ``answer``; raises `ReplayError` when it holds no answer."""
    if isinstance(answer, str):
        return _frozen("text", answer)
    if isinstance(answer, Iterator):
        answer = list(answer)
    value = _plain(answer)
    if _is_list_of_objects(value):
        value = streams.unwrapped(value)
        if streams.is_stream(value):
            return _from_mapping(_joined(value), generated=True)
        return _from_items(list(value))
    if isinstance(value, Mapping):
        return _from_mapping(value, generated=not isinstance(answer, Mapping))
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
        return _gemini(_content_of(value))
    if value.get("role") == "model" and "parts" in value:
        return _gemini(value)
    if "output" in value:
        return _responses(value["output"])
    role = value.get("role", "assistant" if value.get("type") == "message" else None)
    if role != "assistant":
        raise ReplayError(f"The answer's role is {role!r}, not 'assistant'.", remedy=_REMEDY)
    content = value.get("content")
    blocks = content if isinstance(content, list) else []
    kinds = [block.get("type") if isinstance(block, Mapping) else None for block in blocks]
    if value.get("type") == "message":
        if "output_text" in kinds or "refusal" in kinds:
            return _responses([dict(value)])
        return _frozen("anthropic", _each(content, _block))
    if any(kind != "text" and is_block(kind) for kind in kinds):
        return _frozen("anthropic", _each(content, _without_parsed))
    return _openai(value, generated=generated)


def _from_items(items: list[Mapping[str, Any]]) -> AssistantEntry:
    kinds = [item.get("type") for item in items]
    if any(is_item(kind) and not is_block(kind) for kind in kinds):
        return _responses(items)
    if all(is_block(kind) for kind in kinds):
        return _frozen("anthropic", _each(items, _without_parsed))
    odd = next(kind for kind in kinds if not is_block(kind))
    raise ReplayError(
        f"The list holds neither content blocks nor output items (type {odd!r}).", remedy=_REMEDY
    )


def _content_of(value: Mapping[str, Any]) -> Mapping[str, Any]:
    candidates = value["candidates"]
    first = candidates[0] if isinstance(candidates, list) and candidates else None
    content = first.get("content") if isinstance(first, Mapping) else None
    if not isinstance(content, Mapping) or not content.get("parts"):
        raise ReplayError("The response holds no candidate's parts.", remedy=_REMEDY)
    return content


def _gemini(content: Mapping[str, Any]) -> AssistantEntry:
    if content.get("role") not in {None, "model"}:
        raise ReplayError(f"The answer's role is {content['role']!r}, not 'model'.", remedy=_REMEDY)
    return _frozen("gemini", _each(content["parts"], _without_none))


def _responses(items: Any) -> AssistantEntry:
    return _frozen("responses", _each(items, _item))


def _message_of(value: Mapping[str, Any]) -> Mapping[str, Any]:
    choices = value["choices"]
    first = choices[0] if isinstance(choices, list) and choices else None
    message = first.get("message") if isinstance(first, Mapping) else None
    if not isinstance(message, Mapping):
        raise ReplayError(
            "The response holds no message (a stream's chunk?).", remedy="Give the complete response."
        )
    return message


def _openai(message: Mapping[str, Any], *, generated: bool) -> AssistantEntry:
    kept = {"role": "assistant", **_without_parsed(message)}
    if generated:
        kept = {key: value for key, value in kept.items() if value or key not in _NOT_SENT_BACK}
    if kept.get("tool_calls", ()) in (None, []):
        del kept["tool_calls"]
    if isinstance(kept.get("tool_calls"), list):
        kept["tool_calls"] = _each(kept["tool_calls"], _tool_call)
    return _frozen("openai", kept)


def _tool_call(call: Mapping[str, Any]) -> dict[str, Any]:
    function = call.get("function")
    return {**call, "function": _without_parsed(function)} if isinstance(function, Mapping) else dict(call)


def _item(item: Mapping[str, Any]) -> dict[str, Any]:
    """Return an item of Responses' output without what the SDK parsed, and without nulls."""
    kept = _without_none(_without_parsed(item))
    if isinstance(kept.get("content"), list):
        kept["content"] = _each(kept["content"], _without_parsed)
    return kept


def _block(block: Mapping[str, Any]) -> dict[str, Any]:
    return _without_none(_without_parsed(block))


def _each(values: Any, write: Callable[[Mapping[str, Any]], dict[str, Any]]) -> Any:
    """Write each object of a list; what is neither is left to be refused with its place."""
    if not isinstance(values, list):
        return values
    return [write(value) if isinstance(value, Mapping) else value for value in values]


def _without_none(item: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in item.items() if value is not None}


def _without_parsed(item: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in item.items() if key not in _NEVER_SENT}


def _frozen(dialect: Dialect, value: Any) -> AssistantEntry:
    require_wellformed(dialect, value)
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
