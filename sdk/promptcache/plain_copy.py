"""A copy of a value in plain data that orjson writes as canonical JSON wants it.

Keys become texts, sets sorted lists, large integers their digits, rich types what stands for them. What has
no faithful form raises `promptcache.faithful.UnfaithfulError` without a path: the careful writer then says
where it stands.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

import orjson

from promptcache.faithful import UnfaithfulError, digits_of, in_utf16, name_of, simpler

if TYPE_CHECKING:
    from collections.abc import Callable

_ONLY_TEXT: Final = frozenset({str})
_ONLY_INTEGERS: Final = frozenset({int})
_SMALLEST, _LARGEST = -(2**63), 2**64 - 1
"""The integers orjson writes."""


class PlainCopier:
    """Copies values; ``write`` gives the canonical JSON of a set's member.

    Written for speed: what most values are is looked at where it stands, and never copied.
    """

    def __init__(self, write: Callable[[Any], bytes], *, strict: bool) -> None:
        self._write = write
        self._strict = strict
        self._good_keys: set[tuple[Any, ...]] = set()  # rows of a table have their keys in common

    def copy(self, value: Any) -> Any:
        """Return ``value`` as plain data for orjson; what is plain already is not copied."""
        kind = type(value)
        if kind is dict:
            return self._object(value)
        if kind is list or kind is tuple:
            return self._array(value)
        if kind is str or kind is bool or value is None:
            return value
        if kind is int:
            if _SMALLEST <= value <= _LARGEST:
                return value
            return orjson.Fragment(digits_of(value, strict=self._strict))
        if kind is float:
            if not math.isfinite(value):
                raise UnfaithfulError(f"{value} is not a number in JSON", "Leave it out, or write null.")
            return value
        if isinstance(value, (set, frozenset)):
            return self._set(value)
        return self.copy(simpler(value))

    def _object(self, value: dict[Any, Any]) -> dict[str, Any]:
        keys = tuple(value)
        if keys not in self._good_keys:
            value = self._named(value)
            if tuple(value) == keys:
                self._good_keys.add(keys)
        changed: dict[str, Any] | None = None
        for name, item in value.items():
            kind = type(item)
            if kind is str or kind is bool or (kind is int and _SMALLEST <= item <= _LARGEST):
                continue
            copied = self.copy(item)
            if copied is not item:
                changed = dict(value) if changed is None else changed
                changed[name] = copied
        return value if changed is None else changed

    def _array(self, value: Any) -> Any:
        for item in value:
            kind = type(item)
            if kind is not str and not (kind is int and _SMALLEST <= item <= _LARGEST):
                return [self.copy(item) for item in value]
        return value

    def _named(self, value: dict[Any, Any]) -> dict[str, Any]:
        """Return ``value`` with texts as keys, in whose order orjson and RFC 8785 agree."""
        named: dict[str, Any] = value
        if not self._strict and _ONLY_INTEGERS.issuperset(map(type, value)):
            return dict(zip(map(repr, value), value.values(), strict=True))
        if not _ONLY_TEXT.issuperset(map(type, value)):
            named = {name_of(key, strict=self._strict): item for key, item in value.items()}
            if len(named) != len(value):
                raise UnfaithfulError("two keys are written alike", "Give every key a text of its own.")
        if not all(map(str.isascii, named)) and sorted(named) != sorted(named, key=in_utf16):
            raise UnfaithfulError("its keys have another order", "Write it with care.")
        return named

    def _set(self, value: Any) -> list[Any]:
        kinds = set(map(type, value))
        if kinds == _ONLY_INTEGERS and min(value) >= _SMALLEST and max(value) <= _LARGEST:
            return sorted(value, key=repr)
        if kinds == _ONLY_TEXT and all(map(str.isascii, value)):
            return sorted(value, key=orjson.dumps)
        members = [self._write(item) for item in value]
        if all(map(bytes.isascii, members)):
            members.sort()
        else:
            members.sort(key=lambda member: in_utf16(member.decode()))
        return list(map(orjson.Fragment, members))
