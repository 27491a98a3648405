"""Cache keys of requests: which of them are another one each time (PC607), in any language's values."""

from __future__ import annotations

from typing import TYPE_CHECKING

from promptcache_lint.findings import Severity
from promptcache_lint.prompts import Practice, Stability
from promptcache_lint.readers.python.values import Map, traits_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from promptcache_lint.places import Place
    from promptcache_lint.prompts import Trait
    from promptcache_lint.readers.python.values import Value

__all__ = ["key_practices"]

_KEYS = ("prompt_cache_key", "promptCacheKey", "cache_salt", "cacheSalt", "user")
_OPTIONS = ("extra_body", "providerOptions", "openai", "modelKwargs", "model_kwargs")
"""Options of requests that hold further options."""
_SAYS = "`{}` holds {}, which is new in each request{}: equal prefixes do not share a cache."
_VOLATILE = frozenset({"PC101", "PC102", "PC103", "PC107"})


def key_practices(
    given: Map, call: Place, is_made_with: Callable[[Place], bool] = lambda _: False
) -> tuple[Practice, ...]:
    """What is wrong with the cache keys among the options ``given`` to a request, which stands at ``call``.

    A value made in the request itself is another one for each, as is one that ``is_made_with`` tells to be
    made each time on the way to it; one made before may be a conversation's.
    """
    found: dict[str, Practice] = {}
    for name, value in _keys(given):
        trait = next((trait for trait in traits_of(value) if _is_new_each_time(trait)), None)
        if trait is None:
            continue
        here = _inside(trait.origin, call)
        certain = (here or is_made_with(trait.origin)) and not trait.guessed
        found.setdefault(
            name,
            Practice(
                "PC607",
                Severity.WARNING if certain else Severity.INFO,
                trait.origin if here else call,
                _SAYS.format(name, trait.label, "" if certain else " unless a conversation keeps it"),
                source=None if here else trait.origin,
            ),
        )
    return tuple(found.values())


def _keys(given: Map) -> Iterator[tuple[str, Value]]:
    for name, value in given.pairs:
        if name in _KEYS:
            yield name, value
        elif name in _OPTIONS and isinstance(value, Map):
            yield from _keys(value)


def _is_new_each_time(trait: Trait) -> bool:
    mark = trait.mark
    return mark.code in _VOLATILE and mark.stability == Stability.TURN and not trait.once


def _inside(place: Place, whole: Place) -> bool:
    return place.path == whole.path and (whole.row, whole.column) <= (place.row, place.column) < (
        whole.end_row,
        whole.end_column,
    )
