"""Writes any supported value in its one canonical form, the careful way.

`promptcache.canonical` sends here what orjson would not write alike. Each type has one form, or is refused
with the path to it.
"""

from __future__ import annotations

import dataclasses
import json
import math
import re
from collections.abc import Mapping
from datetime import date, datetime, time
from decimal import Decimal
from enum import Enum
from json.encoder import encode_basestring
from typing import Any, Final
from uuid import UUID

from promptcache.errors import CanonicalJSONError
from promptcache.numerals import ecmascript_number

_SAFE: Final = 2**53 - 1
_PLAIN_KEY: Final = re.compile(r"[A-Za-z_]\w*", re.ASCII)


class UnfaithfulError(Exception):
    """Raised where the trouble is; each level on the way out adds its step to ``path``."""

    def __init__(self, problem: str, remedy: str) -> None:
        super().__init__(problem)
        self.problem = problem
        self.remedy = remedy
        self.path: list[str] = []

    def at(self, step: str | int) -> UnfaithfulError:
        """Add one step of the path on the way out."""
        if isinstance(step, int):
            self.path.append(f"[{step}]")
        else:
            self.path.append(f".{step}" if _PLAIN_KEY.fullmatch(step) else f"[{json.dumps(step)}]")
        return self


def write_text(value: object, *, strict: bool) -> str:
    """Return the canonical JSON of ``value`` as text; raises `CanonicalJSONError` with the culprit's path."""
    try:
        text = _written(value, strict=strict, checked=False)
        if not _has_surrogate(text):
            return text
        return _written(value, strict=strict, checked=True)  # finds where the surrogate is
    except UnfaithfulError as error:
        path = "$" + "".join(reversed(error.path))
        raise CanonicalJSONError(path, error.problem, remedy=error.remedy) from None
    except RecursionError:
        problem = "it is nested too deeply, or contains itself"
        raise CanonicalJSONError("$", problem, remedy="Flatten it, or cut the loop.") from None


def _written(value: object, *, strict: bool, checked: bool) -> str:
    parts: list[str] = []
    _Writer(parts, strict=strict, checked=checked).write(value)
    return "".join(parts)


def _has_surrogate(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False


class _Writer:
    """Writes one value, piece by piece, into ``parts``."""

    def __init__(self, parts: list[str], *, strict: bool, checked: bool) -> None:
        self._parts = parts
        self._strict = strict
        self._checked = checked
        self._quote = _checked_quote if checked else encode_basestring

    def write(self, value: Any) -> None:
        kind = type(value)
        if kind is str:
            self._parts.append(self._quote(value))
        elif value is None or kind is bool:
            self._parts.append("null" if value is None else "true" if value else "false")
        elif kind is int:
            self._parts.append(self._integer(value))
        elif kind is float:
            self._parts.append(_number(value))
        elif kind is dict:
            self._object(value)
        elif kind is list or kind is tuple:
            self._array(value)
        else:
            self._other(value)

    def _object(self, value: Mapping[Any, Any]) -> None:
        names: dict[str, Any] = {}
        for key in value:
            name = key if type(key) is str else self._name(key)
            if name in names:
                raise UnfaithfulError(
                    f"two keys are both written {name!r}", "Give every key a text of its own."
                )
            names[name] = value[key]
        separator = "{"
        for name in _in_order(names):
            try:
                self._parts.append(f"{separator}{self._quote(name)}:")
                self.write(names[name])
            except UnfaithfulError as error:
                raise error.at(name) from None
            separator = ","
        self._parts.append("}" if names else "{}")

    def _array(self, value: Any) -> None:
        separator = "["
        for index, item in enumerate(value):
            self._parts.append(separator)
            try:
                self.write(item)
            except UnfaithfulError as error:
                raise error.at(index) from None
            separator = ","
        self._parts.append("]" if separator == "," else "[]")

    def _set(self, value: Any) -> None:
        members = [_written(item, strict=self._strict, checked=self._checked) for item in value]
        self._parts.append(f"[{','.join(sorted(members, key=in_utf16))}]")

    def _other(self, value: Any) -> None:
        if isinstance(value, (set, frozenset)):
            self._set(value)
        else:
            self.write(simpler(value))

    def _name(self, key: Any) -> str:
        return name_of(key, strict=self._strict)

    def _integer(self, value: int) -> str:
        return digits_of(value, strict=self._strict)


def simpler(value: Any) -> Any:
    """Return what stands for a value that is neither plain JSON data nor a set, one step nearer to it."""
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value)
    if isinstance(value, Mapping):
        return {key: value[key] for key in value}
    if isinstance(value, (list, tuple)):
        return list(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return _fields(value)
    return _plain(value)


def name_of(key: Any, *, strict: bool) -> str:
    """Return the text of an object's key; raises `UnfaithfulError` for what cannot be one."""
    if type(key) is int:
        return digits_of(key, strict=strict)
    if isinstance(key, Enum):
        return name_of(key.value, strict=strict)
    if isinstance(key, str):
        return str.__str__(key)
    if key is None or isinstance(key, (bool, int, float)):
        return _written(key, strict=strict, checked=False)
    if isinstance(key, (date, time, UUID, Decimal)):
        return str(_plain(key))
    if _is_numpy(key):
        return name_of(_from_numpy(key), strict=strict)
    raise UnfaithfulError(f"a key is a {type(key).__name__}", "Use strings as keys.")


def digits_of(value: int, *, strict: bool) -> str:
    """Return an integer's digits; with ``strict`` raises `UnfaithfulError` beyond ±(2**53 - 1)."""
    if strict and abs(value) > _SAFE:
        raise UnfaithfulError(
            f"the integer {value} is beyond ±(2**53 - 1), where RFC 8785 loses digits",
            "Write it as a string.",
        )
    try:
        return int.__repr__(value)
    except ValueError:  # sys.set_int_max_str_digits
        raise UnfaithfulError("the integer has thousands of digits", "Write it as a string.") from None


def in_utf16(text: str) -> bytes:
    """Return what texts are ordered by: their UTF-16 code units."""
    return text.encode("utf-16-be", "surrogatepass")


def _plain(value: Any) -> Any:
    """Return the JSON form of a scalar JSON does not know, or of an object that can say what it holds."""
    if isinstance(value, (datetime, time)):
        text = value.isoformat()
        return text.removesuffix("+00:00") + "Z" if text.endswith("+00:00") else text
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, UUID):
        return str(value)
    if isinstance(value, Decimal):
        if not value.is_finite():
            raise UnfaithfulError(f"{value} is not a number in JSON", "Leave it out, or write null.")
        return format(value, "f")
    if callable(getattr(value, "model_dump", None)) and not isinstance(value, type):
        return value.model_dump()  # pydantic, known by its form
    if _is_numpy(value):
        return _from_numpy(value)
    raise UnfaithfulError(
        f"a {type(value).__name__} has no JSON form", "Convert it to text or plain data first."
    )


def _fields(value: Any) -> dict[str, Any]:
    names = [field.name for field in dataclasses.fields(value)]
    unset = [name for name in names if not hasattr(value, name)]
    if unset:
        raise UnfaithfulError(
            f"the field {unset[0]!r} of a {type(value).__name__} is not set",
            "Set it, or give it a default.",
        )
    return {name: getattr(value, name) for name in names}


def _is_numpy(value: Any) -> bool:
    """Tell a numpy scalar or array with a JSON form by its form."""
    kind = getattr(getattr(value, "dtype", None), "kind", None)
    return isinstance(kind, str) and kind in "biufU" and callable(getattr(value, "tolist", None))


def _from_numpy(value: Any) -> Any:
    found = value.tolist()
    if type(found) is type(value):  # a longdouble, for which Python has no number
        raise UnfaithfulError(
            f"a {type(value).__name__} may hold more digits than a number in JSON",
            "Convert it with float(), or to text.",
        )
    return found


def _in_order(names: dict[str, Any]) -> list[str]:
    # Code points and UTF-16 code units order alike up to U+D7FF.
    if all(map(str.isascii, names)):
        return sorted(names)
    return sorted(names, key=in_utf16)


def _checked_quote(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise UnfaithfulError(
            f"the text holds the lone surrogate U+{ord(text[error.start]):04X}",
            "Decode the text with its real encoding, or replace it.",
        ) from None
    return encode_basestring(text)


def _number(value: float) -> str:
    if not math.isfinite(value):
        raise UnfaithfulError(f"{value} is not a number in JSON", "Leave it out, or write null.")
    return ecmascript_number(value)
