"""The Jinja2 environment of templates: nothing in it depends on anything but the variables.

Undefined names are errors, `tojson` writes canonical JSON, the `random` filter and `lipsum` are gone, sets
are sorted before a template sees them, and an object without a text form of its own cannot be written.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jinja2 import BaseLoader, Environment, StrictUndefined, Undefined
from jinja2.exceptions import TemplateRuntimeError

from promptcache.canonical import canonical_json


def make_environment(loader: BaseLoader) -> Environment:
    """Return an environment for prompts: plain text, trailing newline kept, no chance."""
    environment = Environment(
        loader=loader,
        undefined=StrictUndefined,
        autoescape=False,  # noqa: S701 - a prompt is not HTML
        keep_trailing_newline=True,
        finalize=_finalize,
    )
    environment.filters["tojson"] = _tojson
    environment.filters.pop("random")
    environment.globals.pop("lipsum")
    return environment


def settled(value: Any) -> Any:
    """Return ``value`` with every set in it, also inside lists and dicts, as a sorted list."""
    if isinstance(value, (set, frozenset)):
        return sorted((settled(item) for item in value), key=canonical_json)
    if type(value) in (list, tuple):
        return [settled(item) for item in value]
    if type(value) is dict:
        return {key: settled(item) for key, item in value.items()}
    return value


def _tojson(value: Any, indent: int | None = None) -> str:
    if indent is not None:
        raise TemplateRuntimeError("tojson writes canonical JSON, which has no indent")
    return canonical_json(value).decode()


def _finalize(value: Any) -> Any:
    kind = type(value)
    if isinstance(value, Undefined):
        return value  # says itself what is missing
    own_text = any(getattr(kind, name) is not getattr(object, name) for name in ("__str__", "__repr__"))
    if callable(value) or not own_text:
        raise TemplateRuntimeError(f"a {kind.__name__} has no stable text (PC106); write its fields")
    if isinstance(value, (set, frozenset)) or (isinstance(value, Mapping) and kind is not dict):
        raise TemplateRuntimeError(f"a {kind.__name__} has no stable order (PC202); sort it")
    return value
