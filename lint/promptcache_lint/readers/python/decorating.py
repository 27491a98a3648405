"""Decorators of the program's own: what a function returns is what the decorator's wrapper makes of it.

The libraries' own decorators change no text, as far as anybody knows, and are left alone.
"""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import TYPE_CHECKING

from promptcache_lint.readers.python.frame import Frame
from promptcache_lint.readers.python.objects import kept_by_object
from promptcache_lint.readers.python.program import Function
from promptcache_lint.readers.python.values import Ref, map_traits

if TYPE_CHECKING:
    from promptcache_lint.places import Place
    from promptcache_lint.prompts import Trait
    from promptcache_lint.readers.python.interpreter import Interpreter
    from promptcache_lint.readers.python.values import Value

__all__ = ["decorated", "own_decorators", "remembered"]

_CACHING = {"cache", "lru_cache", "cached_property", "cached"}

_RESULT = "result of what is decorated"


def own_decorators(machine: Interpreter, function: Function) -> list[Function]:
    """The decorators of a function that the tree defines and from which something volatile may come."""
    if isinstance(function.node, ast.Lambda) or not function.node.decorator_list:
        return []
    module, names = function.module, map(_name_of, function.node.decorator_list)
    if not any(name in module.functions or name in module.imports for name in names):
        return []  # as it is with properties and static methods
    found = machine.relevance.decorators(function)
    return [each for each in found if each is not function and machine.relevance.reaches_source(each)]


def decorated(machine: Interpreter, function: Function, value: Value, frame: Frame, place: Place) -> Value:
    """The result of a call of ``function``, which gives ``value`` itself, as its decorators hand it out."""
    nodes = [] if isinstance(function.node, ast.Lambda) else function.node.decorator_list
    for target in own_decorators(machine, function):
        node = next((node for node in nodes if _name_of(node) == target.name), None)
        if node is None:
            continue  # imported under another name
        maker: Value = Ref(target.name, target)
        if isinstance(node, ast.Call):
            maker = machine.evaluate(node, Frame(function.module))
        wrapper = _called(machine, maker, (_constantly(value, node, function),), frame, place)
        result = _called(machine, wrapper, (), frame, place)
        value = value if result is None else result
    return value


def remembered(function: Function, value: Value) -> Value:
    """The result of a function, made once in the life of the process if it is kept and depends on nothing.

    A cached property is made once for each object. An order that nobody defines is another one elsewhere.
    """
    if isinstance(function.node, ast.Lambda) or _CACHING.isdisjoint(function.decorators):
        return value
    if "cached_property" in function.decorators:
        return map_traits(value, kept_by_object)
    given = function.node.args
    positional = [*given.posonlyargs, *given.args]
    free = [each.arg for each in positional[: len(positional) - len(given.defaults)]]
    return value if set(free) - {"self", "cls"} else map_traits(value, _once)


def _once(trait: Trait) -> Trait:
    return trait if trait.mark.order else replace(trait, once=True)


def _name_of(node: ast.expr) -> str:
    name = node.func if isinstance(node, ast.Call) else node
    return name.id if isinstance(name, ast.Name) else ""


def _called(
    machine: Interpreter, callee: Value | None, given: tuple[Value, ...], frame: Frame, place: Place
) -> Value | None:
    """What a call of a value gives; None where it is no function of the program."""
    if not isinstance(callee, Ref) or not isinstance(callee.target, Function):
        return None
    arguments = [*callee.given, *given]
    value, left = machine.invoke(callee.target, arguments, {}, frame, place, outer=callee.closure)
    return value if left is not None else None


def _constantly(value: Value, node: ast.expr, function: Function) -> Ref:
    """A function that takes anything and gives ``value``."""
    anything = ast.arguments(
        posonlyargs=[],
        args=[],
        vararg=ast.arg("a"),
        kwonlyargs=[],
        kw_defaults=[],
        kwarg=ast.arg("k"),
        defaults=[],
    )
    body = ast.Lambda(args=anything, body=ast.Name(_RESULT, ast.Load()))
    ast.fix_missing_locations(ast.copy_location(body, node))
    closure = Frame(function.module, names={_RESULT: value})
    return Ref("lambda", Function(body, function.module), closure=closure)
