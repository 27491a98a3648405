"""Where Python code goes through what has no order, and whether sorting there is proven to do no harm."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING

from promptcache_lint.fixes.orderable import STRING_METHODS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from promptcache_lint.fixes.orderable import Values

__all__ = ["Site", "sites_in"]

_GOING_THROUGH = {"list", "tuple", "enumerate", "map", "filter"}
_COMPREHENSIONS = (ast.ListComp, ast.GeneratorExp)


@dataclass(frozen=True, slots=True)
class Site:
    """An expression that is gone through in order; ``items``: the proven kind of its items, None for none."""

    node: ast.expr
    items: str | None


def sites_in(tree: ast.Module, values: Values) -> Iterator[Site]:
    """The places where ``sorted(…)`` would give an order to what has none."""
    for node in ast.walk(tree):
        for site in _sites_at(node, values):
            if values.unordered(site.node):
                yield site


def _sites_at(node: ast.AST, values: Values) -> Iterator[Site]:
    match node:
        case ast.For(target=target, iter=iterable, body=body):
            yield Site(iterable, _kind(values, iterable) or _used_as_text(target, body))
        case (
            ast.ListComp(elt=elt, generators=[first, *_]) | ast.GeneratorExp(elt=elt, generators=[first, *_])
        ):
            if not first.is_async:
                used = _used_as_text(first.target, [elt]) if len(node.generators) == 1 else None
                yield Site(first.iter, _kind(values, first.iter) or used)
                for further in node.generators[1:]:
                    yield Site(further.iter, _kind(values, further.iter))
        case ast.Call(func=ast.Attribute(attr="join"), args=[argument]):
            yield from _joined(argument, values)
        case ast.Call(func=ast.Name(id=name), args=[*_, argument]) if name in _GOING_THROUGH:
            if values.names.is_builtin(name) and len(node.args) <= 2:
                yield Site(argument, _kind(values, argument))
        case ast.Starred(value=value) if isinstance(value, ast.expr):
            yield Site(value, _kind(values, value))
        case ast.FormattedValue(value=value) if isinstance(value, ast.Name | ast.Call | ast.Set):
            yield Site(value, None)  # in another pair of brackets: never without being asked
        case ast.keyword(arg="tools", value=value):
            yield Site(value, _kind(values, value))
        case _:
            return


def _joined(argument: ast.expr, values: Values) -> Iterator[Site]:
    """What is joined is text, or it would fail as it is."""
    if not isinstance(argument, _COMPREHENSIONS):
        yield Site(argument, "text")
        return
    only = argument.generators[0]
    if len(argument.generators) > 1 or only.is_async:
        return
    if isinstance(argument.elt, ast.Name) and _is(only.target, argument.elt.id):
        yield Site(only.iter, "text")
    elif _kind(values, only.iter) is None and not _used_as_text(only.target, [argument.elt]):
        yield Site(argument, "text")


def _kind(values: Values, node: ast.expr) -> str | None:
    kind = values.items(node)
    return None if kind == "any" else kind


def _used_as_text(target: ast.expr, body: Sequence[ast.AST]) -> str | None:
    """``text`` where every item is used in a way that only text can be: ``item.upper()``, ``"- " + item``."""
    if not isinstance(target, ast.Name):
        return None
    return "text" if any(_needs_text(node, target.id) for one in body for node in _always_run(one)) else None


def _needs_text(node: ast.AST, name: str) -> bool:
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Name(id=owner), attr=method)):
            return owner == name and method in STRING_METHODS
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return (_is(left, name) and _is_text(right)) or (_is(right, name) and _is_text(left))
        case _:
            return False


def _is(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))


def _always_run(node: ast.AST) -> Iterator[ast.AST]:
    """What runs whenever ``node`` does."""
    skipped = (
        ast.If,
        ast.IfExp,
        ast.BoolOp,
        ast.Try,
        ast.For,
        ast.While,
        ast.Match,
        ast.Lambda,
        ast.FunctionDef,
    )
    if isinstance(node, skipped):
        return
    yield node
    for child in ast.iter_child_nodes(node):
        yield from _always_run(child)
