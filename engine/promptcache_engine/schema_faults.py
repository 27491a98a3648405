"""Where in a JSON schema the fault is: the innermost part that cannot be enforced by itself.

What can be enforced is known to whoever compiles; this module only walks the schema's parts and asks.
"""

from collections.abc import Callable, Iterator, Mapping

_MAPS = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
_LISTS = ("anyOf", "oneOf", "allOf", "prefixItems")
_SINGLES = ("items", "additionalProperties", "additionalItems", "not", "if", "then", "else", "contains")
_DEFINITIONS = ("$defs", "definitions")
_OPTIONS = "x-guidance"
_MAX_PROBES = 500


def locate(schema: object, fault: str, fault_of: Callable[[object], str | None]) -> tuple[str, str]:
    """Find the innermost part at fault.

    Args:
        schema: a schema known to be at fault.
        fault: what is wrong with it as a whole.
        fault_of: what is wrong with a schema, or None.

    Returns:
        A JSON pointer, empty for the whole, and what is wrong there.
    """
    inherited = _inherited(schema)
    place, probes = "", 0
    descended = True
    while descended:
        descended = False
        for step, part in parts(schema):
            probes += 1
            if probes > _MAX_PROBES:
                return place, fault
            inner = fault_of(_standalone(part, inherited))
            if inner is not None:
                schema, place, fault, descended = part, place + step, inner, True
                break
    return place, fault


def _inherited(schema: object) -> dict[str, object]:
    """What parts take from the whole: what references may name, and the compiler's options."""
    if not isinstance(schema, Mapping):
        return {}
    return {name: schema[name] for name in (*_DEFINITIONS, _OPTIONS) if name in schema}


def _standalone(part: object, inherited: Mapping[str, object]) -> object:
    """A part as a schema of its own; definitions only where it refers to some, for they may be at fault."""
    if not isinstance(part, Mapping):
        return part
    taken = inherited if _refers(part) else {k: v for k, v in inherited.items() if k == _OPTIONS}
    return {**taken, **part}


def _refers(value: object) -> bool:
    if isinstance(value, Mapping):
        return "$ref" in value or any(_refers(each) for each in value.values())
    return isinstance(value, list) and any(_refers(each) for each in value)


def parts(schema: object) -> Iterator[tuple[str, object]]:
    """The schemas that a schema holds, each with the step of a JSON pointer that leads to it."""
    if not isinstance(schema, Mapping):
        return
    for name in _MAPS:
        group = schema.get(name)
        if isinstance(group, Mapping):
            for key, part in group.items():
                yield f"/{name}/{escaped(str(key))}", part
    for name in _LISTS:
        listed = schema.get(name)
        if isinstance(listed, list):
            for index, part in enumerate(listed):
                yield f"/{name}/{index}", part
    for name in _SINGLES:
        if name in schema:
            yield f"/{name}", schema[name]


def escaped(key: str) -> str:
    """A key as RFC 6901 writes it in a pointer."""
    return key.replace("~", "~0").replace("/", "~1")
