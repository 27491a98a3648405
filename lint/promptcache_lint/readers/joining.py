"""``separator.join(items)`` in any language: the parts of the items with the glue between them.

How one item looks inside a text is its reader's business, which gives a function for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from promptcache_lint.prompts import Hole
from promptcache_lint.readers.python.values import Str

if TYPE_CHECKING:
    from collections.abc import Callable

    from promptcache_lint.places import Place
    from promptcache_lint.prompts import Part
    from promptcache_lint.readers.python.values import Seq, Traits, Value

__all__ = ["join_items", "order_hole"]

_MOST_PARTS = 300


def join_items(
    glue: tuple[Part, ...], items: Seq, put: Callable[[Value], tuple[Part, ...]], label: str, place: Place
) -> Str:
    """The text of a list's items, ``put`` one by one; ``label`` and ``place`` are of the whole expression."""
    parts: list[Part] = []
    for index, item in enumerate(items.items):
        if index:
            parts += glue
        parts += put(item)
        if len(parts) > _MOST_PARTS:
            break
    parts += order_hole(items.traits, label, place, parts)
    if items.partial and not items.items:
        parts.append(Hole(label, place))
    return Str(tuple(parts[:_MOST_PARTS]))


def order_hole(traits: Traits, label: str, place: Place, parts: list[Part]) -> tuple[Part, ...]:
    """A hole for traits of an order that no item carries already."""
    seen = {
        (trait.mark.code, trait.origin) for part in parts if isinstance(part, Hole) for trait in part.traits
    }
    new = tuple(trait for trait in traits if (trait.mark.code, trait.origin) not in seen)
    return (Hole(label, place, new, new[0].mark.stability),) if new else ()
