"""Templates in Python: ``%``, ``format``, `string.Template` and ``replace``, filled with parts.

What fills a field stands where the field stands in the literal, with the way it came in its flow.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from promptcache_lint.prompts import Branch, Hole, Text
from promptcache_lint.readers.placeholders import template_parts
from promptcache_lint.readers.python import strings
from promptcache_lint.readers.python.bindings import is_known
from promptcache_lint.readers.python.values import Map, Seq, Str

if TYPE_CHECKING:
    from collections.abc import Callable

    from promptcache_lint.places import Place
    from promptcache_lint.prompts import Part, Trait
    from promptcache_lint.readers.python.frame import Frame
    from promptcache_lint.readers.python.interpreter import Interpreter
    from promptcache_lint.readers.python.program import Module
    from promptcache_lint.readers.python.values import Value

    FillOne = Callable[[re.Match[str]], "Filling | None"]

__all__ = ["Filling", "Use", "expanded", "locator", "percent", "replaced", "template_fields"]

_FIELD = re.compile(
    r"\{\{|\}\}|\{(?P<name>[A-Za-z_]\w*|\d*)(?P<rest>(?:\.\w+|\[[^\]]*\])*)(?:![rsa])?(?::(?P<spec>[^{}]*))?\}"
)
_DOLLAR = re.compile(r"\$\$|\$(?P<name>[A-Za-z_]\w*)|\$\{(?P<braced>[A-Za-z_]\w*)\}")
_PERCENT = re.compile(r"%%|%(?:\((?P<name>\w+)\))?[-+ #0]*\d*(?:\.\d+)?[sdrfixgaeXc]")
_MOST_PARTS = 300


@dataclass(frozen=True, slots=True)
class Filling:
    """What fills a field; ``known``: the program shows what it is."""

    parts: tuple[Part, ...]
    known: bool


@dataclass(frozen=True, slots=True)
class Use:
    """The expression ``node`` that fills a template, where it runs."""

    machine: Interpreter
    node: ast.expr
    frame: Frame

    def record(self, literal: Text, field: str, filling: Filling, parts: tuple[Part, ...]) -> None:
        """Remember what fills a field of a literal."""
        place = self.frame.module.place(self.node)
        self.machine.sinks.bindings.record(literal, field, parts, place, self.frame, known=filling.known)


def percent(machine: Interpreter, node: ast.BinOp, left: Str, frame: Frame) -> Value:
    """``text % values``."""
    right = machine.evaluate(node.right, frame)
    elements = node.right.elts if isinstance(node.right, ast.Tuple) else [node.right]
    values = list(right.items) if isinstance(right, Seq) and isinstance(node.right, ast.Tuple) else [right]
    named = right if isinstance(right, Map) else None
    positional = iter(zip(values, elements, strict=False))

    def filled(value: Value, expression: ast.expr) -> Filling:
        return Filling(strings.parts_of(machine, value, expression, frame), is_known(value))

    def fill_one(match: re.Match[str]) -> Filling | None:
        if match[0] == "%%":
            return None
        if match["name"]:
            value = named.get(match["name"]) if named is not None else None
            return filled(value, node.right) if value is not None else None
        pair = next(positional, None)
        return filled(*pair) if pair is not None else None

    return Str(_fill(left.parts, _PERCENT, fill_one, Use(machine, node, frame)))


def template_fields(
    use: Use,
    receiver: Str,
    arguments: list[tuple[Value, ast.expr]],
    named: dict[str, tuple[Value, ast.expr]],
    *,
    dollar: bool = False,
) -> Value:
    """``text.format(…)``, or ``Template(text).substitute(…)`` with ``dollar``."""
    positional = iter(arguments)

    def fill_one(match: re.Match[str]) -> Filling | None:
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
        parts = strings.formatted(use.machine, pair[0], pair[1], groups.get("spec") or "", use.frame)
        return Filling(parts, is_known(pair[0]))

    return Str(_fill(receiver.parts, _DOLLAR if dollar else _FIELD, fill_one, use))


def _fill(
    parts: tuple[Part, ...],
    pattern: re.Pattern[str],
    fill_one: FillOne,
    use: Use,
) -> tuple[Part, ...]:
    """Replace the fields of ``pattern`` in the texts; what fills a field stands where the field stands."""
    done: list[Part] = []
    for part in parts:
        if isinstance(part, Branch):
            options = tuple(_fill(option, pattern, fill_one, use) for option in part.options)
            done.append(replace(part, options=options))
            continue
        if not isinstance(part, Text):
            done.append(part)
            continue
        done += _filled_text(part, pattern, fill_one, use)
    return tuple(done[:_MOST_PARTS])


def replaced(use: Use, parts: tuple[Part, ...], wanted: str, filling: Filling) -> tuple[Part, ...]:
    """The parts after ``str.replace`` of a literal."""
    return _fill(parts, re.compile(re.escape(wanted)), lambda _match: filling, use)


def _filled_text(part: Text, pattern: re.Pattern[str], fill_one: FillOne, use: Use) -> list[Part]:
    done: list[Part] = []
    at = 0
    module = use.frame.module
    home = _home(part, module, use.machine)
    locate = locator(part, home)
    for match in pattern.finditer(part.text):
        filling = fill_one(match)
        if filling is None:
            continue
        if match.start() > at:
            done.append(Text(part.text[at : match.start()], part.place, part.open))
        at = match.end()
        place = locate(match.start(), match.end())
        if home is module:
            stood = tuple(_put(inner, place) for inner in filling.parts)
            use.record(part, match[0], filling, stood)
            done += stood
        else:
            # A template of another module is reported there by its names, and here by what really fills it.
            done += [_in_passing(inner, place) for inner in filling.parts]
    if at < len(part.text):
        done.append(Text(part.text[at:], part.place, part.open))
    return done


def _home(part: Text, module: Module, machine: Interpreter) -> Module:
    """The module in whose source a literal stands; ``module`` if it is none that was read as a program."""
    if part.place.path == module.source.path:
        return module
    return machine.program.displayed(part.place.path) or module


def _in_passing(part: Part, field: Place) -> Part:
    """What fills a field of another module: it stands here, and its way leads through the field."""
    if not isinstance(part, Hole):
        return part
    traits = tuple(_by_way_of(field, trait, part.place) for trait in part.traits if not trait.guessed)
    return replace(part, traits=traits)


def _by_way_of(field: Place, trait: Trait, here: Place) -> Trait:
    """The trait with a field on its way, in front of the place where it stands now."""
    before = tuple(step for step in trait.flow if step != here)
    return replace(trait, flow=before).through(field)


def _put(part: Part, place: Place) -> Part:
    if isinstance(part, Hole):
        traits = tuple(trait.through(part.place).through(place) for trait in part.traits)
        return replace(part, place=place, traits=traits)
    return replace(part, place=place) if isinstance(part, Branch) else part


def expanded(parts: tuple[Part, ...], frame: Frame, machine: Interpreter) -> tuple[Part, ...]:
    """The parts, with placeholders in literals that nothing has filled yet as holes."""
    done: list[Part] = []
    for part in parts:
        if isinstance(part, Text) and part.open and part.place.path == frame.module.source.path:
            done += template_parts(part.text, locator(part, frame.module), machine.vocabulary)
        else:
            done.append(part)
    return tuple(done)


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
