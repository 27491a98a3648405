"""The small shapes all request bodies share: lists, objects, and the marks that stand on them.

Says what is wrong with a part and where, as `MalformedRequestError`. What the parts mean is the business of
`promptcache.segments`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from promptcache.errors import MalformedRequestError

__all__ = [
    "BREAKPOINT_KEYS",
    "breakpoint_of",
    "compact_json",
    "expect_list",
    "expect_object",
    "name_of",
    "without_breakpoint",
]

BREAKPOINT_KEYS = ("cache_control", "prompt_cache_breakpoint")
"""Keys that mark a breakpoint. They steer the cache and are no part of the content."""


def compact_json(value: object) -> str:
    """Write ``value`` as JSON without spaces, in UTF-8 and with the keys in the order they came."""
    try:
        return orjson.dumps(value).decode()
    except TypeError:  # integers beyond 64 bits and lone surrogates, which orjson refuses
        return _slow_json(value)


def _slow_json(value: object) -> str:
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    except RecursionError:
        raise MalformedRequestError("$", "a value is nested too deeply") from None
    except (TypeError, ValueError) as error:
        raise MalformedRequestError("$", f"a value is not JSON ({error})") from None


def breakpoint_of(block: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the breakpoint that stands on ``block`` itself, or None."""
    for key in BREAKPOINT_KEYS:
        if key in block and isinstance(mark := block[key], Mapping):
            return mark
    return None


def without_breakpoint(block: Mapping[str, Any]) -> tuple[Mapping[str, Any], Mapping[str, Any] | None]:
    """Return the block without marks on itself or on the blocks it holds, and the (last) mark found."""
    mark = breakpoint_of(block)
    nested = block.get("content")
    if isinstance(nested, list) and any(isinstance(part, Mapping) and breakpoint_of(part) for part in nested):
        parts = [without_breakpoint(part) if isinstance(part, Mapping) else (part, None) for part in nested]
        mark = mark or [found for _, found in parts if found][-1]
        block = {**block, "content": [content for content, _ in parts]}
    if any(key in block for key in BREAKPOINT_KEYS):
        block = {key: value for key, value in block.items() if key not in BREAKPOINT_KEYS}
    return block, mark


def expect_list(value: object, path: str, *, required: bool = False) -> Sequence[Any]:
    """Return ``value`` as a list; None is empty unless ``required``. Raises `MalformedRequestError`."""
    if type(value) is list:  # what JSON gives; asking an abstract class costs ten times as much
        return value
    if value is None and not required:
        return ()
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, Sequence):
        raise MalformedRequestError(path, f"expected a list, found {name_of(value)}")
    return value


def expect_object(value: object, path: str) -> Mapping[str, Any]:
    """Return ``value`` as an object; raises `MalformedRequestError` naming ``path``."""
    if type(value) is dict:
        return value
    if not isinstance(value, Mapping):
        raise MalformedRequestError(path, f"expected an object, found {name_of(value)}")
    return value


def name_of(value: object) -> str:
    """Name the JSON type of ``value`` for an error message."""
    names = {type(None): "null", str: "a string", bool: "a boolean", int: "a number", float: "a number"}
    return names.get(type(value), "an object" if isinstance(value, Mapping) else "a list")
