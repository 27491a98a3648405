"""Small questions to the JSON of a request that is translated; an error names the path."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from promptcache_gateway.errors import invalid_request
from promptcache_gateway.upstreams.json_weight import is_too_deep

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from promptcache_gateway.errors import ApiError
    from promptcache_gateway.exchange import Call


def an_object(value: object, path: str) -> dict[str, Any]:
    """The value, which must be an object; raises `ApiError` 400."""
    if not isinstance(value, dict):
        raise wrong(path, "an object")
    return value


def a_list(value: object, path: str) -> list[Any]:
    """The value, which must be a list; raises `ApiError` 400."""
    if not isinstance(value, list):
        raise wrong(path, "a list")
    return value


def a_text(value: object, path: str) -> str:
    """The value, which must be a string; raises `ApiError` 400."""
    if not isinstance(value, str):
        raise wrong(path, "a string")
    return value


def wrong(path: str, expected: str) -> ApiError:
    """400: the value at ``path`` is not what the API describes."""
    return invalid_request(f"Invalid value for '{path}': expected {expected}.", path, "invalid_type")


def untranslatable(path: str, what: str = "") -> ApiError:
    """400: the upstream speaks another API, which has no words for ``what`` stands at ``path``."""
    message = f"{what} at '{path}'" if what else f"'{path}'"
    message = f"{message} cannot be translated for this model's upstream, which speaks another API."
    return invalid_request(message, path, "unsupported_value")


def refuse_too_deep(call: Call) -> None:
    """Raise `ApiError` 400 where a call is nested too deeply to be written anew."""
    if is_too_deep(call.body, call.payload):
        raise invalid_request(
            "The request is nested too deeply to be translated for this model's upstream.",
            code="nested_too_deeply",
        )


def refuse(payload: Mapping[str, Any], names: Iterable[str], within: str = "") -> None:
    """Raise `ApiError` 400 where a field cannot be translated without which the answer is another.

    Args:
        payload: what holds the fields.
        names: those that are refused where they hold anything, the first of them.
        within: the path of ``payload``.
    """
    for name in names:
        if payload.get(name):
            raise untranslatable(f"{within}.{name}" if within else name)
