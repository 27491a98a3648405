"""Running statements: bindings, branches (both ways, then merged), loops (once), definitions, returns."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from promptcache_lint.prompts import Trait
from promptcache_lint.readers.python.merging import merge
from promptcache_lint.readers.python.modules import Function, add_imports
from promptcache_lint.readers.python.singletons import is_made_once, returns_what_is_there
from promptcache_lint.readers.python.values import (
    Map,
    Seq,
    Thing,
    element_of,
    map_traits,
    order_traits,
    with_traits,
    without_order,
)

if TYPE_CHECKING:
    from promptcache_lint.readers.python.frame import Frame
    from promptcache_lint.readers.python.interpreter import Interpreter
    from promptcache_lint.readers.python.values import Traits, Value

__all__ = ["assign", "run"]

_ROUND = re.compile(
    r"(?:\w+_)?(?:step|turn|round|iteration|attempt|cycle)(?:_(?:no|num|number|idx|index|count))?"
)
_NO_CACHE = re.compile(r"(?:disable|bypass|bust|skip|avoid|defeat)_?\w*cach", re.IGNORECASE)


def run(machine: Interpreter, body: list[ast.stmt], frame: Frame) -> bool:
    """Run statements in order; True when control never reaches the end of ``body``."""
    outside, only = frame.kept, frame.only
    try:
        for statement in body:
            try:
                if (only is None or statement in only) and _statement(machine, statement, frame):
                    return True
            except RecursionError:
                if frame.depth or not frame.at_module_level:
                    raise
            frame.kept = frame.kept or returns_what_is_there(statement, body, frame)
    finally:
        frame.kept = outside
    return False


def _statement(machine: Interpreter, node: ast.stmt, frame: Frame) -> bool:  # noqa: C901 - one case a statement
    match node:
        case ast.Expr():
            machine.run_for_effect(node.value, frame)
        case ast.Assign():
            value = machine.evaluate(node.value, frame)
            for target in node.targets:
                assign(machine, target, value, frame)
        case ast.AnnAssign():
            if node.value is not None:
                assign(machine, node.target, machine.evaluate(node.value, frame), frame)
        case ast.AugAssign():
            _augment(machine, node, frame)
        case ast.Return() if frame.only is not None:
            return True
        case ast.Return():
            value = machine.evaluate(node.value, frame) if node.value else Thing(constant="None")
            frame.returned.append((value, frame.module.place(node)))
            return True
        case ast.If():
            return _branch(machine, node, frame)
        case ast.For() | ast.AsyncFor():
            iterable = machine.evaluate(node.iter, frame)
            counted = _counter(machine, node, frame)
            each = counted or element_of(iterable)
            assign(machine, node.target, without_order(each) if _looks_up(node) else each, frame)
            before = dict(frame.names)
            run(machine, node.body, frame)
            _grown(frame, before, order_traits(iterable))
            run(machine, node.orelse, frame)
        case ast.While():
            machine.run_for_effect(node.test, frame)
            run(machine, node.body, frame)
            run(machine, node.orelse, frame)
        case ast.With() | ast.AsyncWith():
            for item in node.items:
                value = machine.evaluate(item.context_expr, frame)
                if item.optional_vars is not None:
                    assign(machine, item.optional_vars, value, frame)
            return run(machine, node.body, frame)
        case ast.Try() | ast.TryStar():
            return _try(machine, node, frame)
        case ast.Match():
            _match(machine, node, frame)
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            if not frame.at_module_level:
                frame.nested[node.name] = Function(node, frame.module, frame.owner)
                frame.names.pop(node.name, None)
        case ast.Import() | ast.ImportFrom():
            add_imports(frame.imports, node)
        case ast.Raise() | ast.Break() | ast.Continue():
            return True
        case _:
            return False
    return False


def _looks_up(node: ast.For | ast.AsyncFor) -> bool:
    """Whether a loop ends at the item that equals something: which one that is, no order decides."""
    for inner in node.body:
        if isinstance(inner, ast.If) and isinstance(inner.body[-1], ast.Return | ast.Break):
            tests = (test for test in ast.walk(inner.test) if isinstance(test, ast.Compare))
            if any(isinstance(op, ast.Eq) for test in tests for op in test.ops):
                return True
    return False


def _grown(frame: Frame, before: dict[str, Value], order: Traits) -> None:
    """Lists that grew in a loop have the order of what it went through."""
    if not order:
        return
    for name, value in frame.names.items():
        old = before.get(name)
        if (
            isinstance(old, Seq)
            and isinstance(value, Seq)
            and value.kind != "set"
            and value.items != old.items
        ):
            frame.names[name] = with_traits(value, order)


def assign(machine: Interpreter, target: ast.expr, value: Value, frame: Frame) -> None:
    """Bind a target: a name, an attribute, an item, or a tuple of targets."""
    match target:
        case ast.Name():
            frame.set(target.id, value)
            machine.sinks.assigned(target.id, value, target, frame)
        case ast.Attribute():
            spelling = machine.spelling(target)
            if spelling:
                frame.set(spelling, value)
            machine.sinks.assigned(target.attr, value, target, frame)
        case ast.Subscript():
            _store_item(machine, target, value, frame)
        case ast.Tuple() | ast.List():
            for index, inner in enumerate(target.elts):
                assign(machine, inner, _item(value, index), frame)
        case ast.Starred():
            assign(machine, target.value, value, frame)
        case _:
            return


def _item(value: Value, index: int) -> Value:
    if isinstance(value, Seq) and value.kind == "tuple" and index < len(value.items):
        return value.items[index]
    if isinstance(value, Seq) and not value.partial and index < len(value.items):
        return value.items[index]
    return element_of(value)


def _store_item(machine: Interpreter, target: ast.Subscript, value: Value, frame: Frame) -> None:
    spelling = machine.spelling(target.value)
    if not spelling:
        return
    container = machine.evaluate(target.value, frame)
    key = target.slice.value if isinstance(target.slice, ast.Constant) else None
    if isinstance(container, Map):
        frame.set(spelling, container.set(key if isinstance(key, str) else None, value))
    elif isinstance(container, Seq):
        frame.set(spelling, Seq((*container.items, value), container.traits, container.kind, partial=True))
    if isinstance(key, str):
        machine.sinks.assigned(key, value, target, frame)


def _augment(machine: Interpreter, node: ast.AugAssign, frame: Frame) -> None:
    left = ast.copy_location(_loading(node.target), node.target)
    combined = ast.copy_location(ast.BinOp(left=left, op=node.op, right=node.value), node)
    value = machine.counters.stepped(node, machine.evaluate(combined, frame), frame)
    assign(machine, node.target, value, frame)


def _loading(target: ast.expr) -> ast.expr:
    match target:
        case ast.Name():
            return ast.Name(id=target.id, ctx=ast.Load())
        case ast.Attribute():
            return ast.Attribute(value=target.value, attr=target.attr, ctx=ast.Load())
        case ast.Subscript():
            return ast.Subscript(value=target.value, slice=target.slice, ctx=ast.Load())
        case _:
            return target


def _counter(machine: Interpreter, node: ast.For | ast.AsyncFor, frame: Frame) -> Value | None:
    """The number of a round, where a loop counts rounds: ``for step in range(20)``."""
    match node:
        case ast.For(
            target=ast.Name(id=name), iter=ast.Call(func=ast.Name(id="range") | ast.Attribute(attr="count"))
        ):
            if _ROUND.fullmatch(name) and (mark := machine.vocabulary.mark("PC107")) is not None:
                trait = Trait(mark, frame.module.place(node.target), name, guessed=True)
                return Thing(name, (trait,))
    return None


def _branch(machine: Interpreter, node: ast.If, frame: Frame) -> bool:
    machine.run_for_effect(node.test, frame)
    known = _decided(node.test, frame)
    if known is not None:
        return run(machine, node.body if known else node.orelse, frame)
    place = frame.module.place(node.test)
    test = frame.module.label(node.test)
    before = dict(frame.names)
    outside, frame.kept = frame.kept, frame.kept or is_made_once(node, frame)
    body_ends = run(machine, node.body, frame)
    frame.kept = outside
    after_body = frame.names
    frame.names = dict(before)
    else_ends = run(machine, node.orelse, frame)
    if body_ends and else_ends:
        return True
    if body_ends:
        return False
    if else_ends:
        frame.names = after_body
        return False
    frame.join(before, after_body, place, test)
    return False


def _decided(test: ast.expr, frame: Frame) -> bool | None:
    """What a condition is known to be: a flag the caller set or left out, or a cache that is not wanted."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        inner = _decided(test.operand, frame)
        return None if inner is None else not inner
    if isinstance(test, ast.Attribute | ast.Name) and _NO_CACHE.search(
        test.attr if isinstance(test, ast.Attribute) else test.id
    ):
        return False  # who asks for misses is not told of them
    if not isinstance(test, ast.Name) or frame.function is None:
        return None
    value = frame.names.get(test.id)
    constant = value.constant if isinstance(value, Thing) else None
    if constant not in {"True", "False", "None"} or test.id in frame.function.bound:
        return None
    return constant == "True"


def _try(machine: Interpreter, node: ast.Try | ast.TryStar, frame: Frame) -> bool:
    before = dict(frame.names)
    ends = run(machine, node.body, frame)
    if not ends:
        ends = run(machine, node.orelse, frame)
    names = frame.names
    for handler in node.handlers:
        frame.names = dict(before)
        if not run(machine, handler.body, frame):
            handled = frame.names
            if ends:
                names, ends = handled, False
            else:
                place = frame.module.place(node)
                for name, value in handled.items():
                    usual = value if name not in names else _without_those_of(value, handler, frame)
                    names[name] = merge(names[name], usual, place) if name in names else value
    frame.names = names
    return run(machine, node.finalbody, frame) or ends


def _without_those_of(value: Value, handler: ast.ExceptHandler, frame: Frame) -> Value:
    """A value without what only a handler has brought into it: an error is no ordinary traffic."""
    path, last = frame.module.source.path, handler.end_lineno or handler.lineno

    def kept(trait: Trait) -> Trait | None:
        inside = trait.origin.path == path and handler.lineno <= trait.origin.row <= last
        return None if inside else trait

    return map_traits(value, kept)


def _match(machine: Interpreter, node: ast.Match, frame: Frame) -> None:
    machine.run_for_effect(node.subject, frame)
    before = dict(frame.names)
    merged: dict[str, Value] | None = None
    for case in node.cases:
        frame.names = dict(before)
        for pattern in ast.walk(case.pattern):
            if isinstance(pattern, ast.MatchAs | ast.MatchStar) and pattern.name:
                frame.set(pattern.name, Thing(pattern.name))
        if run(machine, case.body, frame):
            continue
        if merged is not None:
            frame.join(before, merged, frame.module.place(node), "")
        merged = frame.names
    frame.names = merged if merged is not None else before
