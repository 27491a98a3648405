"""How much memory a JSON text takes once it is decoded, and whether it can be in time, judged by its bytes.

Text takes a few times its length; small values take tens of times theirs. Nothing is decoded to find out.
"""

from __future__ import annotations

import re

import orjson

# What a text is reckoned to take: each of its bytes (as bytes, decoded, and cut or written anew, 4.1 to
# 6.6 times its length), each value and each member of one that may hold many (64 to 110 bytes), and each
# object more, which may be a part of a prompt that is looked at by itself (230 bytes to 1.7 KB).
BYTE_COST, VALUE_COST, OBJECT_COST = 5, 64, 640
# The smallest are free: `max_requests` bounds them.
FREE = 16 * 1024
MAX_VALUES = 1_000_000
_DEEP = 240
_LOOKED_AT = 64 * 1024
_STRIDE = 61
_STRINGS = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)
_BEYOND_BMP = re.compile(rb"[\xf0-\xf4]")
_ESCAPED_BEYOND_BMP = re.compile(rb"\\u[dD][89abAB]")
_WIDE_COST = 9
"""One such character in a string has each of its characters take four bytes, in each of its copies."""


def weight(text: bytes) -> int:
    """Bytes of memory that a text is reckoned to take; 0: it is small enough to be free."""
    if len(text) <= FREE:
        return 0
    flat = BYTE_COST * len(text)
    if len(text) <= _LOOKED_AT:
        return flat
    some = text[::_STRIDE]  # every 61st byte tells enough of how many values there are
    values = _marks(some) + some.count(b":")
    dense = _STRIDE * (VALUE_COST * values + OBJECT_COST * some.count(b"{"))
    return flat + dense + _WIDE_COST * _wide(text)


def holds_too_many(text: bytes) -> bool:
    """Whether it holds more than `MAX_VALUES` values: those take seconds to decode. Text does not."""
    return (
        len(text) > MAX_VALUES and _marks(text) > MAX_VALUES and _marks(_STRINGS.sub(b"", text)) > MAX_VALUES
    )


def is_too_deep(text: bytes, value: object) -> bool:
    """Whether a decoded ``text`` is nested deeper than can be written anew; reading goes deeper."""
    if text.count(b"[") + text.count(b"{") < _DEEP:
        return False
    try:
        orjson.dumps([[[[[[[[value]]]]]]]])  # what it is put into has levels, too
    except TypeError:
        return True
    return False


def _marks(text: bytes) -> int:
    return sum(text.count(mark) for mark in (b",", b"[", b"{"))


def _wide(text: bytes) -> int:
    """Bytes of strings that hold a character beyond the Basic Multilingual Plane, most often an emoji."""
    if text.isascii():
        pattern = _ESCAPED_BEYOND_BMP if b"\\ud" in text or b"\\uD" in text else None
    else:
        pattern = _BEYOND_BMP
    wide = at = 0
    while pattern is not None and (found := pattern.search(text, at)):
        begin = max(at, text.rfind(b'"', at, found.start()))
        end = text.find(b'"', found.end())
        at = len(text) if end < 0 else end + 1
        wide += at - begin
    return wide
