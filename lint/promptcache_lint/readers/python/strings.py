"""Texts in Python: f-strings, ``%``, ``format``, ``join``, and how any value looks inside one."""

from __future__ import annotations

import ast
import re
from dataclasses import replace
from typing import TYPE_CHECKING

from promptcache_lint.prompts import Hole, Text, Trait
from promptcache_lint.readers.joining import join_items, order_hole
from promptcache_lint.readers.placeholders import date_only, named_hole
from promptcache_lint.readers.python.program import Class, Function
from promptcache_lint.readers.python.values import Instance, Map, Ref, Seq, Str, Thing, traits_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from promptcache_lint.places import Place
    from promptcache_lint.prompts import Part
    from promptcache_lint.readers.python.frame import Frame
    from promptcache_lint.readers.python.interpreter import Interpreter
    from promptcache_lint.readers.python.values import Value

    FillOne = Callable[[re.Match[str]], "tuple[Part, ...] | None"]

__all__ = [
    "formatted",
    "join",
    "joined",
    "parts_of",
    "with_pattern",
]


_MOST_PARTS = 300
_TIMES = {"PC101", "PC109"}
_GIVEN = re.compile(r"[\w.]*\w\([^)].*", re.DOTALL)
_PRESENT = re.compile(r"(?<![a-z])(?:now|today|clock|current|utc|time)(?![a-z])", re.IGNORECASE)


def parts_of(machine: Interpreter, value: Value, node: ast.expr, frame: Frame) -> tuple[Part, ...]:
    """The parts a value contributes when the expression ``node`` is put into a text."""
    place = frame.module.place(node)
    match value:
        case Str(parts):
            return _stepped(parts, place) if len(parts) <= _MOST_PARTS else parts[:_MOST_PARTS]
        case Thing(constant=str() as constant):
            return (Text(constant, place),)
        case Thing():
            return (_hole(machine, value, node, place, frame),)
        case Seq() | Map():
            return _container(machine, value, node, place, frame)
        case Ref():
            return (_reference(machine, value, node, place, frame),)
        case Instance():
            return _instance(machine, value, node, place, frame)


def _stepped(parts: tuple[Part, ...], place: Place) -> tuple[Part, ...]:
    """The parts of a text that is used at ``place``; holes that stood elsewhere remember the way."""
    return tuple(
        replace(part, traits=tuple(trait.through(part.place) for trait in part.traits))
        if isinstance(part, Hole) and part.traits and part.place.start != place.start
        else part
        for part in parts
    )


def _hole(machine: Interpreter, value: Thing, node: ast.expr, place: Place, frame: Frame) -> Hole:
    label = frame.module.label(node)
    if value.traits:
        stability = max(trait.mark.stability for trait in value.traits)
        return Hole(label, place, value.traits, stability, naming(node))
    if value.settled:
        return Hole(label, place)
    name = _counted(node, machine) if isinstance(node, ast.BinOp) else naming(node) or _owner(node, machine)
    if not name:
        return Hole(label, place)
    hole = named_hole(name, label, place, machine.vocabulary, guessed=True)
    told = any(trait.mark.code in _TIMES for trait in hole.traits)
    return Hole(label, place) if told and _is_of_something(value.label) else hole


def _is_of_something(label: str) -> bool:
    """Whether a call is given something, and says nothing of the present: ``told(session.start)``."""
    return _GIVEN.fullmatch(label) is not None and _PRESENT.search(label) is None


def _owner(node: ast.expr, machine: Interpreter) -> str:
    """Whose data a field is that a variable names: ``customer[row]``, ``getattr(user, field)``."""
    match node:
        case ast.Subscript(value=owner, slice=ast.Name()):
            name = naming(owner)
        case ast.Call(func=ast.Name(id="getattr"), args=[owner, ast.Name(), *_]):
            name = naming(owner)
        case ast.Call(func=ast.Attribute(attr="get", value=owner), args=[ast.Name(), *_]):
            name = naming(owner)
        case _:
            return ""
    mark = machine.vocabulary.name(name) if name else None
    return name if mark is not None and mark.code == "PC104" else ""


def _counted(node: ast.expr, machine: Interpreter) -> str:
    """The name in a calculation that a counter or a figure of usage has: ``usage.total_tokens * price``."""
    if isinstance(node, ast.BinOp):
        return _counted(node.left, machine) or _counted(node.right, machine)
    name = naming(node)
    mark = machine.vocabulary.name(name) if name else None
    return name if mark is not None and mark.code == "PC107" else ""


def naming(node: ast.expr) -> str:
    """The name that says most of what an expression holds: of the variable, or of the function called."""
    match node:
        case ast.Name():
            return node.id
        case ast.Attribute():
            inner = naming(node.value)
            return f"{inner}.{node.attr}" if inner else node.attr
        case ast.Subscript(slice=ast.Constant(value=str() as key)):
            inner = naming(node.value)
            return f"{inner}.{key}" if inner else key
        case ast.Await():
            return naming(node.value)
        case ast.Call(
            func=ast.Attribute(
                value=receiver, attr="strip" | "lower" | "upper" | "title" | "isoformat" | "strftime"
            )
        ):
            return naming(receiver)
        case ast.Call(func=ast.Name(id="str" | "repr" | "int"), args=[inner]):
            return naming(inner)
        case ast.Call(func=ast.Attribute(attr="get"), args=[ast.Constant(value=str() as key), *_]):
            return key
        case ast.Call(func=ast.Name(id="getattr"), args=[_, ast.Constant(value=str() as key), *_]):
            return key
        case ast.Call(args=[], keywords=[]):
            return naming(node.func).rpartition(".")[2].removeprefix("get_")
        case _:
            return ""


def _container(
    machine: Interpreter, value: Seq | Map, node: ast.expr, place: Place, frame: Frame
) -> tuple[Part, ...]:
    items = value.items if isinstance(value, Seq) else tuple(item for _, item in value.pairs)
    parts: list[Part] = [Text("[", place)]
    for item in items[:50]:
        parts += parts_of(machine, item, node, frame) if not isinstance(item, Ref | Instance) else ()
        parts.append(Text(", ", place))
    parts += order_hole(value.traits, frame.module.label(node), place, parts)
    if value.partial and not value.traits:
        parts.append(Hole(frame.module.label(node), place))
    return tuple(parts)


def _reference(machine: Interpreter, value: Ref, node: ast.expr, place: Place, frame: Frame) -> Hole:
    label = frame.module.label(node)
    mark = machine.vocabulary.mark("PC106")
    if isinstance(value.target, Function) and mark is not None:
        return Hole(label, place, (Trait(mark, place, label),), mark.stability)
    if value.target is None and "." not in value.dotted:
        return named_hole(value.dotted, label, place, machine.vocabulary, guessed=True)
    return Hole(label, place)


def _instance(
    machine: Interpreter, value: Instance, node: ast.expr, place: Place, frame: Frame
) -> tuple[Part, ...]:
    cls: Class = value.cls
    for name in ("__str__", "__format__", "__repr__"):
        method = machine.objects.method(cls, name)
        if method is not None:
            result, _ = machine.invoke(method, [], {}, frame, place, bound=value)
            return result.parts if isinstance(result, Str) else (Hole(cls.name, place, traits_of(result)),)
    label = frame.module.label(node)
    mark = machine.vocabulary.mark("PC106")
    plain = not cls.node.bases and not cls.node.decorator_list and not cls.node.keywords
    if plain and mark is not None:
        return (Hole(label, place, (Trait(mark, place, label),), mark.stability),)
    return (Hole(label, place),)


def joined(machine: Interpreter, node: ast.JoinedStr, frame: Frame) -> Value:
    """An f-string."""
    parts: list[Part] = []
    for piece in node.values:
        if isinstance(piece, ast.Constant):
            parts.append(Text(str(piece.value), frame.module.place(node)))
        elif isinstance(piece, ast.FormattedValue):
            value = machine.evaluate(piece.value, frame)
            spec = _literal_spec(piece.format_spec)
            parts += formatted(machine, value, piece.value, spec, frame)
    return Str(tuple(parts))


def _literal_spec(spec: ast.expr | None) -> str:
    if not isinstance(spec, ast.JoinedStr):
        return ""
    return "".join(str(piece.value) for piece in spec.values if isinstance(piece, ast.Constant))


def formatted(
    machine: Interpreter, value: Value, node: ast.expr, spec: str, frame: Frame
) -> tuple[Part, ...]:
    """The parts of a value written with a format: a clock may be left with a date, or nothing volatile."""
    parts = parts_of(machine, value, node, frame)
    mark = machine.vocabulary.mark("PC205") if spec.endswith("n") and "%" not in spec else None
    if mark is not None:
        place = frame.module.place(node)
        label = f"{frame.module.label(node)}:{spec}"
        return (Hole(label, place, (Trait(mark, place, label),), mark.stability),)
    if "%" not in spec:
        return parts
    return tuple(with_pattern(part, spec, machine) for part in parts)


def with_pattern(part: Part, spec: str, machine: Interpreter) -> Part:
    """A hole after a date format has been applied to what fills it."""
    if not isinstance(part, Hole):
        return part
    marks = ((trait, date_only(trait.mark, spec, machine.vocabulary)) for trait in part.traits)
    traits = tuple(replace(trait, mark=mark) for trait, mark in marks if mark is not None)
    return replace(part, traits=traits, stability=max((t.mark.stability for t in traits), default=None))


def join(machine: Interpreter, separator: Value, items: Value, node: ast.expr, frame: Frame) -> Value:
    """``separator.join(items)``."""
    place = frame.module.place(node)
    glue = separator.parts if isinstance(separator, Str) else ()
    if not isinstance(items, Seq):
        return Str(parts_of(machine, items, node, frame))
    label = frame.module.label(node)
    return join_items(glue, items, lambda item: parts_of(machine, item, node, frame), label, place)
