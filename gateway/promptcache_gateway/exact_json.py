"""JSON that is decoded and written anew without rounding an integer.

orjson reads an integer of more than 64 bits as the nearest double and writes none. Ids and amounts in the
arguments of a tool call may be longer, and the tool must get the one that the model wrote.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, NoReturn, TypeVar

import orjson

_Decoded = TypeVar("_Decoded", bound=Mapping[str, Any])

_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
_HALF, _HALF_IN_BYTES = re.compile(r"\\u[dD]"), re.compile(rb"\\u[dD]")
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


def read(text: bytes | str, by: Callable[[bytes | str], Any] = loads) -> Any:
    """The same of text in which half of a surrogate pair may stand, as in what ends within an emoji.

    Args:
        text: JSON.
        by: reads what holds none, and else each number.

    Raises:
        orjson.JSONDecodeError: it is no JSON all the same.
    """
    try:
        return by(text)
    except orjson.JSONDecodeError as error:
        half = _HALF_IN_BYTES.search(text) if isinstance(text, bytes) else _HALF.search(text)
        if half is None:
            raise
        try:
            return _leniently(text, None if by is loads else by)
        except (ValueError, RecursionError):
            raise error from None


def _leniently(text: bytes | str, number: Callable[[str], Any] | None) -> Any:
    """The value of text in which half of a surrogate pair stands; raises `ValueError` or `RecursionError`."""
    return _mended(
        json.loads(text, parse_constant=_refuse, parse_float=number or orjson.loads, parse_int=number)
    )


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
    """``payload``, decoded from ``body``, with its integers exact."""
    if not _may_round(body):
        return payload
    again: _Decoded = read(body)
    return again


def _refuse(name: str) -> NoReturn:
    raise ValueError(name)


def _mended(value: Any) -> Any:
    if isinstance(value, str):
        return _LONE_SURROGATE.sub("\ufffd", value)
    if isinstance(value, list):
        return [_mended(item) for item in value]
    if isinstance(value, dict):
        return {_mended(key): _mended(item) for key, item in value.items()}
    return value


def _may_round(text: bytes) -> bool:
    """Whether it has as many digits in a row, of a number or not, as an integer of over 64 bits has."""
    return _LONG in text.translate(_ONE_DIGIT)
