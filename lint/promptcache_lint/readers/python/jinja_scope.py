"""What a program hands to a Jinja2 template, as the template's own names: texts, values, objects, functions.

A name that the program leaves unknown is left to the template's reader, which goes by what it is called.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from promptcache_lint.prompts import Text, Trait
from promptcache_lint.readers.jinja_values import Scope
from promptcache_lint.readers.python import strings
from promptcache_lint.readers.python.modules import Function
from promptcache_lint.readers.python.values import Instance, Map, Ref, Str, Thing, traits_of

if TYPE_CHECKING:
    import ast
    from collections.abc import Mapping

    from promptcache_lint.readers.python.frame import Frame
    from promptcache_lint.readers.python.interpreter import Interpreter
    from promptcache_lint.readers.python.values import Value

__all__ = ["Filler"]

_DEEPEST = 3


class Filler:
    """Gives the names of a template the values that a call hands to it: ``given``, with their expressions."""

    def __init__(
        self, machine: Interpreter, frame: Frame, given: Mapping[str, tuple[Value, ast.expr]]
    ) -> None:
        self._machine = machine
        self._frame = frame
        self._given = given

    def scope(self, text: str) -> Scope:
        """The names that the template with ``text`` uses."""
        scope = Scope(self._machine.vocabulary)
        for name, (value, expression) in self._given.items():
            for path, inner in self._used(name, value, expression, text, 0):
                self._enter(scope, path, inner, expression)
        return scope

    def _used(
        self, name: str, value: Value, node: ast.expr, text: str, depth: int
    ) -> list[tuple[str, Value]]:
        """A name, and what of its attributes and items the template names."""
        if name not in text:
            return []
        found = [(name, value)]
        if isinstance(value, Instance | Map) and depth < _DEEPEST:
            for attribute in dict.fromkeys(re.findall(rf"\b{re.escape(name)}\.(\w+)", text)):
                inner = self._part(value, attribute, node)
                if inner is not None:
                    found += self._used(f"{name}.{attribute}", inner, node, text, depth + 1)
        return found

    def _part(self, value: Instance | Map, name: str, node: ast.expr) -> Value | None:
        if isinstance(value, Map):
            return value.get(name)
        place = self._frame.module.place(node)
        return self._machine.objects.attribute(value, name, self._frame, place)

    def _enter(self, scope: Scope, name: str, value: Value, node: ast.expr) -> None:
        match value:
            case Str():
                scope.values[name] = traits_of(value)
                scope.blocks[name] = strings.parts_of(self._machine, value, node, self._frame)
            case Ref():
                self._enter_function(scope, name, value, node)
            case Map():
                scope.values[name] = value.traits
            case Instance():
                return
            case Thing(constant=str() as constant):
                scope.values[name] = ()
                scope.blocks[name] = (Text(constant, self._frame.module.place(node)),)
            case Thing(traits=(), settled=False):
                suspected = traits_of(Str(strings.parts_of(self._machine, value, node, self._frame)))
                if suspected:
                    scope.values[name] = suspected
            case _:
                scope.values[name] = traits_of(value)

    def _enter_function(self, scope: Scope, name: str, value: Ref, node: ast.expr) -> None:
        """A function that the template may call."""
        machine, place = self._machine, self._frame.module.place(node)
        if isinstance(value.target, Function):
            result, _ = machine.invoke(
                value.target, [], {}, self._frame, place, bound=value.bound, outer=value.closure
            )
            scope.values[f"{name}()"] = traits_of(result)
            if isinstance(result, Str):
                scope.blocks[name] = result.parts
        elif (mark := machine.vocabulary.call(value.dotted)) is not None:
            scope.values[f"{name}()"] = (Trait(mark, place, f"{value.dotted}()"),)
