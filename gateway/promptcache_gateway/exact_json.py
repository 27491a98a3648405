"""JSON that is decoded and written anew without rounding an integer.

orjson reads an integer of more than 64 bits as the nearest double and writes none. Ids and amounts in the
arguments of a tool call may be longer, and the tool must get the one that the model wrote.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, TypeVar

import orjson

_Decoded = TypeVar("_Decoded", bound=Mapping[str, Any])

_ONE_DIGIT = bytes(0x30 if chr(byte).isdigit() and byte < 0x80 else byte for byte in range(256))
_LONG = b"0" * 19
"""The digits of the smallest integer that 64 bits may not hold, -2**63 - 1."""


def loads(text: bytes | str) -> Any:
    """The value that JSON text writes, every integer exact.

    Raises:
        orjson.JSONDecodeError: it is no JSON.
    """
    value = orjson.loads(text)
    if not _may_round(text.encode() if isinstance(text, str) else text):
        return value
    try:
        return json.loads(text)
    except RecursionError:  # orjson takes somewhat deeper nesting than Python's own decoder
        return value


def dumps(value: Any) -> bytes:
    """The value as compact JSON, every integer exact.

    Raises:
        TypeError: it holds what JSON does not, or is nested too deeply to be written.
    """
    try:
        return orjson.dumps(value)
    except TypeError as error:
        try:
            return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()
        except (RecursionError, ValueError):  # a lone surrogate, a circle: what orjson said of it is right
            raise error from None


def exact(payload: _Decoded, body: bytes) -> _Decoded:
    """``payload``, decoded from ``body``, with its integers exact.

    Of a body that only a lenient reader takes (half a surrogate pair) the payload stays as it was read.
    """
    if not _may_round(body):
        return payload
    try:
        reread: _Decoded = loads(body)
    except orjson.JSONDecodeError:
        return payload
    return reread


def _may_round(text: bytes) -> bool:
    """Whether it has as many digits in a row, of a number or not, as an integer of over 64 bits has."""
    return _LONG in text.translate(_ONE_DIGIT)
