"""Functions that a module keeps in a table: ``PROMPTS = {"clerk": lambda: …, "cook": cook_prompt}``.

Which of them is called the program decides when it runs; the one from which something volatile may come
stands for all.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from promptcache_lint.readers.python.modules import Function
from promptcache_lint.readers.python.values import Ref, Seq

if TYPE_CHECKING:
    from collections.abc import Iterable

    from promptcache_lint.readers.python.modules import Module
    from promptcache_lint.readers.python.program import Program
    from promptcache_lint.readers.python.relevance import Relevance
    from promptcache_lint.readers.python.values import Value

__all__ = ["calls_each", "chosen", "lambdas_of", "tables_of"]

_MOST = 40
"""Functions in one table; a longer one is data."""


def tables_of(module: Module, program: Program) -> dict[str, list[Function]]:
    """The functions in each table of a module, by the table's name; a lambda with a name is one of one.

    A table may name functions of other modules, which it imports.
    """
    found: dict[str, list[Function]] = {}
    for statement in module.tree.body:
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                functions = _functions(value, module, program)
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                functions = _functions(value, module, program)
            case _:
                continue
        if functions:
            found[name] = functions
    return found


def lambdas_of(tables: dict[str, list[Function]]) -> list[Function]:
    """The functions of tables that have no definition of their own."""
    return [
        function
        for functions in tables.values()
        for function in functions
        if isinstance(function.node, ast.Lambda)
    ]


def calls_each(values: Value) -> bool:
    """Whether a list is one of functions, all of them known."""
    return (
        isinstance(values, Seq)
        and not values.partial
        and 1 < len(values.items) <= _MOST
        and all(isinstance(item, Ref) and isinstance(item.target, Function) for item in values.items)
    )


def chosen(values: Iterable[Value], relevance: Relevance) -> Ref | None:
    """Of functions the one that may give something volatile, or else the first; None where there are none."""
    functions = [value for value in values if isinstance(value, Ref) and isinstance(value.target, Function)]
    volatile = (function for function in functions if relevance.yields_source(function.target))
    return next(volatile, functions[0] if functions else None)


def _functions(value: ast.expr, module: Module, program: Program) -> list[Function]:
    match value:
        case ast.Lambda():
            return [Function(value, module)]
        case ast.Dict():
            entries = value.values
        case ast.List() | ast.Tuple():
            entries = value.elts
        case _:
            return []
    found = []
    for entry in entries[:_MOST]:
        if isinstance(entry, ast.Lambda):
            found.append(Function(entry, module))
        elif isinstance(entry, ast.Name) and entry.id in module.functions:
            found.append(module.functions[entry.id])
        elif isinstance(entry, ast.Name) and entry.id in module.imports:
            target = program.resolve(module.imports[entry.id], module)
            found += [target] if isinstance(target, Function) else []
    return found
