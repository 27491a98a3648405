"""From what a function returned, or a client was about to send, to one request body that can be compared."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

__all__ = ["MOST_ITEMS", "NoRequestError", "as_body", "yielded"]

_PROMPT_KEYS = ("messages", "input", "prompt", "instructions")
_ROLES = {"human": "user", "ai": "assistant", "developer": "developer", "model": "assistant"}


MOST_ITEMS = 10_000
"""A generator that yields more than this is taken for one without an end."""


class NoRequestError(Exception):
    """What came back is no request; ``found`` names its type, or is what ``says``."""

    def __init__(self, found: object, says: str = "") -> None:
        self.found = says or type(found).__name__
        super().__init__(self.found)


def as_body(value: Any) -> dict[str, Any]:
    """The request in ``value``, as plain JSON. Raises `NoRequestError`."""
    body = json.loads(json.dumps(_shaped(value), default=_plain, ensure_ascii=False))
    assert isinstance(body, dict)
    return body


def yielded(items: list[Any]) -> Any:
    """The one value that a generator's items make up: a text of its pieces, messages, or the one request.

    Raises `NoRequestError` where they make up none, its ``found`` saying why.
    """
    items = [item for item in items if item is not None]
    if len(items) > MOST_ITEMS:
        raise NoRequestError(items, f"it yields more than {MOST_ITEMS:,} items, so it may have no end")
    if len(items) == 1:
        return [items[0]] if _is_message(items[0]) and not _is_request(items[0]) else items[0]
    if items and all(isinstance(item, str) for item in items):
        return "".join(items)
    if items and all(isinstance(item, bytes) for item in items):
        return b"".join(items)
    if items and all(_is_message(item) and not _is_request(item) for item in items):
        return items
    kinds = ", ".join(dict.fromkeys(type(item).__name__ for item in items))
    if not items:
        raise NoRequestError(items, "it yields nothing")
    what = f"{len(items)} items ({kinds}) that make up no one request: name what yields or returns one"
    raise NoRequestError(items, f"it yields {what}")


def _is_request(item: Any) -> bool:
    return isinstance(item, dict) and "role" not in item and any(key in item for key in _PROMPT_KEYS)


def _shaped(value: Any) -> dict[str, Any]:
    match value:
        case str():
            return {"system": value, "messages": []}
        case bytes():
            return _shaped(value.decode("utf-8"))
        case dict():
            return _of_mapping(value)
        case list() if value and all(_is_message(item) for item in value):
            return {"messages": [_message(item) for item in value]}
        case tuple() if len(value) == 2 and isinstance(value[0], str) and isinstance(value[1], list):
            return {"system": value[0], **_shaped(value[1])}
        case _ if hasattr(value, "to_openai"):
            return _shaped(value.to_openai(model="any"))
        case _ if hasattr(value, "to_messages"):
            return _shaped(list(value.to_messages()))
        case _:
            plain = _plain(value, strict=True)
            if isinstance(plain, dict | list | str):
                return _shaped(plain)
            raise NoRequestError(value)


def _of_mapping(value: dict[Any, Any]) -> dict[str, Any]:
    if "contents" in value or "systemInstruction" in value:
        return _of_gemini(value)
    if isinstance(value.get("messages"), list):
        return {**value, "messages": [_message(item) for item in value["messages"]]}
    if any(key in value for key in _PROMPT_KEYS):
        return dict(value)
    if "system" in value:
        return {"messages": [], **value}
    raise NoRequestError(value)


def _of_gemini(value: dict[Any, Any]) -> dict[str, Any]:
    system = value.get("systemInstruction") or value.get("system_instruction") or {}
    contents = value.get("contents") or []
    known = {"systemInstruction", "system_instruction", "contents"}
    contents = [contents] if isinstance(contents, str | dict) else contents
    return {
        **{key: item for key, item in value.items() if key not in known},
        "system": _parts(system),
        "messages": [
            {"role": "user", "content": item}
            if isinstance(item, str)
            else {"role": _ROLES.get(item.get("role", "user"), "user"), "content": _parts(item)}
            for item in contents
        ],
    }


def _parts(content: Any) -> Any:
    if isinstance(content, str):
        return content
    return [
        {"type": "text", "text": part["text"]} if "text" in part else {"type": "part", **part}
        for part in content.get("parts") or []
    ]


def _is_message(item: Any) -> bool:
    if isinstance(item, dict):
        return "role" in item or "type" in item
    return hasattr(item, "content") and (hasattr(item, "role") or hasattr(item, "type"))


def _message(item: Any) -> Any:
    """A message as a mapping; objects (LangChain's, pydantic's) say their role or type."""
    if isinstance(item, dict):
        content = item.get("content")
        if isinstance(content, list) and any(
            isinstance(block, dict) and set(block) == {"text"} for block in content
        ):
            return {**item, "content": [_bedrock(block) for block in content]}
        return item
    if not _is_message(item):
        return item
    role = str(getattr(item, "role", None) or getattr(item, "type", "user"))
    return {"role": _ROLES.get(role, role), "content": item.content}


def _bedrock(block: Any) -> Any:
    return {"type": "text", **block} if isinstance(block, dict) and set(block) == {"text"} else block


def _plain(value: Any, *, strict: bool = False) -> Any:
    """An object as plain data, the way its kind provides."""
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json", exclude_none=True)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return dataclasses.asdict(value)
    if strict:
        return None
    if isinstance(value, set | frozenset):
        return list(value)
    return repr(value)
