"""Schemas keep the order in which they were first seen.

The order of a schema's properties has meaning (a model fills them in that order) and is part of the prompt.
When the same schema comes back in another order, what is sent is the first one.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from promptcache.canonical import canonical_json
from promptcache.errors import CanonicalJSONError
from promptcache.turns.entries import compact

if TYPE_CHECKING:
    from promptcache.turns.state import State

_SCHEMAS: Final = frozenset(
    {"responseJsonSchema", "responseSchema", "response_json_schema", "response_schema", "schema"}
)
"""Names of what is a schema itself: parameters at Gemini, and what stands inside the others."""
_AROUND: Final = frozenset({"output_config", "output_format", "response_format", "text"})
"""Parameters that hold a schema, at OpenAI and Anthropic."""
_INSIDE: Final = frozenset({"format", "json_schema"})
"""The way to the schema in those; what stands beside it (a verbosity, an effort) may change."""


def pin(state: State, parameters: Mapping[str, Any]) -> tuple[State, dict[str, Any]]:
    """Return the parameters with their schemas in the order first seen, and the state that remembers it."""
    pinned = dict(parameters)
    for name in sorted(parameters):
        if name in _SCHEMAS - {"schema"} | _AROUND:
            state, found = _found(state, name, parameters[name])
            # The whole keeps its order too, as long as nothing in it changes.
            state, pinned[name] = _pinned(state, found) if isinstance(found, Mapping) else (state, found)
    return state, pinned


def _found(state: State, name: str, value: Any) -> tuple[State, Any]:
    """Pin the schema that ``value`` is or holds; what holds none is returned as it is."""
    if not isinstance(value, Mapping):
        return state, value
    if name in _SCHEMAS:
        return _pinned(state, value)
    changed: dict[str, Any] = {}
    for inner in sorted(value.keys() & (_INSIDE | {"schema"})):
        state, new = _found(state, inner, value[inner])
        if new is not value[inner]:
            changed[inner] = new
    return state, {**value, **changed} if changed else value


def _pinned(state: State, value: Mapping[str, Any]) -> tuple[State, Any]:
    try:
        content, text = canonical_json(value), compact(value)
    except (CanonicalJSONError, TypeError, ValueError):
        return state, value  # not JSON; the client that takes it knows what it is
    for known in state.pins:
        if canonical_json(json.loads(known)) == content:
            return state, json.loads(known)
    return replace(state, pins=(*state.pins, text)), value
