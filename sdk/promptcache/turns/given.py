"""What callers give, looked at when they give it: a wrong kind is said at once, with its place and a remedy.

What is kept is sent again with every request, so what no provider takes (a lone surrogate, NaN) must not get
in. Answers of models have their own check in `promptcache.turns.wellformed`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, TypeGuard

from promptcache.canonical import canonical_json
from promptcache.errors import CanonicalJSONError, ConversationError
from promptcache.turns.entries import compact, surrogate_in

_PLAIN: Final = "Use plain data only: text, finite numbers, lists and dicts."


def text(value: Any, where: str) -> str:
    """Return ``value``; raises `ConversationError` naming ``where`` when it is no text that can be sent."""
    if not isinstance(value, str):
        raise ConversationError(f"{where} is a {type(value).__name__}, not text.", remedy="Give a str.")
    found = surrogate_in(value)
    if found:
        raise ConversationError(
            f"{where} holds {found}, which no provider takes.",
            remedy="Decode the text rightly, or with errors='replace'.",
        )
    return value


def header(value: Any, where: str) -> str | None:
    """Return a name that can travel as an HTTP header, or None; raises `ConversationError` for others."""
    if value is None:
        return None
    name = text(value, where)
    if not (name.isascii() and (name.isprintable() and name == name.strip())):
        raise ConversationError(
            f"{where} {name!r} cannot travel as a header.", remedy="Use printable ASCII characters only."
        )
    return name


def json_text(value: Any, where: str) -> str:
    """Return the JSON text of plain data; raises `ConversationError` naming ``where`` when it is none."""
    try:
        return compact(value)
    except (TypeError, ValueError, RecursionError) as error:
        raise ConversationError(f"{where} is not JSON ({error}).", remedy=_PLAIN) from None


def canonical(value: Any, where: str) -> str:
    """Return ``value`` as canonical JSON; a `CanonicalJSONError` says its place from ``where`` on."""
    try:
        return canonical_json(value).decode()
    except CanonicalJSONError as error:
        place = f"{where}{error.path.removeprefix('$')}"
        raise CanonicalJSONError(place, error.problem, remedy=error.remedy) from None


def each(values: Any, where: str) -> list[Any]:
    """Return the items of a list or the like; a single text or dict is refused, not taken apart."""
    if isinstance(values, (str, bytes, Mapping)) or not isinstance(values, Iterable):
        raise ConversationError(f"{where} is a {type(values).__name__}, not a list.", remedy="Give a list.")
    return list(values)


def texts(values: Any, where: str) -> tuple[str, ...]:
    """Return texts given as a list or the like; raises `ConversationError` for anything else."""
    return tuple(text(value, f"{where}[{index}]") for index, value in enumerate(each(values, where)))


def mapping(value: Any, where: str) -> Mapping[str, Any]:
    """Return a mapping with names as keys; raises `ConversationError` for anything else."""
    if not isinstance(value, Mapping):
        raise ConversationError(f"{where} is a {type(value).__name__}, not a dict.", remedy="Give a dict.")
    for name in value:
        text(name, f"A name in {where}")
    return value


def whole(value: Any, where: str) -> int:
    """Return a whole number that is not negative; raises `ConversationError` for anything else."""
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise ConversationError(f"{where} is {value!r}.", remedy="Give a whole number, 0 or more.")
    return value


def rate(value: Any, where: str) -> float | None:
    """Return a number above 0, or None; raises `ConversationError` for anything else."""
    if value is not None and not (_is_number(value) and 0 < value < float("inf")):
        raise ConversationError(f"{where} is {value!r}.", remedy="Give a number above 0, or leave it out.")
    return value


def _is_number(value: Any) -> TypeGuard[float]:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
