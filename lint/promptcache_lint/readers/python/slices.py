"""The part of a method that decides what one attribute becomes: for the attribute, nothing else need be run.

Goes by names, without regard to the order of statements, so that rather too much is run than too little. What
the attribute becomes is the interpreter's business.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING

from promptcache_lint.readers.python.walking import nodes_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from promptcache_lint.readers.python.modules import Function

__all__ = ["Slices"]

_GROWING = frozenset({"append", "appendleft", "add", "insert", "extend", "update", "sort", "setdefault"})
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_JUMPS = (ast.Return, ast.Raise, ast.Break, ast.Continue)
_HEADS: dict[type[ast.stmt], tuple[str, ...]] = {
    ast.If: ("test",),
    ast.While: ("test",),
    ast.For: ("target", "iter"),
    ast.AsyncFor: ("target", "iter"),
    ast.With: ("items",),
    ast.AsyncWith: ("items",),
    ast.Try: (),
    ast.TryStar: (),
    ast.Match: ("subject",),
}
"""What of a statement that holds others is its own."""
_FEEDING = (ast.For, ast.AsyncFor, ast.With, ast.AsyncWith)
"""Statements whose own expressions come into what stands in them, in any case."""


@dataclass(eq=False, slots=True)
class _Step:
    """A statement without those inside it: ``around`` are those it stands in, outermost first."""

    node: ast.stmt
    around: tuple[_Step, ...]
    binds: set[str]
    reads: set[str]


class Slices:
    """The parts of one program's methods, with the steps of each method kept."""

    def __init__(self, assigned_by: Callable[[Function, str], Iterable[str]]) -> None:
        """``assigned_by``: the attributes that another method of a method's object sets, by its name."""
        self._assigned_by = assigned_by
        self._steps: dict[Function, dict[str, list[_Step]]] = {}
        self._jumps: dict[Function, list[_Step]] = {}

    def forget(self) -> None:
        """Let go of all methods."""
        self._steps.clear()
        self._jumps.clear()

    def deciding(self, method: Function, attribute: str) -> frozenset[ast.stmt] | None:
        """The statements that decide what ``self.attribute`` is when ``method`` ends; None: all may."""
        node = method.node
        first = next(iter((*node.args.posonlyargs, *node.args.args)), None)
        if first is None or first.arg != "self" or isinstance(node, ast.Lambda):
            return None
        if method not in self._steps:
            self._enter(method, node.body)
        chosen = self._chosen(self._steps[method], f"self.{attribute}")
        around = {outer for step in chosen for outer in step.around}
        for jump in self._jumps[method]:
            if not around.isdisjoint(jump.around):
                chosen |= {jump, *jump.around}
        return frozenset(step.node for step in chosen | around)

    @staticmethod
    def _chosen(binding: dict[str, list[_Step]], key: str) -> set[_Step]:
        chosen: set[_Step] = set()
        known = {key}
        wanted = [key]
        while wanted:
            pending = list(binding.get(wanted.pop(), ()))
            while pending:
                step = pending.pop()
                if step in chosen:
                    continue
                chosen.add(step)
                pending += [outer for outer in step.around if isinstance(outer.node, _FEEDING)]
                wanted += step.reads - known
                known |= step.reads
        return chosen

    def _enter(self, method: Function, body: list[ast.stmt]) -> None:
        binding: dict[str, list[_Step]] = {}
        jumps: list[_Step] = []
        for step in self._steps_of(method, body, ()):
            for name in step.binds:
                binding.setdefault(name, []).append(step)
            if isinstance(step.node, _JUMPS):
                jumps.append(step)
        self._steps[method], self._jumps[method] = binding, jumps

    def _steps_of(self, method: Function, body: list[ast.stmt], around: tuple[_Step, ...]) -> Iterator[_Step]:
        for node in body:
            step = _Step(node, around, set(), set())
            heads = _HEADS.get(type(node))
            for head in _own_nodes(node, heads):
                self._note(step, head, method)
            if isinstance(node, ast.Expr):
                _note_given_away(step, node.value)
            if isinstance(node, _DEFINITIONS):
                step.binds = {node.name}
            step.binds.discard("self")
            step.reads.discard("self")
            yield step
            if heads is not None:
                for inner in _bodies(node):
                    yield from self._steps_of(method, inner, (*around, step))

    def _note(self, step: _Step, node: ast.AST, method: Function) -> None:
        match node:
            case ast.Name(ctx=ast.Load()):
                step.reads.add(node.id)
            case ast.Name():
                step.binds.add(node.id)
            case ast.Attribute(ctx=ast.Load()) | ast.Subscript(ctx=ast.Load()):
                step.reads.add(_key(node))
            case ast.Attribute() | ast.Subscript():
                step.binds.add(_key(node))
            case ast.AugAssign():
                step.reads.add(_key(node.target))
            case ast.MatchAs(name=str() as name) | ast.MatchStar(name=str() as name):
                step.binds.add(name)
            case ast.alias():
                step.binds.add((node.asname or node.name).split(".")[0])
            case ast.Call(func=ast.Attribute(attr=name, value=owner)):
                if isinstance(owner, ast.Name) and owner.id == "self":
                    step.binds.update(f"self.{known}" for known in self._assigned_by(method, name))
                elif name in _GROWING:
                    step.binds.add(_key(owner))


def _own_nodes(node: ast.stmt, heads: tuple[str, ...] | None) -> Iterator[ast.AST]:
    """The nodes of a statement, without those of statements inside it."""
    if heads is None:
        yield from nodes_of(node)
        return
    for name in heads:
        value = getattr(node, name)
        for head in value if isinstance(value, list) else [value]:
            yield from nodes_of(head)
    if isinstance(node, ast.Match):
        for case in node.cases:
            yield from nodes_of(case.pattern)


def _bodies(node: ast.stmt) -> Iterator[list[ast.stmt]]:
    """The runs of statements inside a statement."""
    for name in ("body", "orelse", "finalbody"):
        yield getattr(node, name, [])
    for inner in (*getattr(node, "handlers", ()), *getattr(node, "cases", ())):
        yield inner.body


def _note_given_away(step: _Step, node: ast.expr) -> None:
    """A call whose result nobody takes may change its receiver and its arguments."""
    inner = node.value if isinstance(node, ast.Await) else node
    if not isinstance(inner, ast.Call):
        return
    if isinstance(inner.func, ast.Attribute):
        step.binds.add(_key(inner.func.value))
    for given in (*inner.args, *(keyword.value for keyword in inner.keywords)):
        if isinstance(given, ast.Name | ast.Attribute):
            step.binds.add(_key(given))


def _key(node: ast.AST) -> str:
    """The name under which the start of a chain is kept: ``x`` of ``x.y[0]``, ``self.x`` of ``self.x.y``."""
    attribute = ""
    while isinstance(node, ast.Attribute | ast.Subscript):
        if isinstance(node, ast.Attribute):
            attribute = node.attr
        node = node.value
    if not isinstance(node, ast.Name):
        return ""
    return f"self.{attribute}" if node.id == "self" and attribute else node.id
