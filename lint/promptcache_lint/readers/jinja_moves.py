"""Parts of a Jinja2 template that are rendered elsewhere: a macro's at its call, a file's at its include."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from promptcache_lint.prompts import Branch, Hole

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from promptcache_lint.places import Place
    from promptcache_lint.prompts import Part, Trait
    from promptcache_lint.readers.jinja_values import Traits

__all__ = ["behind_talk", "filled", "moved", "own_or_moved"]

_OF_ORDER = ("PC4",)
"""What is said of the order of a prompt's sections: it holds behind a conversation as well."""


def filled(parts: tuple[Part, ...], given: dict[str, Traits]) -> tuple[Part, ...]:
    """A macro's parts with its parameters replaced by what is passed for them."""

    def fill(hole: Hole) -> Hole:
        root = hole.label.split(" ")[0].split(".")[0]
        if root not in given:
            return hole
        traits = given[root]
        return replace(hole, traits=traits, stability=traits[0].mark.stability if traits else None)

    return tuple(_each(parts, fill)) if given else parts


def moved(parts: tuple[Part, ...], place: Place) -> Iterator[Part]:
    """Parts that are rendered at ``place``: a macro's or an included file's."""
    for part in parts:
        if isinstance(part, Branch):
            yield replace(part, place=place, options=tuple(tuple(moved(o, place)) for o in part.options))
        elif isinstance(part, Hole):
            traits: tuple[Trait, ...] = tuple(t.through(part.place).through(place) for t in part.traits)
            yield replace(part, place=place, traits=traits)
        else:
            yield replace(part, place=place)


def own_or_moved(parts: tuple[Part, ...], place: Place) -> Iterator[Part]:
    """The parts of a template that extends another: its own where they stand, the other's at ``place``."""
    for part in parts:
        if isinstance(part, Branch):
            options = tuple(tuple(own_or_moved(option, place)) for option in part.options)
            yield replace(part, place=part.place if part.place.path == place.path else place, options=options)
        elif part.place.path == place.path:
            yield part
        else:
            yield from moved((part,), place)


def behind_talk(parts: tuple[Part, ...]) -> Iterator[Part]:
    """Parts that are written behind a whole conversation: as new in each turn as it is, they cost nothing."""

    def settle(hole: Hole) -> Hole:
        kept = tuple(trait for trait in hole.traits if trait.mark.code.startswith(_OF_ORDER))
        return replace(hole, traits=kept, stability=kept[0].mark.stability if kept else None)

    return _each(parts, settle)


def _each(parts: tuple[Part, ...], change: Callable[[Hole], Hole]) -> Iterator[Part]:
    """The parts with each hole changed, those in branches too."""
    for part in parts:
        if isinstance(part, Branch):
            yield replace(part, options=tuple(tuple(_each(option, change)) for option in part.options))
        else:
            yield change(part) if isinstance(part, Hole) else part
