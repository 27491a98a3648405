"""Canonical JSON: one value, one sequence of bytes, in every process and on every machine.

The bytes are those of RFC 8785 wherever it defines the value: keys in order of UTF-16 code units, numbers as
ECMAScript writes them, no spaces, UTF-8. Beyond it: integers of any size keep their digits; sets are sorted;
data classes and pydantic models become objects; dates and times are ISO 8601 (``Z`` for UTC); a Decimal is a
string of plain digits, a UUID its usual string, an Enum its value; numpy scalars and arrays are their Python
values. What has no faithful form (NaN, lone surrogates, bytes, colliding keys) is an error that names its
path. The order of the input never shows. Where order has meaning (a tool call's arguments, a schema's
properties), do not canonicalize: keep the text as it came.

This module is the door and the fast way; the forms themselves are in `promptcache.faithful`.
"""

from __future__ import annotations

import marshal
import re
from typing import TYPE_CHECKING, Any, Final

import orjson

from promptcache.faithful import write_text
from promptcache.numerals import ecmascript_number

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["canonical_json"]

_OPTIONS: Final = (
    orjson.OPT_SORT_KEYS
    | orjson.OPT_PASSTHROUGH_SUBCLASS
    | orjson.OPT_PASSTHROUGH_DATACLASS
    | orjson.OPT_PASSTHROUGH_DATETIME
)
# Each begins with what a search can skip to; a lookbehind after it says what stands before.
_WHOLE: Final = re.compile(rb"\.0(?<=[0-9]\.0)(?=[,\]}])")
_EXPONENT: Final = re.compile(rb"e(?<=[0-9]e)[-+0-9]")
_FLOAT: Final = re.compile(rb"[-0-9](?<=[:\[,].)[0-9]*(?:\.[0-9]+(?:e[-+]?[0-9]+)?|e[-+]?[0-9]+)(?=[,\]}])")
_ESCAPE: Final = re.compile(rb"\\.", re.DOTALL)
_PRIVATE: Final = re.compile(rb"[\xee\xef]")
_ASTRAL_KEY: Final = re.compile(rb'[\xf0-\xf4](?:[^"\\]|\\.)*":')
_NOT_FINITE: Final = (b"f\x03nan", b"f\x03inf", b"f\x04-inf")
_TEXT_FLOATS: Final = 1
"""The marshal format that writes floats as text."""


def canonical_json(value: object, *, strict: bool = False) -> bytes:
    """Return the canonical JSON of ``value`` as UTF-8 bytes.

    With ``strict`` integers beyond ±(2**53 - 1), which RFC 8785 cannot tell apart, are refused too.
    Raises `promptcache.errors.CanonicalJSONError`, with the path of the culprit, for what has no faithful
    form.

    >>> canonical_json({"b": 1.0, "a": ["é", None]})
    b'{"a":["\\xc3\\xa9",null],"b":1}'
    """
    written = _by_orjson(value, strict=strict)
    return write_text(value, strict=strict).encode() if written is None else written


def _by_orjson(value: object, *, strict: bool) -> bytes | None:
    """Let orjson write what it writes alike; None where its bytes might differ from ours.

    orjson differs in three ways that show in its output: floats have another form (put right here), NaN
    becomes null, and keys are sorted by code point, which matters only where both astral characters and
    U+E000 to U+FFFF occur. Everything else it cannot write as we do, the options make it refuse.
    """
    if type(value) is not dict and type(value) is not list:
        return None
    try:
        written = orjson.dumps(value, option=_OPTIONS | (orjson.OPT_STRICT_INTEGER if strict else 0))
    except TypeError:
        return None
    if b"null" in written and not _is_finite(value):
        return None
    if not written.isascii() and not _sorts_alike(written):
        return None
    # Floats of other layouts (1.5, 0.001) both write alike, since both find the shortest digits.
    if _EXPONENT.search(written):
        return b"".join(_laid_out(written))
    return _without_zeros(written) if _WHOLE.search(written) else written


def _is_finite(value: Any) -> bool:
    """Tell whether no float in plain data is NaN or infinite; False also where that is not certain."""
    try:
        dumped = marshal.dumps(value, _TEXT_FLOATS)
    except ValueError:
        return False
    return not any(mark in dumped for mark in _NOT_FINITE)


def _sorts_alike(written: bytes) -> bool:
    return not _ASTRAL_KEY.search(written) or not _PRIVATE.search(written)


def _without_zeros(written: bytes) -> bytes:
    """Return ``written`` with ``1.0`` as ``1``."""
    if b"-0.0" not in written:
        shorter = _WHOLE.sub(b"", written)
        # Numbers read back equal; had a string been touched, it would not.
        if orjson.loads(shorter) == orjson.loads(written):
            return shorter
    return b"".join(_laid_out(written))


def _laid_out(written: bytes) -> Iterator[bytes]:
    """Yield ``written`` with every float as ECMAScript lays it out, in pieces."""
    done, inside = 0, False
    for match in _FLOAT.finditer(written):
        between = written[done : match.start()]
        inside ^= _crosses(between)
        yield between
        yield match.group() if inside else ecmascript_number(float(match.group())).encode()
        done = match.end()
    yield written[done:]


def _crosses(piece: bytes) -> bool:
    """Tell whether a piece of JSON that begins outside an escape begins or ends a string."""
    if b"\\" in piece:
        piece = _ESCAPE.sub(b"", piece)
    return piece.count(b'"') % 2 == 1
