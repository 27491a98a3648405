"""The files on the way of a value into a request: which functions it was seen to pass."""

from __future__ import annotations

import ast
from functools import lru_cache
from typing import TYPE_CHECKING

from promptcache_lint.readers.python import blocks
from promptcache_lint.readers.python.walking import nodes_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from promptcache_lint.places import Place
    from promptcache_lint.readers.python.modules import Module

__all__ = ["FunctionNode", "Passed", "node_at"]

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


class Passed:
    """The modules that a value passes, by the places at which it was seen."""

    def __init__(self, way: tuple[Place, ...], modules: list[Module]) -> None:
        self.modules = tuple(modules)
        self.above = {module: blocks.parents_of(module.tree) for module in modules}
        self._way = way

    def function_of(self, node: ast.AST, module: Module) -> FunctionNode | None:
        """The innermost function around a node."""
        if isinstance(node, FunctionNode):
            return node
        above = self.above[module]
        at = above.get(node)
        while at is not None and not isinstance(at, FunctionNode):
            at = above.get(at)
        return at

    def functions(self, name: str, *, of_a_class: bool = False) -> Iterator[tuple[FunctionNode, Module]]:
        """The functions of that name through which the value was seen to pass; or only methods."""
        for function, module in self._named(name):
            passed = any(_lies_in(place, function, module) for place in self._way)
            if passed and (not of_a_class or isinstance(self.above[module].get(function), ast.ClassDef)):
                yield function, module

    def _named(self, name: str) -> Iterator[tuple[FunctionNode, Module]]:
        for module in self.modules:
            for function in _functions_of(module.tree).get(name, ()):
                yield function, module


@lru_cache(maxsize=32)
def _functions_of(tree: ast.AST) -> dict[str, list[FunctionNode]]:
    """The functions of a file by their names."""
    found: dict[str, list[FunctionNode]] = {}
    for node in blocks.parents_of(tree):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                found.setdefault(name, []).append(node)
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Lambda() as made):
                found.setdefault(name, []).append(made)
    return found


def _lies_in(place: Place, function: FunctionNode, module: Module) -> bool:
    last = function.end_lineno or function.lineno
    return place.path == module.source.path and function.lineno <= place.row <= last


def node_at(place: Place, module: Module) -> ast.AST | None:
    """What stands at a place: an expression, or a function whose result is sent."""
    found = _rows_of(module.tree).get(place.row, ())
    return next((node for node in found if module.place(node) == place), None)


@lru_cache(maxsize=32)
def _rows_of(tree: ast.AST) -> dict[int, list[ast.expr | FunctionNode]]:
    """The expressions and functions of a file by the rows where they begin, the outer ones first."""
    found: dict[int, list[ast.expr | FunctionNode]] = {}
    for node in nodes_of(tree):
        if isinstance(node, ast.expr | FunctionNode):
            found.setdefault(node.lineno, []).append(node)
    return found
