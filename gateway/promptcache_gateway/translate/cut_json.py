"""The arguments of a call as an object, also where the JSON of them was cut off.

What clients make of a streamed call they make here of a whole one: values that were complete stay, and what
was still being written is left out. Nothing is invented.
"""

from __future__ import annotations

from typing import Any

import orjson

from promptcache_gateway.exact_json import read

_CLOSES = {"{": "}", "[": "]"}


def arguments_object(text: object) -> dict[str, Any]:
    """The object that ``text`` writes, as far as it goes; empty where it writes none.

    A string, name or word that is cut off is left out with its name; a number at the very end is taken as it
    stands, as Anthropic's client does.
    """
    if not isinstance(text, str) or not text.strip():
        return {}
    for candidate in (text, *_closed(text)):
        try:
            value = read(candidate)
        except orjson.JSONDecodeError:
            continue
        return value if isinstance(value, dict) else {}
    return {}


def _closed(text: str) -> tuple[str, str]:
    """``text``, and its beginning up to its last complete value, each with what is open closed."""
    open_, in_string, escaped = "", False, False
    end, left_open = 0, ""
    for at, char in enumerate(text):
        if in_string:
            in_string = escaped or char != '"'
            escaped = char == "\\" and not escaped
        elif char == '"':
            in_string = True
        elif char in _CLOSES:
            open_ = _CLOSES[char] + open_
            end, left_open = at + 1, open_
        elif char in "}]":
            open_ = open_[1:]
            end, left_open = at + 1, open_
        elif char == ",":
            end, left_open = at, open_
    return text + open_, text[:end] + left_open
