"""Canonical JSON: one value, one sequence of bytes, in every process and on every machine.

The bytes are those of RFC 8785 wherever it defines the value: keys in order of UTF-16 code units, numbers as
ECMAScript writes them, no spaces, UTF-8. Beyond it: integers of any size keep their digits; sets are arrays
in the order of their members' canonical JSON as text, so 10 stands before 2 and ``"a"`` before both; data
classes and pydantic models become objects; dates and times are ISO 8601 (``Z`` for UTC; an offset's seconds
are kept, as ``+01:00:30``); a Decimal is a string of plain digits, a UUID its usual string, an Enum its
value; numpy scalars, also as keys, and arrays are their Python values. What has no faithful form (NaN, lone
surrogates, bytes, colliding keys, a long double, a field never set) is an error that names its path. The
order of the input never shows. Where order has meaning (a tool call's arguments, a schema's properties), do
not canonicalize: keep the text as it came.

This module is the door and the fast way: orjson, and what its bytes need to be ours. The forms themselves are
in `promptcache.faithful`.
"""

from __future__ import annotations

import marshal
import re
from typing import Any, Final

import orjson

from promptcache.faithful import UnfaithfulError, in_utf16, write_text
from promptcache.numerals import ecmascript_number
from promptcache.plain_copy import PlainCopier

__all__ = ["canonical_json"]

_SCALARS: Final = frozenset({str, int, float, bool, type(None)})
_ALIKE: Final = frozenset({str, int, bool, type(None)})
"""Scalars that are written alike in any case, if at all."""
_FEW: Final = 200
_OPTIONS: Final = (
    orjson.OPT_SORT_KEYS
    | orjson.OPT_PASSTHROUGH_SUBCLASS
    | orjson.OPT_PASSTHROUGH_DATACLASS
    | orjson.OPT_PASSTHROUGH_DATETIME
)
_PLAIN_POWERS: Final = (-6, 20)
"""Between these powers of ten ECMAScript writes no exponent."""
_SMALL: Final = 2**53 - 1
_NULL: Final = re.compile(rb"null")  # a search for a literal skips faster than `in` does
_WHOLE: Final = re.compile(rb"\.0(?<=[0-9]\.0)(?=[,\]}])")
_NEGATIVE_ZERO: Final = re.compile(rb"-0\.0(?<=[:\[,]-0\.0)(?=[,\]}])")
_EXPONENT: Final = re.compile(rb"(e(?<=[0-9]e)[-+]?[0-9]+)(?=[,\]}])")
_ASTRAL: Final = (b"\xf0", b"\xf1", b"\xf2", b"\xf3", b"\xf4")
_PRIVATE: Final = (b"\xee", b"\xef")
_BEYOND_TO_QUOTE: Final = re.compile(rb'[\xee-\xf4][^"]*":?')
_SKETCHED: Final = b'0123456789e." ,:-'
_SKETCH: Final = bytes(48 if chr(code).isdecimal() else code for code in range(128)) + bytes(range(128, 256))
_UNSKETCHED: Final = bytes(code for code in range(256) if code not in _SKETCHED)
_SKETCHED_EXPONENT: Final = re.compile(rb"0e")
_SKETCHED_FRACTION: Final = re.compile(rb"0\.0")
_SKETCHED_NEGATIVE: Final = re.compile(rb"-0\.0")
_NOT_FINITE: Final = (
    re.compile(rb"\x7f(?<=[g\xe7].{6}[\xf0-\xff]\x7f)", re.DOTALL),
    re.compile(rb"\xff(?<=[g\xe7].{6}[\xf0-\xff]\xff)", re.DOTALL),
)
"""The end of a marshalled double (g, or g with a flag) whose exponent is all ones; others may look alike."""


def canonical_json(value: object, *, strict: bool = False) -> bytes:
    """Return the canonical JSON of ``value`` as UTF-8 bytes.

    With ``strict`` integers beyond ±(2**53 - 1), which RFC 8785 cannot tell apart, are refused too.
    Raises `promptcache.errors.CanonicalJSONError`, with the path of the culprit, for what has no faithful
    form.

    >>> canonical_json({"b": 1.0, "a": ["é", None]})
    b'{"a":["\\xc3\\xa9",null],"b":1}'
    """
    if type(value) in _SCALARS:
        return _scalar(value, strict=strict)
    written = _as_it_is(value, strict=strict)
    if written is None:
        written = _by_copy(value, strict=strict)
    return write_text(value, strict=strict).encode() if written is None else written


def _scalar(value: Any, *, strict: bool) -> bytes:
    if type(value) is int and -_SMALL <= value <= _SMALL:
        return b"%d" % value
    if type(value) is str and value.isascii():
        return orjson.dumps(value)
    return write_text(value, strict=strict).encode()


def _as_it_is(value: object, *, strict: bool) -> bytes | None:
    """Let orjson write plain data; None where its bytes might differ from ours.

    orjson writes NaN as null. Everything else it cannot write as we do, the options make it refuse, or
    `_relaid` puts right.
    """
    try:
        written = orjson.dumps(value, option=_OPTIONS | (orjson.OPT_STRICT_INTEGER if strict else 0))
    except TypeError:
        return None
    if _is_small_and_plain(value):
        return written
    if _NULL.search(written) and not _is_finite(value):
        return None
    if not (written.isascii() or _sorts_alike(written)):
        return None
    return _relaid(written)


def _by_copy(value: object, *, strict: bool) -> bytes | None:
    """Let orjson write a copy in plain data; None where that does not go, or the value is refused."""
    copier = PlainCopier(lambda item: canonical_json(item, strict=strict), strict=strict)
    try:
        plain = copier.copy(value)
        written = orjson.dumps(plain, option=_OPTIONS | (orjson.OPT_STRICT_INTEGER if strict else 0))
    except (TypeError, ValueError, UnfaithfulError, RecursionError):
        return None
    return _relaid(written)


def _is_small_and_plain(value: Any) -> bool:
    """Tell whether these are few values, long texts perhaps, without a float or a key beyond ASCII.

    Then looking at each is faster than searching what was written.
    """
    waiting = [value]
    for item in waiting:
        kind = type(item)
        if kind is dict:
            if not all(map(str.isascii, item)):
                return False
            waiting.extend(item.values())
        elif kind is list or kind is tuple:
            waiting.extend(item)
        elif kind not in _ALIKE:
            return False
        if len(waiting) > _FEW:
            return False
    return True


def _is_finite(value: Any) -> bool:
    """Tell whether no float in plain data is NaN or infinite; False also where that is not certain."""
    try:
        dumped = marshal.dumps(value)
    except ValueError:
        return False
    return not any(pattern.search(dumped) for pattern in _NOT_FINITE)


def _sorts_alike(written: bytes) -> bool:
    """Tell whether keys sort by code point as by UTF-16 code unit, as RFC 8785 wants it.

    The two differ only where both astral characters and U+E000 to U+FFFF occur in keys. False also where
    that is not certain.
    """
    if not (_holds_any(written, _ASTRAL) and _holds_any(written, _PRIVATE)):
        return True
    # Where two keys part before the first such character, or one ends there, both orders agree: it is enough
    # to compare keys from there on. One with an escaped quote comes in two pieces, which does no harm.
    tails = {found for found in _BEYOND_TO_QUOTE.findall(written) if found.endswith((b":", b'\\"'))}
    keys = [tail.decode() for tail in tails]
    return sorted(keys) == sorted(keys, key=in_utf16)


def _holds_any(written: bytes, codes: tuple[bytes, ...]) -> bool:
    return any(code in written for code in codes)


def _relaid(written: bytes) -> bytes | None:
    """Return what orjson wrote with floats laid out as ECMAScript does; None for what is no object or array.

    They differ with an exponent and where they are whole; 1.5 and 0.001 are written alike, since both find
    the shortest digits.
    """
    if written[:1] not in {b"[", b"{"}:
        return None
    # A sketch, all digits 0 and no letter but e, is small; it shows whether there can be floats at all.
    sketch = written.translate(_SKETCH, _UNSKETCHED)
    if _SKETCHED_EXPONENT.search(sketch):
        written = _with_exponents_again(written)
    if _SKETCHED_FRACTION.search(sketch):
        if _SKETCHED_NEGATIVE.search(sketch):
            written = _replaced(_NEGATIVE_ZERO.split(written), b"-0.0", b"0")
        written = _replaced(_WHOLE.split(written), b".0", b"")
    return written


def _replaced(pieces: list[bytes], old: bytes, new: bytes) -> bytes:
    """Put JSON together that was split at ``old``: with ``new`` there, but inside strings as it was."""
    joined: list[bytes] = []
    inside = False
    for piece in pieces[:-1]:
        inside ^= _crosses(piece)
        joined += (piece, old if inside else new)
    return b"".join((*joined, pieces[-1]))


def _with_exponents_again(written: bytes) -> bytes:
    """Return JSON with every float that has an exponent as ECMAScript lays it out."""
    pieces = _EXPONENT.split(written)
    inside = False
    for index in range(0, len(pieces) - 1, 2):
        piece = pieces[index]
        inside ^= _crosses(piece)
        if not inside:
            pieces[index], pieces[index + 1] = _exponent_again(piece, pieces[index + 1])
    return b"".join(pieces)


def _exponent_again(before: bytes, exponent: bytes) -> tuple[bytes, bytes]:
    """Return both again, where ``before`` ends with the digits the exponent belongs to, as in 1.5 and e22."""
    power = int(exponent[1:])
    if power < _PLAIN_POWERS[0]:
        return before, exponent
    if power > _PLAIN_POWERS[1]:
        return before, b"e+%d" % power
    start = len(before.rstrip(b"0123456789.-"))
    return before[:start], ecmascript_number(float(before[start:] + exponent)).encode()


def _crosses(piece: bytes) -> bool:
    """Tell whether a piece of JSON that begins outside an escape begins or ends a string."""
    if b"\\" in piece:
        piece = piece.replace(b"\\\\", b"").replace(b'\\"', b"")
    return piece.count(b'"') % 2 == 1
