"""Fields of classes that a factory fills for each object: dataclasses, pydantic, attrs."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from promptcache_lint.readers.python.modules import Function

if TYPE_CHECKING:
    from promptcache_lint.readers.python.modules import Class

__all__ = ["factories_of", "factory_call"]

_EMPTY = {"list", "dict", "str", "int", "float", "bool", "set", "tuple"}


def factory_call(expression: ast.expr | None) -> ast.Call | None:
    """The call that makes a field's value for each object, unless that is an empty list, dict or text."""
    for keyword in expression.keywords if isinstance(expression, ast.Call) else ():
        factory = keyword.value if keyword.arg in {"default_factory", "factory"} else None
        match keyword:
            case ast.keyword(
                arg="default",
                value=ast.Call(func=ast.Name(id="Factory") | ast.Attribute(attr="Factory"), args=[inner]),
            ):
                factory = inner
        if factory is not None and not (isinstance(factory, ast.Name) and factory.id in _EMPTY):
            return ast.copy_location(ast.Call(func=factory, args=[], keywords=[]), factory)
    return None


def factories_of(cls: Class) -> list[Function]:
    """The factories of a class, as functions that call them."""
    calls = filter(None, map(factory_call, cls.fields.values()))
    nothing = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])
    return [
        Function(ast.copy_location(ast.Lambda(args=nothing, body=call), call), cls.module) for call in calls
    ]
