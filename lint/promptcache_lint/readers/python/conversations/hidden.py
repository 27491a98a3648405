"""Cuts that no request shows: of a name that nothing reads again, and the longer one of two of one list."""

from __future__ import annotations

import ast
from functools import lru_cache
from typing import TYPE_CHECKING

from promptcache_lint.readers.python import blocks
from promptcache_lint.readers.python.conversations.amounts import amount, before_end
from promptcache_lint.readers.python.conversations.asides import is_aside
from promptcache_lint.readers.python.conversations.tables import entry, taken_from
from promptcache_lint.readers.python.walking import nodes_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from promptcache_lint.readers.python.conversations.facts import Facts

__all__ = ["is_lost", "is_narrowed", "outrun"]

_LOOPS = (ast.For, ast.AsyncFor, ast.While)
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


def is_lost(cut: ast.AST, facts: Facts) -> bool:
    """Whether a cut only gives a variable of the function another value, which nothing reads any more."""
    statement = facts.statement(cut)
    if facts.function is None or not isinstance(statement, ast.Assign):
        return False
    names = [target.id for target in statement.targets if isinstance(target, ast.Name)]
    if len(names) < len(statement.targets) or any(
        isinstance(each, _LOOPS) for each in facts.around(statement)
    ):
        return False
    end = (statement.end_lineno or 0, statement.end_col_offset or 0)
    return not any(
        _takes_up(node, names, end, facts) for node in facts.of(ast.Name, ast.Global, ast.Nonlocal)
    )


def _takes_up(node: ast.AST, names: list[str], end: tuple[int, int], facts: Facts) -> bool:
    """Whether a node reads one of some names behind a place, or in a function that may be called there."""
    if isinstance(node, ast.Global | ast.Nonlocal):
        return not set(names).isdisjoint(node.names)
    if not isinstance(node, ast.Name) or node.id not in names or not isinstance(node.ctx, ast.Load):
        return False
    inner = (each for each in facts.around(node) if each is not facts.node)
    return (node.lineno, node.col_offset) >= end or any(isinstance(each, _SCOPES) for each in inner)


def is_narrowed(cut: ast.AST, bound: float | None, facts: Facts) -> bool:
    """Whether a window of ``bound`` messages is cut again, and shorter, under the name that it gets."""
    statement = facts.statement(cut)
    if (
        bound is None
        or not isinstance(statement, ast.Assign)
        or not isinstance(statement.targets[0], ast.Name)
    ):
        return False
    name = statement.targets[0].id
    return any(
        isinstance(again, ast.Assign)
        and again is not statement
        and isinstance(again.targets[0], ast.Name)
        and again.targets[0].id == name
        and again.lineno > statement.lineno
        and isinstance(again.value, ast.Subscript)
        and entry(again.value.value) == name
        and (length := _length(again.value, facts)) is not None
        and length <= bound
        and _is_due(again.value, bound, facts)
        for again in facts.of(ast.Assign)
    )


def outrun(owner: ast.expr, cut: ast.AST, bound: float | None, facts: Facts) -> bool | None:
    """Whether a shorter cut of a list that an object keeps hides this one, of ``bound`` messages.

    True if so wherever the list is read, None if it is also read whole somewhere, which may be sent or not.
    """
    name = _kept_name(owner, facts)
    if bound is None or not name:
        return False
    above = blocks.parents_of(facts.module.tree)
    kept, shown = _uses(facts.module.tree, name)
    if not _is_put_back(cut, name, above):
        others = (outer for outer in kept if outer is not cut)
        return any((_length(each, facts) or bound) < bound and _is_due(each, bound, facts) for each in others)
    shown = [outer for outer in shown if outer is not cut]
    shorter = [outer for outer in shown if (length := _length(outer, facts)) is not None and length <= bound]
    return bool(shorter) and (True if len(shorter) == len(shown) else None)


def _kept_name(owner: ast.expr, facts: Facts) -> str:
    """The attribute of an object, or the entry of a table, that a list is, by whatever name."""
    names = [entry(owner), *sorted(taken_from(entry(owner), facts))]
    return next((name for name in names if name.startswith("self.") or "[]" in name), "")


@lru_cache(maxsize=8)  # one list may be cut in many places
def _uses(tree: ast.Module, name: str) -> tuple[list[ast.AST], list[ast.AST]]:
    """The uses of a list by which it is cut for good, and those that show its beginning."""
    above = blocks.parents_of(tree)
    reads = _reads(tree).get(name, [])
    around = [each for node in reads for each in _by_any_name(node, above)]
    kept = [outer for _, outer in around if _is_put_back(outer, name, above)]
    return kept, [outer for node, outer in around if not _is_harmless(node, outer, name, above)]


@lru_cache(maxsize=2)
def _reads(tree: ast.Module) -> dict[str, list[ast.expr]]:
    """Where a module reads attributes of its objects and entries of its tables, by what is written."""
    found: dict[str, list[ast.expr]] = {}
    for node in nodes_of(tree):
        match node:
            case ast.Attribute(ctx=ast.Load()) | ast.Subscript(ctx=ast.Load()) | ast.Call() if name := entry(
                node
            ):
                found.setdefault(name, []).append(node)
            case _:
                continue
    return found


def _by_any_name(node: ast.AST, above: dict[ast.AST, ast.AST]) -> Iterator[tuple[ast.AST, ast.AST]]:
    """A read with what stands around it; of one that gives a variable its value, where that is read."""
    outer = _unwrapped(node, above)
    given = above[outer] if isinstance(outer, ast.BoolOp) and outer.values[0] is node else outer
    match given:
        case ast.Return(value=value) if value in (node, outer) and (calls := _calls_of(given, above)):
            for call in calls:
                yield from _by_any_name(call, above)
        case ast.Assign(targets=[ast.Name(id=name)], value=value) if value in (node, outer):
            for inner in nodes_of(_scope(given, above)):
                if isinstance(inner, ast.Name) and inner.id == name and isinstance(inner.ctx, ast.Load):
                    yield inner, _unwrapped(inner, above)
        case _:
            yield node, outer


def _calls_of(returned: ast.AST, above: dict[ast.AST, ast.AST]) -> list[ast.Call]:
    """The calls in a module of the function that gives something back; none of one that calls itself."""
    function = _scope(returned, above)
    name = getattr(function, "name", "")
    *_, tree = _around(returned, above)
    calls = [node for node in nodes_of(tree) if isinstance(node, ast.Call) and _last(node.func) == name]
    return calls if all(_scope(call, above) is not function for call in calls) else []


def _last(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def _around(node: ast.AST, above: dict[ast.AST, ast.AST]) -> Iterator[ast.AST]:
    while (outer := above.get(node)) is not None:
        yield outer
        node = outer


def _unwrapped(node: ast.AST, above: dict[ast.AST, ast.AST]) -> ast.AST:
    """What stands around a node, past copies of the whole: the window in ``list(self.talk)[-6:]``."""
    outer = above[node]
    match outer:
        case ast.Call(func=ast.Name(id="list" | "tuple"), args=[_]) if isinstance(
            above[outer], ast.Subscript
        ):
            return above[outer]
        case _:
            return outer


def _is_put_back(cut: ast.AST, name: str, above: dict[ast.AST, ast.AST]) -> bool:
    """``self.talk = self.talk[-20:]``."""
    statement = above.get(cut)
    match statement:
        case ast.Assign(targets=targets):
            return any(entry(target) == name for target in targets)
        case ast.AnnAssign(target=target):
            return entry(target) == name
        case _:
            return False


def _is_due(cut: ast.AST, bound: float, facts: Facts) -> bool:
    """Whether a list is cut wherever it is longer than ``bound``: in any case, or above a mark not higher."""
    at, above = cut, blocks.parents_of(facts.module.tree)
    while (outer := above.get(at)) is not None and not isinstance(outer, _SCOPES):
        if isinstance(outer, ast.If | ast.While):
            marks = [amount(each, facts) for each in ast.walk(outer.test) if isinstance(each, ast.expr)]
            if not any(mark is not None and mark <= bound for mark in marks):
                return False
        elif isinstance(outer, ast.ExceptHandler | ast.For | ast.AsyncFor | ast.Match):
            return False
        at = outer
    return True


def _length(cut: ast.AST, facts: Facts) -> float | None:
    """How many of the last messages ``talk[-10:]`` takes; None where it is no such cut, or not shown."""
    match cut:
        case ast.Subscript(slice=ast.Slice(lower=ast.expr() as lower, upper=None)):
            counted = before_end(lower)
            return amount(counted, facts) if counted is not None else None
        case _:
            return None


def _is_harmless(node: ast.AST, outer: ast.AST, name: str, above: dict[ast.AST, ast.AST]) -> bool:
    """Whether reading a list tells nothing of its beginning: it is added to, counted, asked, or cut again."""
    if is_aside(_function_around(node, above)):
        return True
    match outer:
        case ast.Attribute():
            return True
        case ast.Call(func=ast.Name(id="len")):
            return True
        case ast.Subscript():
            return not isinstance(outer.slice, ast.Slice) or _is_put_back(outer, name, above)
        case ast.If() | ast.While() | ast.IfExp():
            return outer.test is node
        case ast.UnaryOp(op=ast.Not()) | ast.Compare():
            return True
        case ast.Assign(targets=targets):
            return all(entry(target) == name for target in targets)
        case _:
            return False


def _function_around(node: ast.AST, above: dict[ast.AST, ast.AST]) -> str:
    """The name of the function that a node stands in, or an empty text."""
    return getattr(_scope(node, above), "name", "")


def _scope(node: ast.AST, above: dict[ast.AST, ast.AST]) -> ast.AST:
    """The function that a node stands in, or else the module."""
    at = node
    while (outer := above.get(at)) is not None:
        at = outer
        if isinstance(at, ast.FunctionDef | ast.AsyncFunctionDef):
            break
    return at
