"""What becomes of what a helper gives back: its calls in its own module, seen from their callers.

A helper that writes one block, or one call of a tool, says nothing of messages; who calls it does.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from promptcache_lint.readers.python.conversations.facts import Facts, called_name, spell

if TYPE_CHECKING:
    from collections.abc import Iterator

    from promptcache_lint.readers.python.modules import Function

__all__ = ["calls_of", "facts_of_others", "is_given_back", "own_function", "written_by_methods"]


def is_given_back(node: ast.AST, facts: Facts) -> bool:
    """Whether a value is, or is a part of, what its function returns, by itself or under a name."""
    returned = {
        spell(inner)
        for node in facts.of(ast.Return)
        if isinstance(node, ast.Return) and node.value is not None
        for inner in ast.walk(node.value)
    } - {""}
    for outer in facts.around(node):
        match outer:
            case ast.Return():
                return True
            case ast.Assign(targets=[target]) | ast.AnnAssign(target=target):
                return spell(target) in returned
            case ast.Call(func=ast.Attribute(attr="append" | "extend", value=owner)):
                return spell(owner) in returned
    return False


def calls_of(facts: Facts) -> Iterator[tuple[Facts, ast.Call]]:
    """The calls of a function in its module, each with the facts of the function it stands in."""
    function = facts.function
    if function is None:
        return
    for caller in _functions(facts):
        if caller is function or f"{function.name}(" not in caller.code:
            continue
        calls = [
            node
            for node in caller.kinds.get(ast.Call, ())
            if isinstance(node, ast.Call) and _means(called_name(node), function, caller)
        ]
        if calls:
            known = _facts_of(caller, facts)
            yield from ((known, call) for call in calls)


def own_function(call: ast.Call, facts: Facts) -> Function | None:
    """What a call runs, where that is a function of the same module, or a method of the same object."""
    owner, _, name = called_name(call).rpartition(".")
    if not owner:
        return facts.module.functions.get(name)
    cls = facts.function.owner if facts.function is not None else None
    return cls.methods.get(name) if cls is not None and owner in {"self", "cls"} else None


def facts_of_others(facts: Facts) -> Iterator[Facts]:
    """The facts of the other functions of a module."""
    return (_facts_of(other, facts) for other in _functions(facts) if other is not facts.function)


def _facts_of(function: Function, facts: Facts) -> Facts:
    return Facts(
        function.module, function.node, function.name, facts.about_models, function.kinds, function=function
    )


def _functions(facts: Facts) -> Iterator[Function]:
    yield from facts.module.functions.values()
    for cls in facts.module.classes.values():
        yield from cls.methods.values()


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
