"""What the caller wants the answer's text to be: ``response_format``, and the fields vLLM's users know.

The shape is read here and enforced by the engine; what is wrong inside a schema only the engine can tell.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from promptcache_gateway.errors import invalid_request
from promptcache_gateway.upstreams.parameter_values import json_schema, strings, unsupported, wrong

if TYPE_CHECKING:
    from collections.abc import Mapping

MAX_CHOICES = 1024
MAX_PATTERN = 65_536

_GUIDED = {
    "guided_json": "json",
    "guided_regex": "regex",
    "guided_choice": "choice",
    "guided_grammar": "grammar",
}
_STRUCTURED = ("json", "regex", "choice", "grammar", "json_object")


@dataclass(frozen=True, slots=True)
class OutputShape:
    """A constraint on the answer's text.

    Attributes:
        kind: ``json_schema``, ``regex``, ``choice`` or ``lark``.
        value: a schema (dict), a text, or a list of texts.
        path: where in the body it stands, for whoever finds it at fault.
    """

    kind: str
    value: Any
    path: str


def read_output_shape(payload: Mapping[str, Any]) -> OutputShape | None:
    """The shape asked for, or None where any text will do.

    Raises:
        ApiError: 400 naming the path of what is wrong, or the second of two shapes.
    """
    found = [shape for shape in (_response_format(payload), _structured(payload)) if shape is not None]
    found += [
        _shape(kind, payload[name], name) for name, kind in _GUIDED.items() if payload.get(name) is not None
    ]
    if len(found) > 1:
        raise invalid_request(
            f"'{found[0].path}' and '{found[1].path}' both shape the answer: send one of them.",
            found[1].path,
            "invalid_value",
        )
    return found[0] if found else None


def _response_format(payload: Mapping[str, Any]) -> OutputShape | None:
    wanted = payload.get("response_format")
    if wanted is None:
        return None
    if not isinstance(wanted, dict):
        raise wrong("response_format", "an object with 'type'")
    match wanted.get("type"):
        case "text":
            return None
        case "json_object":
            return OutputShape("json_schema", {"type": "object"}, "response_format")
        case "json_schema":
            return _json_schema(wanted.get("json_schema"))
        case _:
            raise wrong("response_format.type", "'text', 'json_object' or 'json_schema'")


def _json_schema(wanted: object) -> OutputShape:
    path = "response_format.json_schema"
    if not isinstance(wanted, dict):
        raise wrong(path, "an object with 'name' and 'schema'")
    schema, strict = json_schema(wanted.get("schema"), f"{path}.schema"), wanted.get("strict")
    if strict is not None and not isinstance(strict, bool):
        raise wrong(f"{path}.strict", "true or false")
    return OutputShape("json_schema", schema if strict else leniently(schema), f"{path}.schema")


def leniently(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema with the engine's leave to pass over what it cannot enforce, and to read oneOf as anyOf."""
    return {**schema, "x-guidance": {"lenient": True, "coerce_one_of": True}}


def _structured(payload: Mapping[str, Any]) -> OutputShape | None:
    wanted = payload.get("structured_outputs")
    if wanted is None:
        return None
    if not isinstance(wanted, dict):
        raise wrong("structured_outputs", "an object")
    given = {name: value for name, value in wanted.items() if value is not None}
    for name in given:
        if name not in _STRUCTURED:
            raise unsupported(f"structured_outputs.{name[:40]}", "does not know this shape")
    if len(given) != 1:
        raise wrong("structured_outputs", f"exactly one of {', '.join(_STRUCTURED)}")
    ((kind, value),) = given.items()
    return _shape(kind, value, f"structured_outputs.{kind}")


def _shape(kind: str, value: Any, path: str) -> OutputShape:
    match kind:
        case "json":
            return OutputShape("json_schema", leniently(json_schema(value, path)), path)
        case "json_object":
            if value is not True:
                raise wrong(path, "true")
            return OutputShape("json_schema", {"type": "object"}, path)
        case "choice":
            return OutputShape("choice", list(strings(value, path, most=MAX_CHOICES)), path)
        case _:
            if not isinstance(value, str) or not 0 < len(value) <= MAX_PATTERN:
                raise wrong(path, f"a text of at most {MAX_PATTERN} characters")
            return OutputShape("regex" if kind == "regex" else "lark", value, path)
