"""The forms in which servers write a chat's message, or a piece of one, brought to one.

What is made of it is the business of those who translate answers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from promptcache_gateway.exact_json import dumps

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


def plain(said: Mapping[str, Any]) -> Mapping[str, Any]:
    """A message or a delta whose content is a text, and whose calls are ``tool_calls``.

    Mistral's reasoning models answer with a list of parts, thoughts among them; a ``function_call`` is what
    ``tool_calls`` were before there could be several; arguments may come as an object, not as its text. Parts
    of other kinds hold no text and are left out.
    """
    content = said.get("content")
    if isinstance(content, list):
        said = {**said, "content": _text(content, "text")}
        for field, kind in (("reasoning_content", "thinking"), ("refusal", "refusal")):
            if text := _text(content, kind):
                said[field] = text
    if calls := said.get("tool_calls"):
        return {**said, "tool_calls": [_with_text(call) for call in calls]}
    if function := said.get("function_call"):
        call = {"index": 0, "type": "function", "function": function}
        return {**said, "tool_calls": [_with_text(call)]}
    return said


def _with_text(call: Mapping[str, Any]) -> Mapping[str, Any]:
    """A call whose arguments are a text, where they came as the object itself."""
    function = call.get("function") or {}
    arguments = function.get("arguments")
    if not isinstance(arguments, dict):
        return call
    return {**call, "function": {**function, "arguments": dumps(arguments).decode()}}


def _text(parts: Iterable[Any], kind: str) -> str:
    """The text of the parts of one kind; a thought's is a list of parts itself."""
    told: list[str] = []
    for part in parts:
        if part["type"] == kind:
            inner = part.get(kind)
            told.append((_text(inner, "text") if isinstance(inner, list) else inner) or "")
    return "".join(told)


def begins_another(name: object, function: object, known: object) -> bool:
    """Whether a piece of a tool call is of another one than the last piece of the same number was.

    Some servers number all calls of an answer 0, and one that names call and function again begins a new one.

    Args:
        name: the id in the piece, if any.
        function: the function's name in it, if any.
        known: the id of the call before.
    """
    return bool(name and function and name != known)
