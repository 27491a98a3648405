"""Templates that are filled later: by `replace`, or by a template library's `format`."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from promptcache_lint.prompts import Hole, Text
from promptcache_lint.readers.python.values import Map, Ref, Str
from promptcache_lint.readers.typescript import texts

if TYPE_CHECKING:
    from collections.abc import Callable

    from tree_sitter import Node

    from promptcache_lint.places import Place
    from promptcache_lint.prompts import Part
    from promptcache_lint.readers.typescript.frame import Frame
    from promptcache_lint.readers.typescript.machine import Machine
    from promptcache_lint.readers.typescript.module import Module

__all__ = ["filled", "locator", "replaced"]

_MOST_PARTS = 300


def locator(part: Text, module: Module) -> tuple[str, Callable[[int, int], Place]]:
    """A literal's text as the file spells it, and a function from offsets in it to places."""
    source = module.source
    start = source.offset(part.place.row, part.place.column)
    end = source.offset(part.place.end_row, part.place.end_column)
    return source.text[start:end], lambda a, b: source.place(start + a, start + b)


def replaced(value: Str, wanted: str, new: tuple[Part, ...], module: Module) -> Str:
    """The text with each ``wanted`` in its literals replaced by parts, whose holes stand there now."""
    done: list[Part] = []
    for part in value.parts:
        if not isinstance(part, Text) or wanted not in part.text:
            done.append(part)
            continue
        here = part.place.path == module.source.path
        text, locate = locator(part, module) if here else (part.text, None)
        if wanted not in text:
            text, locate = part.text, None
        at = 0
        while (found := text.find(wanted, at)) != -1:
            place = locate(found, found + len(wanted)) if locate is not None else None
            done += [replace(part, text=text[at:found]), *(_standing(piece, place) for piece in new)]
            at = found + len(wanted)
        done.append(replace(part, text=text[at:]))
    return Str(tuple(done[:_MOST_PARTS]))


def _standing(part: Part, place: Place | None) -> Part:
    if place is None or not isinstance(part, Hole):
        return part
    return replace(part, place=place, traits=tuple(trait.through(part.place) for trait in part.traits))


def filled(machine: Machine, value: Str, given: Map, node: Node, frame: Frame) -> Str:
    """A template of LangChain filled with values: ``{x}`` and ``{{x}}`` by name."""
    for key, item in given.pairs:
        if key is None:
            continue
        inner = item
        if isinstance(inner, Ref):  # a function that makes the value when the template is filled
            inner = machine.call(inner, [], frame, frame.module.place(node)) or inner
        new = texts.parts_of(machine, inner, node, frame)
        for wanted in (f"{{{{{key}}}}}", f"{{{key}}}"):
            if any(isinstance(part, Text) and wanted in part.text for part in value.parts):
                value = replaced(value, wanted, new, frame.module)
                break
    return value
