"""Running statements: bindings, branches (both ways, then merged), loops (once), definitions, returns."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, Any

from promptcache_lint.readers.python.assigning import assign
from promptcache_lint.readers.python.drawn import drawn_traits
from promptcache_lint.readers.python.items import adds_up, settle_items
from promptcache_lint.readers.python.merging import merge
from promptcache_lint.readers.python.modules import Function, add_imports
from promptcache_lint.readers.python.ordering import grow, grow_given
from promptcache_lint.readers.python.rounds import round_of
from promptcache_lint.readers.python.singletons import is_made_once, returns_what_is_there
from promptcache_lint.readers.python.tables import calls_each
from promptcache_lint.readers.python.values import (
    Seq,
    Thing,
    element_of,
    map_traits,
    order_traits,
    without_order,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from promptcache_lint.prompts import Trait
    from promptcache_lint.readers.python.frame import Frame
    from promptcache_lint.readers.python.interpreter import Interpreter
    from promptcache_lint.readers.python.values import Value

__all__ = ["run"]

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
            if type(statement) is ast.If and not frame.kept:
                frame.kept = returns_what_is_there(statement, body, frame)
    finally:
        frame.kept = outside
    return False


def _statement(machine: Interpreter, node: ast.stmt, frame: Frame) -> bool:
    kind = _KINDS.get(type(node))
    return kind is not None and kind(machine, node, frame)


def _expression(machine: Interpreter, node: ast.Expr, frame: Frame) -> bool:
    machine.run_for_effect(node.value, frame)
    return False


def _assignment(machine: Interpreter, node: ast.Assign, frame: Frame) -> bool:
    value = machine.evaluate(node.value, frame)
    for target in node.targets:
        assign(machine, target, value, frame)
    return False


def _annotated(machine: Interpreter, node: ast.AnnAssign, frame: Frame) -> bool:
    if node.value is not None:
        assign(machine, node.target, machine.evaluate(node.value, frame), frame)
    return False


def _return(machine: Interpreter, node: ast.Return, frame: Frame) -> bool:
    if frame.only is None:
        value = machine.evaluate(node.value, frame) if node.value else Thing(constant="None")
        frame.returned.append((value, frame.module.place(node)))
    return True


def _loop(machine: Interpreter, node: ast.For | ast.AsyncFor, frame: Frame) -> bool:
    iterable = machine.evaluate(node.iter, frame)
    if isinstance(iterable, Seq) and calls_each(iterable) and isinstance(node.target, ast.Name):
        for function in iterable.items:
            assign(machine, node.target, function, frame)
            run(machine, node.body, frame)
        return False
    each = round_of(machine, node, frame) or element_of(iterable)
    assign(machine, node.target, without_order(each) if _looks_up(node) else each, frame)
    if adds_up(node.body):
        settle_items(node.target, frame)
    order = order_traits(iterable) + drawn_traits(iterable)
    before = dict(frame.names) if order else {}
    given = list(frame.returned)
    run(machine, node.body, frame)
    if order:
        grow(frame, before, order)
        grow_given(frame, given, order)
    run(machine, node.orelse, frame)
    return False


def _while(machine: Interpreter, node: ast.While, frame: Frame) -> bool:
    machine.run_for_effect(node.test, frame)
    run(machine, node.body, frame)
    run(machine, node.orelse, frame)
    return False


def _with(machine: Interpreter, node: ast.With | ast.AsyncWith, frame: Frame) -> bool:
    for item in node.items:
        value = machine.evaluate(item.context_expr, frame)
        if item.optional_vars is not None:
            assign(machine, item.optional_vars, value, frame)
    return run(machine, node.body, frame)


def _definition(
    machine: Interpreter,  # noqa: ARG001 - one of `_KINDS`
    node: ast.FunctionDef | ast.AsyncFunctionDef,
    frame: Frame,
) -> bool:
    if not frame.at_module_level:
        frame.nested[node.name] = Function(node, frame.module, frame.owner)
        frame.names.pop(node.name, None)
    return False


def _import(machine: Interpreter, node: ast.Import | ast.ImportFrom, frame: Frame) -> bool:  # noqa: ARG001 - likewise
    add_imports(frame.imports, node)
    return False


def _jump(machine: Interpreter, node: ast.stmt, frame: Frame) -> bool:  # noqa: ARG001 - one of `_KINDS`
    return True


def _looks_up(node: ast.For | ast.AsyncFor) -> bool:
    """Whether a loop ends at the item that equals something: which one that is, no order decides."""
    for inner in node.body:
        if isinstance(inner, ast.If) and isinstance(inner.body[-1], ast.Return | ast.Break):
            tests = (test for test in ast.walk(inner.test) if isinstance(test, ast.Compare))
            if any(isinstance(op, ast.Eq) for test in tests for op in test.ops):
                return True
    return False


def _augment(machine: Interpreter, node: ast.AugAssign, frame: Frame) -> bool:
    left = ast.copy_location(_loading(node.target), node.target)
    combined = ast.copy_location(ast.BinOp(left=left, op=node.op, right=node.value), node)
    value = machine.counters.stepped(node, machine.evaluate(combined, frame), frame)
    assign(machine, node.target, value, frame)
    return False


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


def _match(machine: Interpreter, node: ast.Match, frame: Frame) -> bool:
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
    return False


_KINDS: dict[type[ast.stmt], Callable[[Interpreter, Any, Frame], bool]] = {
    ast.Expr: _expression,
    ast.Assign: _assignment,
    ast.AnnAssign: _annotated,
    ast.AugAssign: _augment,
    ast.Return: _return,
    ast.If: _branch,
    ast.For: _loop,
    ast.AsyncFor: _loop,
    ast.While: _while,
    ast.With: _with,
    ast.AsyncWith: _with,
    ast.Try: _try,
    ast.TryStar: _try,
    ast.Match: _match,
    ast.FunctionDef: _definition,
    ast.AsyncFunctionDef: _definition,
    ast.Import: _import,
    ast.ImportFrom: _import,
    ast.Raise: _jump,
    ast.Break: _jump,
    ast.Continue: _jump,
}
"""How each kind of statement runs: whether control never comes past it; any other does nothing."""
