"""Texts of values that are the same in every process: no order of a set's, no address of an object's.

`still` gives sets an order, `stable` refuses what has no text of its own. Where a template meets a value is
`promptcache.rendering.environment`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any, Final

from jinja2 import Undefined
from jinja2.exceptions import TemplateRuntimeError

from promptcache.canonical import canonical_json

_ADDRESS: Final = re.compile(r"\bat 0x[0-9A-Fa-f]+")
_PLAIN: Final = (str, bytes, int, float, complex, type(None))


def still(value: Any) -> Any:
    """Return ``value`` with every set in it, also inside lists and dicts, as a sorted list.

    What holds no set is returned as it is, and not copied.
    """
    if isinstance(value, (set, frozenset)):
        return sorted((still(item) for item in value), key=canonical_json)
    if type(value) in (list, tuple):
        items = [still(item) for item in value]
        return value if all(new is old for new, old in zip(items, value, strict=True)) else items
    if type(value) is dict:
        named = {key: still(item) for key, item in value.items()}
        return value if all(named[key] is value[key] for key in value) else named
    return value


def stable(value: Any) -> Any:
    """Return ``value``; raises TemplateRuntimeError when its text would change from process to process."""
    _check(value, ())
    return value


def _check(value: Any, around: tuple[int, ...]) -> None:
    kind = type(value)
    if isinstance(value, (*_PLAIN, Undefined)) or id(value) in around:
        return  # an undefined value says itself what is missing
    if isinstance(value, (set, frozenset)) or (isinstance(value, Mapping) and kind is not dict):
        raise TemplateRuntimeError(f"a {kind.__name__} has no stable order (PC202); sort it")
    around = (*around, id(value))
    for item in _inside(value):
        _check(item, around)
    if kind in (list, tuple, dict):
        return
    own_text = any(getattr(kind, name) is not getattr(object, name) for name in ("__str__", "__repr__"))
    if callable(value) or not own_text or _ADDRESS.search(str(value)):
        raise TemplateRuntimeError(f"a {kind.__name__} has no stable text (PC106); write its fields")


def _inside(value: Any) -> list[Any]:
    """Return what the text of ``value`` shows of other values."""
    if isinstance(value, dict):
        return [*value.keys(), *value.values()]
    if isinstance(value, (list, tuple)):
        return list(value)
    shown = is_dataclass(value) and not isinstance(value, type) and type(value).__str__ is object.__str__
    return [getattr(value, field.name) for field in fields(value) if field.repr] if shown else []
