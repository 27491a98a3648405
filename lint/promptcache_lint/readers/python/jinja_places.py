"""Where the parts of a rendered Jinja2 template stand in the program that renders it.

A literal is read as a file of its own; afterwards each place in it becomes one of the program's source.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import replace
from typing import TYPE_CHECKING

from promptcache_lint.places import Place, Source
from promptcache_lint.prompts import Branch, Hole, Text
from promptcache_lint.readers.python.templates import locator

if TYPE_CHECKING:
    from collections.abc import Callable

    from promptcache_lint.prompts import Part, Trait
    from promptcache_lint.readers.python.program import Module, Program

__all__ = ["Literal", "as_filled"]

_NOWHERE = "\0literal"


class Literal:
    """A template that is a text of the program: its ``text``, with a field for each value among its parts."""

    def __init__(self, parts: tuple[Part, ...], module: Module, program: Program) -> None:
        self.holes: dict[str, tuple[Part, ...]] = {}
        self._starts: list[int] = []
        self._locators: list[tuple[Place, Callable[[int, int], Place]]] = []
        text = ""
        for part in parts:
            home = program.displayed(part.place.path) or module
            self._starts.append(len(text))
            if isinstance(part, Text):
                self._locators.append((part.place, locator(part, home)))
                text += part.text
            else:
                name = f"filled_before_{len(self.holes)}"
                self.holes[name] = (part,)
                self._locators.append((part.place, _always(part.place)))
                text += "{{ " + name + " }}"
        self.text = text.replace("\r\n", "\n")
        self.source = Source(_NOWHERE, self.text)

    def placed(self, parts: tuple[Part, ...]) -> tuple[Part, ...]:
        """The parts of the read template, at their places in the program."""
        return tuple(map(self._part, parts))

    def _part(self, part: Part) -> Part:
        place = self._place(part.place)
        match part:
            case Text():
                return Text(part.text, place)
            case Branch():
                options = tuple(self.placed(option) for option in part.options)
                return replace(part, place=place, options=options)
            case Hole():
                return replace(part, place=place, traits=tuple(map(self._trait, part.traits)))

    def _trait(self, trait: Trait) -> Trait:
        """A trait at its places; one that only a name in the template suggests is guessed."""
        named = trait.origin.path == _NOWHERE
        flow = tuple(map(self._place, trait.flow))
        return replace(trait, origin=self._place(trait.origin), flow=flow, guessed=trait.guessed or named)

    def _place(self, place: Place) -> Place:
        if place.path != _NOWHERE:
            return place
        start = self.source.offset(place.row, place.column)
        end = self.source.offset(place.end_row, place.end_column)
        index = max(bisect_right(self._starts, start) - 1, 0)
        if not self._locators:
            return place
        whole, locate = self._locators[index]
        begin = self._starts[index]
        limit = self._starts[index + 1] if index + 1 < len(self._starts) else len(self.text)
        return locate(start - begin, end - begin) if end <= limit else whole


def as_filled(parts: tuple[Part, ...], here: Place) -> tuple[Part, ...]:
    """The parts of a file, at the call that renders it; what only its own names say is reported there."""

    def filled(part: Part) -> Part:
        match part:
            case Hole():
                seen = tuple(trait for trait in part.traits if trait.origin.path != part.place.path)
                traits = tuple(_by_way_of(part.place, trait, here) for trait in seen)
                stability = max((trait.mark.stability for trait in traits), default=None)
                return replace(part, place=here, traits=traits, stability=stability)
            case Branch():
                options = tuple(as_filled(option, here) for option in part.options)
                return replace(part, test="", place=here, options=options)  # told where it is written
            case Text():
                return part

    return tuple(map(filled, parts))


def _by_way_of(field: Place, trait: Trait, here: Place) -> Trait:
    """The trait with a field of a file on its way, in front of the place where it stands now."""
    before = tuple(step for step in trait.flow if step != here)
    return replace(trait, flow=before).through(field)


def _always(place: Place) -> Callable[[int, int], Place]:
    return lambda _start, _end: place
