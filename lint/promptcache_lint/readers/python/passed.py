"""What the way of a value passes: the modules it lies in, the functions in them, and where the value is made.

What a function does with the value is `links`'s business.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from promptcache_lint.readers.python import blocks

if TYPE_CHECKING:
    from collections.abc import Iterator

    from promptcache_lint.places import Place
    from promptcache_lint.readers.python.modules import Module

__all__ = ["FunctionNode", "Passed"]

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


class Passed:
    """The modules of a way, and what is looked up in them.

    Attributes:
        modules: those that the places of ``way`` lie in, and that of the request.
        above: for each of them, what each node stands in.
    """

    def __init__(self, way: tuple[Place, ...], modules: list[Module]) -> None:
        self.modules = tuple(modules)
        self.above = {module: blocks.parents_of(module.tree) for module in modules}
        self._origin = way[0]
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

    def is_origin(self, node: ast.AST, module: Module) -> bool:
        """Whether a node is the value at the head of the way."""
        if not isinstance(node, ast.expr | ast.stmt) or node.lineno != self._origin.row:
            return False
        return module.place(node) == self._origin

    def functions(self, name: str, *, of_a_class: bool = False) -> Iterator[tuple[FunctionNode, Module]]:
        """The functions of that name through which the value was seen to pass; or only methods."""
        for function, module in self._named(name):
            passed = any(_lies_in(place, function, module) for place in self._way)
            if passed and (not of_a_class or isinstance(self.above[module].get(function), ast.ClassDef)):
                yield function, module

    def _named(self, name: str) -> Iterator[tuple[FunctionNode, Module]]:
        for module in self.modules:
            for node in self.above[module]:
                match node:
                    case ast.FunctionDef() | ast.AsyncFunctionDef() if node.name == name:
                        yield node, module
                    case ast.Assign(targets=[ast.Name(id=to)], value=ast.Lambda() as made) if to == name:
                        yield made, module


def _lies_in(place: Place, function: FunctionNode, module: Module) -> bool:
    last = function.end_lineno or function.lineno
    return place.path == module.source.path and function.lineno <= place.row <= last
