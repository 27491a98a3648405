"""Texts in Python: f-strings, ``%``, ``format``, ``join``, and how any value looks when it is put into one."""

from __future__ import annotations

import ast
import re
from dataclasses import replace
from typing import TYPE_CHECKING

from promptcache_lint.prompts import Branch, Hole, Text, Trait
from promptcache_lint.readers.placeholders import date_only, named_hole
from promptcache_lint.readers.python.program import Class, Function
from promptcache_lint.readers.python.values import Instance, Map, Ref, Seq, Str, Thing, traits_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from promptcache_lint.places import Place
    from promptcache_lint.prompts import Part
    from promptcache_lint.readers.python.frame import Frame
    from promptcache_lint.readers.python.interpreter import Interpreter
    from promptcache_lint.readers.python.program import Module
    from promptcache_lint.readers.python.values import Traits, Value

    FillOne = Callable[[re.Match[str]], "tuple[Part, ...] | None"]

__all__ = [
    "fill",
    "formatted",
    "join",
    "joined",
    "locator",
    "parts_of",
    "percent",
    "replaced",
    "template_fields",
    "with_pattern",
]

_FIELD = re.compile(
    r"\{\{|\}\}|\{(?P<name>[A-Za-z_]\w*|\d*)(?P<rest>(?:\.\w+|\[[^\]]*\])*)(?:![rsa])?(?::(?P<spec>[^{}]*))?\}"
)
_DOLLAR = re.compile(r"\$\$|\$(?P<name>[A-Za-z_]\w*)|\$\{(?P<braced>[A-Za-z_]\w*)\}")
_PERCENT = re.compile(r"%%|%(?:\((?P<name>\w+)\))?[-+ #0]*\d*(?:\.\d+)?[sdrfixgaeXc]")
_MOST_PARTS = 300


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
    name = naming(node)
    if not name:
        return Hole(label, place)
    return named_hole(name, label, place, machine.vocabulary, guessed=True)


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
            func=ast.Attribute(attr="strip" | "lower" | "upper" | "title" | "isoformat" | "strftime")
        ):
            return naming(node.func.value)
        case ast.Call(func=ast.Name(id="str" | "repr" | "int"), args=[inner]):
            return naming(inner)
        case ast.Call(func=ast.Attribute(attr="get"), args=[ast.Constant(value=str() as key), *_]):
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
    parts += _order_hole(value.traits, frame.module.label(node), place, parts)
    if value.partial and not value.traits:
        parts.append(Hole(frame.module.label(node), place))
    return tuple(parts)


def _order_hole(traits: Traits, label: str, place: Place, parts: list[Part]) -> tuple[Part, ...]:
    """A hole for traits of an order that no item carries already."""
    seen = {trait for part in parts if isinstance(part, Hole) for trait in part.traits}
    origins = {(trait.mark.code, trait.origin) for trait in seen}
    new = tuple(trait for trait in traits if (trait.mark.code, trait.origin) not in origins)
    return (Hole(label, place, new, new[0].mark.stability),) if new else ()


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
        method = machine.method(cls, name)
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


def percent(machine: Interpreter, node: ast.BinOp, left: Str, frame: Frame) -> Value:
    """``text % values``."""
    right = machine.evaluate(node.right, frame)
    elements = node.right.elts if isinstance(node.right, ast.Tuple) else [node.right]
    values = list(right.items) if isinstance(right, Seq) and isinstance(node.right, ast.Tuple) else [right]
    named = right if isinstance(right, Map) else None
    positional = iter(zip(values, elements, strict=False))

    def fill_one(match: re.Match[str]) -> tuple[Part, ...] | None:
        if match[0] == "%%":
            return None
        if match["name"]:
            value = named.get(match["name"]) if named is not None else None
            return parts_of(machine, value, node.right, frame) if value is not None else None
        pair = next(positional, None)
        return parts_of(machine, pair[0], pair[1], frame) if pair is not None else None

    return Str(fill(left.parts, _PERCENT, fill_one, frame.module))


def template_fields(
    machine: Interpreter,
    receiver: Str,
    arguments: list[tuple[Value, ast.expr]],
    named: dict[str, tuple[Value, ast.expr]],
    frame: Frame,
    *,
    dollar: bool = False,
) -> Value:
    """``text.format(…)``, or ``Template(text).substitute(…)`` with ``dollar``."""
    positional = iter(arguments)

    def fill_one(match: re.Match[str]) -> tuple[Part, ...] | None:
        groups = match.groupdict()
        name = groups.get("name") or groups.get("braced") or ""
        if match[0] in {"{{", "}}", "$$"}:
            return None
        pair = named.get(name)
        if pair is None and not dollar:
            pair = arguments[int(name)] if name.isdigit() and int(name) < len(arguments) else None
            pair = next(positional, None) if name == "" else pair
        if pair is None:
            return None
        return formatted(machine, pair[0], pair[1], groups.get("spec") or "", frame)

    return Str(fill(receiver.parts, _DOLLAR if dollar else _FIELD, fill_one, frame.module))


def fill(
    parts: tuple[Part, ...],
    pattern: re.Pattern[str],
    fill_one: FillOne,
    module: Module,
) -> tuple[Part, ...]:
    """Replace the fields of ``pattern`` in the texts; what fills a field stands where the field stands."""
    done: list[Part] = []
    for part in parts:
        if isinstance(part, Branch):
            options = tuple(fill(option, pattern, fill_one, module) for option in part.options)
            done.append(replace(part, options=options))
            continue
        if not isinstance(part, Text):
            done.append(part)
            continue
        done += _filled_text(part, pattern, fill_one, module)
    return tuple(done[:_MOST_PARTS])


def replaced(
    parts: tuple[Part, ...], wanted: str, filling: tuple[Part, ...], module: Module
) -> tuple[Part, ...]:
    """The parts after ``str.replace`` of a literal."""
    return fill(parts, re.compile(re.escape(wanted)), lambda _match: filling, module)


def _filled_text(part: Text, pattern: re.Pattern[str], fill_one: FillOne, module: Module) -> list[Part]:
    done: list[Part] = []
    at = 0
    locate = locator(part, module)
    for match in pattern.finditer(part.text):
        filling = fill_one(match)
        if filling is None:
            continue
        if match.start() > at:
            done.append(Text(part.text[at : match.start()], part.place, part.open))
        at = match.end()
        place = locate(match.start(), match.end())
        # A template from another module is reported where it is filled, which is in the file at hand.
        done += [_put(inner, place) for inner in filling] if place.path == module.source.path else filling
    if at < len(part.text):
        done.append(Text(part.text[at:], part.place, part.open))
    return done


def _put(part: Part, place: Place) -> Part:
    if isinstance(part, Hole):
        traits = tuple(trait.through(part.place).through(place) for trait in part.traits)
        return replace(part, place=place, traits=traits)
    return replace(part, place=place) if isinstance(part, Branch) else part


def locator(part: Text, module: Module) -> Callable[[int, int], Place]:
    """Finds where a stretch of a literal's text stands in the source: escapes and quotes shift it."""
    source, place, text = module.source, part.place, part.text
    if place.path != source.path:
        return lambda _start, _end: place
    first = source.offset(place.row, place.column)
    last = source.offset(place.end_row, place.end_column)

    def locate(start: int, end: int) -> Place:
        wanted = text[start:end]
        at = first - 1
        for _ in range(text.count(wanted, 0, start) + 1):
            found = source.text.find(wanted, at + 1, last)
            if found == -1:
                break
            at = found
        return source.place(at, at + len(wanted)) if at >= first else place

    return locate


def join(machine: Interpreter, separator: Value, items: Value, node: ast.expr, frame: Frame) -> Value:
    """``separator.join(items)``."""
    place = frame.module.place(node)
    glue = separator.parts if isinstance(separator, Str) else ()
    if not isinstance(items, Seq):
        return Str(parts_of(machine, items, node, frame))
    parts: list[Part] = []
    for index, item in enumerate(items.items):
        if index:
            parts += glue
        parts += parts_of(machine, item, node, frame)
        if len(parts) > _MOST_PARTS:
            break
    parts += _order_hole(items.traits, frame.module.label(node), place, parts)
    if items.partial and not items.items:
        parts.append(Hole(frame.module.label(node), place))
    return Str(tuple(parts[:_MOST_PARTS]))
