"""Read one value of a request's body: a number in its bounds, a flag, a text, or a refusal that names it.

Null means absent everywhere, as it does at OpenAI.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from promptcache_gateway.errors import ApiError, invalid_request

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

MAX_STOP_STRINGS = 4
MAX_BIASES = 1024
MAX_DEPTH = 120


def integer(payload: Mapping[str, Any], name: str, *, least: int, most: int = 2**63 - 1) -> int | None:
    """A whole number within bounds, or None."""
    value = payload.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise wrong(name, f"a whole number from {least} to {most}")
    return value


def number(payload: Mapping[str, Any], name: str, least: float, most: float, *, default: float) -> float:
    """A number within bounds, as a float."""
    value = payload.get(name)
    if value is None:
        return default
    if not _is_number(value) or not least <= value <= most:
        raise wrong(name, f"a number from {least:g} to {most:g}")
    return float(value)


def flag(payload: Mapping[str, Any], name: str, *, default: bool = False) -> bool:
    """True or false."""
    value = payload.get(name)
    if value is not None and not isinstance(value, bool):
        raise wrong(name, "true or false")
    return default if value is None else value


def text(payload: Mapping[str, Any], name: str) -> str:
    """A string, empty where it is absent."""
    value = payload.get(name)
    if value is not None and not isinstance(value, str):
        raise wrong(name, "a string")
    return value or ""


def mapping(payload: Mapping[str, Any], name: str) -> dict[str, Any]:
    """An object, empty where it is absent."""
    value = payload.get(name)
    if value is not None and not isinstance(value, dict):
        raise wrong(name, "an object")
    return value or {}


def token_ids(payload: Mapping[str, Any], name: str) -> tuple[int, ...]:
    """A list of token ids, empty where it is absent."""
    value = payload.get(name)
    if value is None:
        return ()
    if not isinstance(value, list) or not all(_is_token(each) for each in value):
        raise wrong(name, "a list of token ids")
    return tuple(value)


def stop_strings(payload: Mapping[str, Any]) -> tuple[str, ...]:
    """``stop``: one string or a few."""
    value = payload.get("stop")
    if value is None:
        return ()
    strings = [value] if isinstance(value, str) else value
    if not isinstance(strings, list) or not all(isinstance(each, str) and each for each in strings):
        raise wrong("stop", "a string, or a list of strings, none of them empty")
    if len(strings) > MAX_STOP_STRINGS:
        raise wrong("stop", f"at most {MAX_STOP_STRINGS} strings")
    return tuple(strings)


def biases(payload: Mapping[str, Any]) -> dict[int, float]:
    """``logit_bias``: token ids, which JSON writes as strings, and numbers from -100 to 100."""
    given = mapping(payload, "logit_bias")
    if len(given) > MAX_BIASES:
        raise wrong("logit_bias", f"at most {MAX_BIASES} tokens")
    made: dict[int, float] = {}
    for key, value in given.items():
        if not (key.isascii() and key.isdigit() and len(key) < 12):
            raise wrong("logit_bias", "an object from token ids to numbers")
        if not _is_number(value) or not -100 <= value <= 100:
            raise wrong(f"logit_bias.{key}", "a number from -100 to 100")
        made[int(key)] = float(value)
    return made


def strings(value: object, path: str, *, most: int) -> Sequence[str]:
    """A list of texts that are not empty."""
    if not isinstance(value, list) or not value or not all(isinstance(each, str) and each for each in value):
        raise wrong(path, "a list of strings, none of them empty")
    if len(value) > most:
        raise wrong(path, f"at most {most} strings")
    return value


def json_schema(value: object, path: str) -> dict[str, Any]:
    """A JSON schema: an object that is not nested beyond what can be worked on."""
    if not isinstance(value, dict):
        raise wrong(path, "a JSON schema")
    level: list[object] = [value]
    for _ in range(MAX_DEPTH):
        level = [
            inner
            for each in level
            if isinstance(each, dict | list)
            for inner in (each.values() if isinstance(each, dict) else each)
        ]
        if not level:
            return value
    raise wrong(path, f"a JSON schema of at most {MAX_DEPTH} levels")


def wrong(path: str, expected: str) -> ApiError:
    """400: the value at ``path`` is not what is expected there."""
    return invalid_request(f"Invalid value for '{path}': expected {expected}.", path, "invalid_value")


def unsupported(path: str, what: str) -> ApiError:
    """400: the API knows this, and the built-in engine does not do it."""
    return ApiError(400, f"'{path}': the built-in engine {what}.", param=path, code="unsupported_parameter")


def _is_token(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**31


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
