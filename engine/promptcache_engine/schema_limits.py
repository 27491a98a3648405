"""What a JSON schema may not say though it compiles: references in a circle, and bounds out of reach.

The compiler takes both in silence: of the one no answer is ever complete; of the other the answer lies
outside the bounds, or the compiler overflows its stack and the process ends. Other faults are its own to
find, and where they lie is ``schema_faults``' business.
"""

import contextlib
import json
import re
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any, TypeGuard

from promptcache_engine.schema_faults import escaped, parts

_DEFINITIONS = ("/$defs/", "/definitions/")
_BOUNDS = ("minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum")
_DATA = frozenset(("enum", "const", "default", "example", "examples"))
"""Members of a schema that hold no schemas."""
_LARGEST, _SMALLEST = 2**63 - 1, -(2**63)


def find_limit(schema: object) -> tuple[str, str] | None:
    """Find the first part that cannot be kept to.

    Args:
        schema: a schema, as JSON has it.

    Returns:
        A JSON pointer to the part, empty for the whole, and what is wrong there; None if nothing is.
    """
    return _bounds(schema) or _circle(schema)


def _circle(schema: object) -> tuple[str, str] | None:
    """The first part that stands for itself."""
    waiting: list[tuple[str, object]] = [("", schema)]
    seen: set[int] = set()
    while waiting:
        place, part = waiting.pop()
        if not isinstance(part, Mapping) or id(part) in seen:
            continue
        seen.add(id(part))
        if _is_circle(schema, part):
            return place, "a reference leads back to itself, so that no answer can be complete"
        target = _target(schema, part)
        if target is not None:
            waiting.append((place, target))  # named by who uses it
        inner = [(place + step, each) for step, each in parts(part) if not step.startswith(_DEFINITIONS)]
        waiting.extend(reversed(inner))
    return None


def _is_circle(schema: object, part: Mapping[str, Any]) -> bool:
    """Whether what fits a part must hold, or be, what fits the part itself."""
    waiting, seen = list(_needed(schema, part)), {id(part)}
    while waiting:
        each = waiting.pop()
        if each is part:
            return True
        if id(each) not in seen:
            seen.add(id(each))
            waiting.extend(_needed(schema, each))
    return False


def _needed(schema: object, part: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The schemas that an answer to ``part``, or what it must hold, has to fit."""
    yield from _same(schema, part)
    kind, properties, least = part.get("type"), part.get("properties"), part.get("minItems")
    if "enum" in part or "const" in part:
        return
    if kind == "object" and isinstance(properties, Mapping) and _listed(part.get("required")):
        held = [properties.get(name) for name in part["required"] if isinstance(name, str)]
    elif kind == "array" and isinstance(least, int) and least > 0:
        first = part.get("prefixItems")
        held = first[:least] if _listed(first) else [part.get("items")]
    else:
        return
    yield from (each for each in held if isinstance(each, Mapping))


def _same(schema: object, part: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The schemas that an answer to ``part`` has to fit too: what it refers to, and what it is made of."""
    target = _target(schema, part)
    if target is not None:
        yield target
    for name in ("allOf", "anyOf", "oneOf"):
        listed = part.get(name)
        # Of several alternatives another may do.
        if isinstance(listed, list) and (name == "allOf" or len(listed) == 1):
            yield from (each for each in listed if isinstance(each, Mapping))


def _target(schema: object, part: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """What a part's reference within the same schema names; None where there is none to be found."""
    pointer = part.get("$ref")
    if not isinstance(pointer, str) or not (pointer == "#" or pointer.startswith("#/")):
        return None
    found: Any = schema
    for step in pointer.split("/")[1:]:
        key = step.replace("~1", "/").replace("~0", "~")
        if isinstance(found, Mapping) and key in found:
            found = found[key]
        elif isinstance(found, list) and key.isdecimal() and int(key) < len(found):
            found = found[int(key)]
        else:
            return None
    return found if isinstance(found, Mapping) else None


def _bounds(schema: object) -> tuple[str, str] | None:
    """The first bound, wherever it stands, that the compiler would loosen or could not survive."""
    waiting: list[tuple[str, object]] = [("", schema)]
    while waiting:
        place, part = waiting.pop()
        if isinstance(part, Mapping):
            if (fault := _bound(part)) is not None:
                return place, fault
            inner = [(f"{place}/{escaped(str(key))}", each) for key, each in part.items() if key not in _DATA]
        else:
            inner = [(f"{place}/{index}", each) for index, each in enumerate(part)] if _listed(part) else []
        waiting.extend(reversed(inner))
    return None


def _listed(part: object) -> TypeGuard[list[object]]:
    return isinstance(part, list)


def _bound(part: Mapping[str, Any]) -> str | None:
    """What is wrong with a part's bounds: the compiler takes them as float64, and of integers 64 bits."""
    kinds = part.get("type")
    kinds = kinds if isinstance(kinds, list) else [kinds]
    whole = "integer" in kinds and "number" not in kinds
    for name in _BOUNDS:
        value = part.get(name)
        if not isinstance(value, int | float) or isinstance(value, bool):
            continue
        taken = _taken(value, whole=whole)
        # At the smallest of 64 bits the compiler's arithmetic overflows, whatever the kind.
        looser = taken < Decimal(value) if name.endswith("inimum") else taken > Decimal(value)
        if value <= _SMALLEST or (looser and {None, "integer", "number"}.intersection(kinds)):
            return f"'{name}' is a number of more digits than can be kept to"
    return None


def _taken(value: float, *, whole: bool) -> Decimal:
    """The bound that an answer is kept to."""
    if not whole:
        return Decimal(repr(float(value))) if isinstance(value, int) else Decimal(value)
    return Decimal(min(max(int(float(value)), _SMALLEST), _LARGEST))


def inline_schemas(source: str) -> Iterator[object]:
    """The JSON schemas that a grammar in Lark holds (``%json {...}``), as far as they are JSON."""
    decoder = json.JSONDecoder()
    for found in re.finditer(r"%json\s*", source):
        with contextlib.suppress(ValueError, RecursionError):
            yield decoder.raw_decode(source, found.end())[0]
