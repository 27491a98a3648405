"""Clients of the program whose class nobody writes down: ``self.llm = made()``, ``self.llm = llm or Llm()``.

Each way in which such a thing is made must lead to a class that asks a model; what somebody else may give
instead is taken for one like it. Which classes ask is `own_clients`' business.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from promptcache_lint.readers.python.given_values import given_values
from promptcache_lint.readers.python.program import Class, Function, Module

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from promptcache_lint.readers.python.program import Definition, Program

__all__ = ["MadeClients"]

_DEEPEST = 3
_PLAIN = {"staticmethod", "classmethod", "cache", "lru_cache", "cached_property", "property"}
"""Decorators of functions whose result stays what it is."""


class MadeClients:
    """What functions and constructors make; ``asks`` tells whether a class asks a model."""

    def __init__(
        self, program: Program, asks: Callable[[Class], bool], bases: Callable[[Class], list[Class]]
    ) -> None:
        self._program = program
        self._asks = asks
        self._bases = bases
        self._made: dict[Function, Class | None] = {}

    def forget(self) -> None:
        """Let go of all functions."""
        self._made.clear()

    def kept(self, cls: Class, name: str) -> Class | None:
        """The class of an attribute that methods of ``cls`` assign."""
        setters = [method for method in cls.methods.values() if name in method.attributes]
        found = [
            self._client(value, method, 0)
            for method in setters
            for value in given_values(f"self.{name}", method)
            if not _is_none(value)
        ]
        return self._one(found)

    def made_by(self, function: Function, depth: int = 0) -> Class | None:
        """The class of what a function returns."""
        if function not in self._made:
            self._made[function] = None  # what a function that calls itself finds
            self._made[function] = self._returned(function, depth)
        return self._made[function]

    def _returned(self, function: Function, depth: int) -> Class | None:
        if isinstance(function.node, ast.Lambda) or not _PLAIN.issuperset(function.decorators):
            return None
        kinds = function.kinds
        if len([*kinds.get(ast.FunctionDef, ()), *kinds.get(ast.AsyncFunctionDef, ())]) > 1:
            return None  # a return may be that of a function inside
        returns = (node.value for node in kinds.get(ast.Return, ()) if isinstance(node, ast.Return))
        found = [self._client(value, function, depth) for value in returns if value and not _is_none(value)]
        return self._one(found)

    def _client(self, node: ast.expr, function: Function, depth: int) -> Class | None:
        """The class that an expression makes an object of, if that asks a model."""
        match node:
            case ast.Await(value=inner):
                return self._client(inner, function, depth)
            case ast.Call(func=made):
                return self._called(self._definition(made, function), depth)
            case ast.BoolOp(op=ast.Or(), values=values):
                return self._any_of(values, function, depth)
            case ast.IfExp(body=first, orelse=second):
                return self._any_of([first, second], function, depth)
            case ast.Name(id=name) if depth < _DEEPEST:
                return self._one([self._client(v, function, depth + 1) for v in given_values(name, function)])
            case _:
                return None

    def _called(self, target: Definition | None, depth: int) -> Class | None:
        if isinstance(target, Class):
            return target if self._asks(target) else None
        return self.made_by(target, depth + 1) if isinstance(target, Function) and depth < _DEEPEST else None

    def _any_of(self, values: list[ast.expr], function: Function, depth: int) -> Class | None:
        """One of several: a client that is made here stands for what is given instead of it."""
        made = [v for v in values if not isinstance(v, ast.Name | ast.Attribute) and not _is_none(v)]
        return self._one([self._client(value, function, depth) for value in made])

    def _one(self, found: Iterable[Class | None]) -> Class | None:
        """The first of some classes, where all of them ask and are of one kind."""
        classes = [*found]
        known = [cls for cls in classes if cls is not None]
        if not known or len(known) < len(classes):
            return None
        alike = set.intersection(*({cls, *self._bases(cls)} for cls in known))
        return known[0] if alike else None

    def _definition(self, node: ast.expr, function: Function) -> Definition | None:
        module, owner = function.module, function.owner
        match node:
            case ast.Name(id="cls") if owner is not None:
                return owner
            case ast.Name(id=name):
                return self._named(name, module)
            case ast.Attribute(value=ast.Name(id="self" | "cls"), attr=name) if owner is not None:
                return owner.methods.get(name)
            case ast.Attribute(value=ast.Name(id=first), attr=name):
                target = self._named(first, module)
                if isinstance(target, Class):
                    return target.methods.get(name)
                return self._program.member(target, [name]) if isinstance(target, Module) else None
            case _:
                return None

    def _named(self, name: str, module: Module) -> Definition | None:
        dotted = module.imports.get(name)
        own = module.classes.get(name) or module.functions.get(name)
        return own or (self._program.resolve(dotted, module) if dotted else None)


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None
