"""Running expressions: every kind of node gives a value; calls are left to `calls`."""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from promptcache_lint.prompts import Hole, Text, Trait
from promptcache_lint.readers.placeholders import date_only
from promptcache_lint.readers.python import calls, choosing, containers, strings, templates
from promptcache_lint.readers.python.ages import as_age
from promptcache_lint.readers.python.jinja_templates import Environment
from promptcache_lint.readers.python.objects import with_attributes
from promptcache_lint.readers.python.program import Class, Function, Module
from promptcache_lint.readers.python.prompt_templates import piped
from promptcache_lint.readers.python.values import (
    Instance,
    Map,
    Ref,
    Seq,
    Str,
    Thing,
    Traits,
    order_traits,
    traits_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from promptcache_lint.places import Place
    from promptcache_lint.readers.python.frame import Frame
    from promptcache_lint.readers.python.interpreter import Interpreter
    from promptcache_lint.readers.python.values import Value

__all__ = ["KINDS", "dotted_name", "imported_value", "repeated", "spelling"]


_LONGEST = 1_000_000
"""Characters of a repeated text; a longer one is not written out."""
_PARTS_OF_A_DATE = {
    "year": "%Y",
    "month": "%m",
    "day": "%d",
    "tm_year": "%Y",
    "tm_mon": "%m",
    "tm_mday": "%d",
}
"""Parts of a clock that tick no faster than a date, with the format that writes them."""


def spelling(node: ast.expr) -> str:
    """A name or chain of attributes as text (``self.tools``); empty for anything else."""
    names: list[str] = []
    while isinstance(node, ast.Attribute):
        names.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return ""
    return ".".join([node.id, *reversed(names)])


def _inner(machine: Interpreter, node: ast.Await | ast.YieldFrom | ast.Starred, frame: Frame) -> Value:
    return machine.evaluate(node.value, frame)


def _walrus(machine: Interpreter, node: ast.NamedExpr, frame: Frame) -> Value:
    value = machine.evaluate(node.value, frame)
    frame.set(node.target.id, value)
    return value


def _lambda(machine: Interpreter, node: ast.Lambda, frame: Frame) -> Value:  # noqa: ARG001 - one of `KINDS`
    return Ref("lambda", Function(node, frame.module), closure=frame)


def _signed(machine: Interpreter, node: ast.UnaryOp, frame: Frame) -> Value:
    if isinstance(node.op, ast.Not):
        machine.run_for_effect(node.operand, frame)
        return Thing(frame.module.label(node))
    return Thing(frame.module.label(node), traits_of(machine.evaluate(node.operand, frame)))


def _comparison(machine: Interpreter, node: ast.Compare, frame: Frame) -> Value:
    machine.run_for_effect(node, frame)
    return Thing("", settled=True)


def _constant(machine: Interpreter, node: ast.Constant, frame: Frame) -> Value:  # noqa: ARG001 - one of `KINDS`
    if isinstance(node.value, str):
        return Str((Text(node.value, frame.module.place(node), open=True),) if node.value else ())
    return Thing(constant=repr(node.value) if not isinstance(node.value, bytes) else None, settled=True)


def _yield(machine: Interpreter, node: ast.Yield, frame: Frame) -> Value:
    if node.value is not None:
        value = machine.evaluate(node.value, frame)
        items = next((old for old, _ in frame.returned if isinstance(old, Seq)), Seq((), partial=True))
        frame.returned[:] = [(Seq((*items.items, value)[-100:], partial=True), frame.module.place(node))]
    return Thing()


def _name(machine: Interpreter, node: ast.Name, frame: Frame) -> Value:
    name = node.id
    value = frame.find(name)
    if value is not None:
        if type(value) is Instance and name in frame.owners and name not in {"self", "cls"}:
            return with_attributes(value, name, frame)
        return value
    defining = frame.defining(name)
    if defining is not None:
        return Ref(name, defining.nested[name], closure=defining)
    module = frame.module
    value = machine.global_value(module, name, frame)
    if value is not None:
        return value
    if name in module.functions:
        return Ref(name, module.functions[name])
    if name in module.classes:
        return Ref(name, module.classes[name])
    imported = frame.imports.get(name) or module.imports.get(name)
    if imported is None:
        return Ref(name)
    if name[0].isupper() and not name.isupper():
        return Ref(imported)  # a class: its module is read when an object of it is made
    return imported_value(machine, imported, frame)


def imported_value(machine: Interpreter, dotted: str, frame: Frame) -> Value:
    """What an imported name stands for: a definition or variable of the tree, or a foreign name."""
    found = machine.program.resolve(dotted, frame.module)
    if isinstance(found, tuple):
        module, name = found
        value = machine.global_value(module, name, frame)
        return value if value is not None else Ref(dotted)
    return Ref(dotted, found)


def dotted_name(value: Value) -> str:
    """The dotted name by which the rules know a value: of itself, or of what made it."""
    match value:
        case Ref():
            return value.dotted
        case Thing():
            return value.type
        case Str():
            return "str"
        case _:
            return ""


def _attribute(machine: Interpreter, node: ast.Attribute, frame: Frame) -> Value:
    path = spelling(node)
    if path and (value := frame.find(path)) is not None:
        return value
    base = machine.meant(machine.evaluate(node.value, frame), frame)
    place = frame.module.place(node)
    if (left := machine.ambient.attribute(base, path, frame, place)) is not None:
        return left
    match base:
        case Ref(target=Module() as module):
            return _module_member(machine, module, f"{base.dotted}.{node.attr}", node.attr, frame)
        case Ref(target=Class() as cls):
            method = machine.objects.method(cls, node.attr)
            if method is not None:
                return Ref(f"{base.dotted}.{node.attr}", method)
            value = machine.objects.attribute(Instance(cls), node.attr, frame, place)
            return value if value is not None else Thing(path or node.attr)
        case Ref(target=None):
            dotted = f"{base.dotted}.{node.attr}"
            mark = machine.vocabulary.attribute(dotted)
            if mark is not None:
                return Thing(dotted, (Trait(mark, place, dotted),), dotted)
            return imported_value(machine, dotted, frame) if "." in base.dotted else Ref(dotted)
        case Ref(target=Environment() as environment):
            return machine.jinja.attribute(environment, node.attr)
        case Instance():
            value = machine.objects.attribute(base, node.attr, frame, place)
            return value if value is not None else Thing(path or node.attr)
        case Thing() if node.attr in {"tzinfo", "timezone", "resolution"}:
            return Thing(path or node.attr, settled=True)
        case Thing() if node.attr in _PARTS_OF_A_DATE and base.traits:
            return _part_of_a_date(machine, node.attr, base)
        case Thing():
            return Thing(path or node.attr, base.traits, settled=base.settled and bool(base.traits))
        case _:
            return Thing(path or node.attr, traits_of(base))


def _part_of_a_date(machine: Interpreter, name: str, base: Thing) -> Thing:
    """What a part of a clock keeps, as if it were written by a format."""
    marks = ((t, date_only(t.mark, _PARTS_OF_A_DATE[name], machine.vocabulary)) for t in base.traits)
    kept = tuple(replace(trait, mark=mark) for trait, mark in marks if mark is not None)
    return Thing(name, kept, settled=not kept)


def _module_member(machine: Interpreter, module: Module, dotted: str, name: str, frame: Frame) -> Value:
    found = machine.program.member(module, [name])
    if isinstance(found, tuple):
        value = machine.global_value(found[0], found[1], frame)
        return value if value is not None else Ref(dotted)
    return Ref(dotted, found)


def _operation(machine: Interpreter, node: ast.BinOp, frame: Frame) -> Value:
    left = machine.evaluate(node.left, frame)
    if isinstance(node.op, ast.Mod) and isinstance(left, Str):
        return templates.percent(machine, node, left, frame)
    right = machine.evaluate(node.right, frame)
    if isinstance(node.op, ast.BitOr) and (chain := piped(machine, node, left, right, frame)) is not None:
        return chain
    match left, right:
        case (Str(), _) | (_, Str()) if isinstance(node.op, ast.Add):
            return Str(
                (
                    *strings.parts_of(machine, left, node.left, frame),
                    *strings.parts_of(machine, right, node.right, frame),
                )
            )
        case (Str() as text, other) | (other, Str() as text) if isinstance(node.op, ast.Mult):
            return repeated(text, other, frame.module.label(node), frame.module.place(node))
        case Seq(), Seq() if isinstance(node.op, ast.Add):
            partial = left.partial or right.partial
            return Seq((*left.items, *right.items)[:200], left.traits + right.traits, left.kind, partial)
        case (Seq(), _) | (_, Seq()) if isinstance(node.op, ast.Add):
            known = left if isinstance(left, Seq) else right
            assert isinstance(known, Seq)
            other = right if known is left else left
            items = (*known.items, other) if known is left else (other, *known.items)
            return Seq(items, known.traits + traits_of(other), known.kind, partial=True)
        case Map(), Map():
            merged = left
            for key, value in right.pairs:
                merged = merged.set(key, value)
            return merged
        case (Seq(kind="set"), _) | (_, Seq(kind="set")):
            items = tuple(item for side in (left, right) if isinstance(side, Seq) for item in side.items)
            return Seq(items, order_traits(left) + order_traits(right), "set", partial=True)
        case Ref() | Thing(type="pathlib.Path"), _ if isinstance(node.op, ast.Div):
            return Thing(frame.module.label(node), traits_of(left) + traits_of(right), "pathlib.Path")
    both = tuple(dict.fromkeys(traits_of(left) + traits_of(right)))
    kept = _arithmetic(both, node.op)
    if isinstance(node.op, ast.Sub):
        kept = as_age(kept, node.right, right)
    return Thing(frame.module.label(node), kept, settled=_is_settled(left) and _is_settled(right))


def repeated(text: Str, times: Value, label: str, place: Place) -> Str:
    """A text repeated; one of unknown or very great length is followed by a hole."""
    number = times.constant if isinstance(times, Thing) else None
    once = "".join(part.text for part in text.parts if isinstance(part, Text))
    plain = all(isinstance(part, Text) for part in text.parts)
    if number is None or not number.isdecimal() or not plain or len(once) * int(number[:9]) > _LONGEST:
        return Str((*text.parts, Hole(label, place)))
    if number == "1":
        return text
    return Str((Text(once * int(number), text.parts[0].place if text.parts else place),)) if once else text


def _arithmetic(traits: Traits, operator: ast.operator) -> Traits:
    """A calculation keeps what changes its operands; orders do not survive it."""
    if isinstance(operator, ast.BitAnd | ast.BitOr | ast.BitXor | ast.Add):
        return traits
    return tuple(trait for trait in traits if not trait.mark.order)


def _is_settled(value: Value) -> bool:
    return isinstance(value, Thing) and value.settled


KINDS: dict[type[ast.AST], Callable[[Interpreter, Any, Frame], Value]] = {
    ast.Constant: _constant,
    ast.Name: _name,
    ast.Attribute: _attribute,
    ast.JoinedStr: strings.joined,
    ast.Call: calls.call,
    ast.BinOp: _operation,
    ast.BoolOp: choosing.any_of,
    ast.IfExp: choosing.choice,
    ast.Dict: containers.dict_display,
    ast.List: containers.display,
    ast.Tuple: containers.display,
    ast.Set: containers.display,
    ast.ListComp: containers.comprehension,
    ast.GeneratorExp: containers.comprehension,
    ast.SetComp: containers.comprehension,
    ast.DictComp: containers.comprehension,
    ast.Subscript: containers.subscript,
    ast.Await: _inner,
    ast.YieldFrom: _inner,
    ast.Starred: _inner,
    ast.Yield: _yield,
    ast.NamedExpr: _walrus,
    ast.Lambda: _lambda,
    ast.UnaryOp: _signed,
    ast.Compare: _comparison,
}
"""How each kind of expression runs; any other gives a value of which nothing is known."""
