"""Texts in TypeScript: template strings, ``join``, templates filled later, and any value in a text."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from promptcache_lint.places import Place
from promptcache_lint.prompts import Hole, Text
from promptcache_lint.readers.joining import join_items, order_hole
from promptcache_lint.readers.placeholders import named_hole
from promptcache_lint.readers.python.values import Instance, Map, Ref, Seq, Str, Thing
from promptcache_lint.readers.typescript import naming
from promptcache_lint.rulebook import in_words

if TYPE_CHECKING:
    from tree_sitter import Node

    from promptcache_lint.prompts import Part
    from promptcache_lint.readers.python.values import Value
    from promptcache_lint.readers.typescript.frame import Frame
    from promptcache_lint.readers.typescript.machine import Machine
    from promptcache_lint.readers.typescript.module import Module

__all__ = ["join", "parts_of", "raw", "string", "template", "written"]

_MOST_PARTS = 300
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "v": "\v", "0": "\0"}


def string(node: Node, frame: Frame) -> Str:
    """A string literal."""
    return Str(_literal_parts(node, frame.module, open_=True))


def _literal_parts(node: Node, module: Module, *, open_: bool) -> tuple[Part, ...]:
    pieces: list[Part] = []
    run = node.named_children
    if run:
        pieces.append(_text(run, module, open_=open_))
    return tuple(pieces)


def _text(run: list[Node], module: Module, *, open_: bool) -> Text:
    """One text of adjacent fragments and escapes."""
    first, last = module.place(run[0]), module.place(run[-1])
    place = Place(first.path, first.row, first.column, last.end_row, last.end_column)
    text = "".join(
        _unescaped(module.text(node)) if node.type == "escape_sequence" else module.text(node) for node in run
    )
    return Text(text, place, open=open_ and "{" in text)


def _unescaped(text: str) -> str:
    mark = text[1:2]
    if mark in _ESCAPES:
        return _ESCAPES[mark]
    if mark in {"u", "x"}:
        try:
            return chr(int(text[2:].strip("{}"), 16))
        except ValueError:
            return "?"
    return "" if mark in {"\n", "\r"} else text[1:]


def template(machine: Machine, node: Node, frame: Frame) -> Str:
    """A template string."""
    parts: list[Part] = []
    run: list[Node] = []
    children = node.named_children
    plain = not any(child.type == "template_substitution" for child in children)
    for child in children:
        if child.type != "template_substitution":
            run.append(child)
            continue
        if run:
            parts.append(_text(run, frame.module, open_=plain))
            run = []
        inner = child.named_children[0] if child.named_children else None
        if inner is not None:
            parts += parts_of(machine, machine.evaluate(inner, frame), inner, frame)
    if run:
        parts.append(_text(run, frame.module, open_=plain))
    return Str(tuple(parts[:_MOST_PARTS]))


def parts_of(machine: Machine, value: Value, node: Node, frame: Frame) -> tuple[Part, ...]:
    """The parts a value contributes when the expression ``node`` is put into a text."""
    place = frame.module.place(node)
    match value:
        case Str(parts):
            hole = _named(machine, value, node, place, frame)
            return (hole,) if hole is not None else _stepped(parts[:_MOST_PARTS], place)
        case Thing(constant=str() as constant):
            return (Text(constant, place),)
        case Thing():
            return (_hole(machine, value, node, place, frame),)
        case Seq() | Map():
            return _container(machine, value, node, place, frame)
        case Ref(target=None) if "." not in value.dotted:
            return (
                named_hole(value.dotted, frame.module.label(node), place, machine.vocabulary, guessed=True),
            )
        case Instance():
            return _instance(machine, value, node, place, frame)
        case _:
            return (Hole(frame.module.label(node), place),)


def _named(machine: Machine, value: Str, node: Node, place: Place, frame: Frame) -> Hole | None:
    """A text without words of its own is known by its name: ``context``, joined from documents."""
    if node.type != "identifier" or not any(isinstance(part, Hole) for part in value.parts):
        return None
    for part in value.parts:
        known = isinstance(part, Text) and not any(map(str.isalnum, part.text))
        if not known and not (isinstance(part, Hole) and not part.traits):
            return None
    hole = named_hole(
        naming.naming(node, frame.module), frame.module.label(node), place, machine.vocabulary, guessed=True
    )
    return hole if hole.traits else None


def _stepped(parts: tuple[Part, ...], place: Place) -> tuple[Part, ...]:
    """The parts of a text that is used at ``place``; holes that stood elsewhere remember the way."""
    return tuple(
        replace(part, traits=tuple(trait.through(part.place) for trait in part.traits))
        if isinstance(part, Hole) and part.traits and part.place.start != place.start
        else part
        for part in parts
    )


def _hole(machine: Machine, value: Thing, node: Node, place: Place, frame: Frame) -> Hole:
    label = frame.module.label(node)
    name = naming.naming(node, frame.module)
    if value.traits:
        stability = max(trait.mark.stability for trait in value.traits)
        return Hole(label, place, value.traits, stability, in_words(name))
    if value.settled or not name:
        return Hole(label, place)
    return named_hole(name, label, place, machine.vocabulary, guessed=True)


def _container(
    machine: Machine, value: Seq | Map, node: Node, place: Place, frame: Frame
) -> tuple[Part, ...]:
    items = value.items if isinstance(value, Seq) else tuple(item for _, item in value.pairs)
    parts: list[Part] = [Text("[", place)]
    for item in items[:50]:
        parts += parts_of(machine, item, node, frame) if not isinstance(item, Ref | Instance) else ()
        parts.append(Text(", ", place))
    parts += order_hole(value.traits, frame.module.label(node), place, parts)
    if value.partial and not value.traits:
        parts.append(Hole(frame.module.label(node), place))
    return tuple(parts[:_MOST_PARTS])


def _instance(machine: Machine, value: Instance, node: Node, place: Place, frame: Frame) -> tuple[Part, ...]:
    method = machine.objects.method(value.cls, "toString")
    if method is None:
        return (Hole(frame.module.label(node), place),)
    result = machine.invoke(method, value.cls.frame, [], frame, place, this=value)[0]
    return result.parts if isinstance(result, Str) else (Hole(value.cls.name, place),)


def join(machine: Machine, separator: Value | None, items: Value, node: Node, frame: Frame) -> Value:
    """``items.join(separator)``."""
    place = frame.module.place(node)
    glue: tuple[Part, ...] = separator.parts if isinstance(separator, Str) else (Text(",", place),)
    if not isinstance(items, Seq):
        return Str(parts_of(machine, items, node, frame))
    label = frame.module.label(node)

    def put(item: Value) -> tuple[Part, ...]:
        parts = parts_of(machine, item, node, frame)
        return parts if items.partial else _own_place(parts, item, place)

    return join_items(glue, items, put, label, place)


def _own_place(parts: tuple[Part, ...], item: Value, place: Place) -> tuple[Part, ...]:
    """A volatile item of a joined list stands where the list names it, if that is in the same file."""
    if not isinstance(item, Thing) or not item.traits or item.traits[0].mark.order:
        return parts
    trait = item.traits[0]
    where = next((step for step in reversed((trait.origin, *trait.flow)) if step.path == place.path), place)
    return tuple(replace(part, place=where) if isinstance(part, Hole) else part for part in parts)


def raw(node: Node, frame: Frame) -> tuple[Part, ...]:
    """Text between JSX tags."""
    return (Text(frame.module.text(node), frame.module.place(node)),)


def written(text: str, node: Node, frame: Frame) -> Str:
    """A text that the source says in other words, at ``node``."""
    return Str((Text(text, frame.module.place(node)),))
