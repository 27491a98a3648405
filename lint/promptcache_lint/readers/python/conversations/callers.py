"""What becomes of what a helper gives back: its calls in its own module, seen from their callers.

A helper that writes one block, or one call of a tool, says nothing of messages; who calls it does.
"""

from __future__ import annotations

import ast
import re
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

from promptcache_lint.readers.python.conversations.facts import Facts, called_name, spell

if TYPE_CHECKING:
    from collections.abc import Iterator

    from promptcache_lint.readers.python.modules import Function, Module

__all__ = ["calls_of", "facts_of", "facts_of_all", "is_given_back", "own_function", "written_by_methods"]

_CALLED = re.compile(r"\b(\w+)\(")


def is_given_back(node: ast.AST, facts: Facts) -> bool:
    """Whether a value is, or is a part of, what its function returns, by itself or under a name."""
    returned = _returned(facts)
    for outer in facts.around(node):
        match outer:
            case ast.Return():
                return True
            case ast.Assign(targets=[target]) | ast.AnnAssign(target=target):
                return spell(target) in returned
            case ast.Call(func=ast.Attribute(attr="append" | "extend", value=owner)):
                return spell(owner) in returned
    return False


@lru_cache(maxsize=8)
def _returned(facts: Facts) -> frozenset[str]:
    """The names in what a function returns."""
    values = [node.value for node in facts.of(ast.Return) if isinstance(node, ast.Return) and node.value]
    return frozenset(name for value in values for inner in ast.walk(value) if (name := spell(inner)))


def calls_of(facts: Facts) -> Iterator[tuple[Facts, ast.Call]]:
    """The calls of a function in its module, each with the facts of the function it stands in."""
    function = facts.function
    if function is None:
        return
    others = _others_of(facts.module, facts.about_models)
    for caller in others.callers.get(function.name, ()):
        if caller is function:
            continue
        calls = [
            node
            for node in caller.kinds.get(ast.Call, ())
            if isinstance(node, ast.Call) and _means(called_name(node), function, caller)
        ]
        yield from ((others.facts(caller), call) for call in calls)


def own_function(call: ast.Call, facts: Facts) -> Function | None:
    """What a call runs, where that is a function of the same module, or a method of the same object."""
    owner, _, name = called_name(call).rpartition(".")
    if not owner:
        return facts.module.functions.get(name)
    cls = facts.function.owner if facts.function is not None else None
    return cls.methods.get(name) if cls is not None and owner in {"self", "cls"} else None


def facts_of(function: Function, facts: Facts) -> Facts:
    """The facts of another function of the same module, as it shows them by itself."""
    return _others_of(facts.module, facts.about_models).facts(function)


def facts_of_all(module: Module) -> Iterator[Facts]:
    """The facts of the functions of a module, as each shows them by itself."""
    others = _others_of(module, about_models=True)
    return map(others.facts, others.functions)


class _Others:
    """The functions of a module, which of them call a name, and the facts of those that are asked for."""

    def __init__(self, module: Module, about_models: bool) -> None:  # noqa: FBT001
        methods = (method for cls in module.classes.values() for method in cls.methods.values())
        self.functions: tuple[Function, ...] = (*module.functions.values(), *methods)
        self._about_models = about_models
        self._facts: dict[Function, Facts] = {}

    @cached_property
    def callers(self) -> dict[str, list[Function]]:
        """The functions in whose text a name is called."""
        found: dict[str, list[Function]] = {}
        for function in self.functions:
            for name in dict.fromkeys(_CALLED.findall(function.code)):
                found.setdefault(name, []).append(function)
        return found

    def facts(self, function: Function) -> Facts:
        known = self._facts.get(function)
        if known is None:
            known = self._facts[function] = Facts(
                function.module,
                function.node,
                function.name,
                self._about_models,
                function.kinds,
                function=function,
            )
        return known


@lru_cache(maxsize=2)  # a module's helpers are asked for one after the other
def _others_of(module: Module, about_models: bool) -> _Others:  # noqa: FBT001
    return _Others(module, about_models)


def _means(name: str, function: Function, caller: Function) -> bool:
    """Whether a name in ``caller`` is that of ``function``: its own, or that of a method of their object."""
    if function.owner is None:
        return name == function.name
    owner, _, last = name.rpartition(".")
    return last == function.name and owner in {"self", "cls"} and caller.owner is function.owner


def written_by_methods(value: ast.expr, facts: Facts) -> Iterator[ast.AST]:
    """What methods of the module give back that are called in a value: ``[c.to_dict() for c in calls]``."""
    for node in ast.walk(value):
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(), attr=name), args=[], keywords=[]):
                found = [cls.methods[name] for cls in facts.module.classes.values() if name in cls.methods]
            case _:
                continue
        for returned in found[0].kinds.get(ast.Return, ()) if len(found) == 1 else ():
            yield from ast.walk(returned)
