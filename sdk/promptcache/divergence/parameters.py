"""Evidence outside the text: the model, the settings that reach the hidden prompt, the cache key."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from promptcache.divergence.evidence import Finding
from promptcache.providers import all_prompt_parameters, find_model, prompt_parameters

__all__ = ["COMPARED", "parameter_findings", "telling_parameters"]

_KEYS = ("prompt_cache_key", "cache_salt", "prompt_cache_options")
_SCHEMAS = ("response_format", "text", "output_config", "output_format")
COMPARED: frozenset[str] = frozenset({"model", *_KEYS, *_SCHEMAS}).union(*all_prompt_parameters())
"""Names of all that is compared of two requests beside their contents, whoever provides the model."""

_SAME_AS_ABSENT: Mapping[str, tuple[object, ...]] = {
    "tool_choice": ("auto", {"type": "auto"}),
    "parallel_tool_calls": (True,),
    "service_tier": ("auto", "default", "standard_only"),
    "thinking": ({"type": "disabled"},),
    "response_format": ({"type": "text"},),
    "text": ({"format": {"type": "text"}},),
    "speed": ("standard",),
}


def parameter_findings(earlier: Mapping[str, Any], later: Mapping[str, Any]) -> list[Finding]:
    """Return what changed around the text: PC503 for the model, PC504 for settings, PC607 for cache keys.

    A schema of the output that is equal but for the order of its keys is PC201. Each finding's details hold
    ``parameter``, ``before``, ``after`` and ``reach``: the part of the prompt from which the change makes
    everything new (``tools``, ``system`` or ``messages``).
    """
    findings = _reordered(earlier, later)
    if earlier == later:
        return findings  # the ordinary case, at the price of one comparison
    if _differs(earlier, later, "model"):
        findings.append(_finding("PC503", "model", earlier, later, "tools"))
    model = later.get("model")
    facts = find_model(model) if isinstance(model, str) else None
    for name, reach in prompt_parameters(facts.provider if facts else None).items():
        if (name in earlier or name in later) and _differs(earlier, later, name):
            findings.append(_finding("PC504", name, earlier, later, reach))
    findings += [
        _finding("PC607", key, earlier, later, "tools") for key in _KEYS if _differs(earlier, later, key)
    ]
    return findings


def telling_parameters(body: Mapping[str, Any]) -> dict[str, object]:
    """Return what of a request's settings and cache keys shapes its prompt, or says which cache holds it.

    Two requests of one model with equal ones are equal but for their texts. What says the same as its absence
    is left out.
    """
    model = body.get("model")
    facts = find_model(model) if isinstance(model, str) else None
    reach = prompt_parameters(facts.provider if facts else None)
    found = {name: _value(body, name) for name in body if name in reach or name in _KEYS}
    return {name: value for name, value in found.items() if value is not None}


def _reordered(earlier: Mapping[str, Any], later: Mapping[str, Any]) -> list[Finding]:
    """Settings with a schema in them whose keys came in another order: other bytes, the same meaning."""
    return [
        _finding("PC201", name, earlier, later, "tools")
        for name in _SCHEMAS
        if earlier.get(name)
        and earlier.get(name) == later.get(name)
        and _written(earlier, name) != _written(later, name)
    ]


def _written(body: Mapping[str, Any], name: str) -> str:
    return json.dumps(body[name], default=str)


def _differs(earlier: Mapping[str, Any], later: Mapping[str, Any], name: str) -> bool:
    return _value(earlier, name) != _value(later, name)


def _value(body: Mapping[str, Any], name: str) -> object:
    value = body.get(name)
    if value is None or value in _SAME_AS_ABSENT.get(name, ()):
        return None
    if name == "prompt_cache_options" and isinstance(value, Mapping):
        return value.get("mode", "implicit")  # the other options steer reporting and lifetime, not identity
    return value


def _finding(
    code: str, name: str, earlier: Mapping[str, Any], later: Mapping[str, Any], reach: str
) -> Finding:
    details = {"parameter": name, "before": earlier.get(name), "after": later.get(name), "reach": reach}
    return Finding(code, details)
