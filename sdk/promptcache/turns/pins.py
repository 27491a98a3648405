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

_WITH_SCHEMAS: Final = frozenset(
    {
        "output_config",
        "output_format",
        "response_format",
        "responseJsonSchema",
        "responseSchema",
        "response_json_schema",
        "response_schema",
        "text",
    }
)
"""Parameters that hold schemas, at OpenAI, Anthropic and Gemini."""


def pin(state: State, parameters: Mapping[str, Any]) -> tuple[State, dict[str, Any]]:
    """Return the parameters with their schemas in the order first seen, and the state that remembers it."""
    pinned = dict(parameters)
    for name in parameters.keys() & _WITH_SCHEMAS:
        value = parameters[name]
        if isinstance(value, Mapping):
            state, pinned[name] = _pinned(state, value)
    return state, pinned


def _pinned(state: State, value: Mapping[str, Any]) -> tuple[State, Any]:
    try:
        content, text = canonical_json(value), compact(value)
    except (CanonicalJSONError, TypeError, ValueError):
        return state, value  # not JSON; the client that takes it knows what it is
    for known in state.pins:
        if canonical_json(json.loads(known)) == content:
            return state, json.loads(known)
    return replace(state, pins=(*state.pins, text)), value
