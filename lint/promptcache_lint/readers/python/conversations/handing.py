"""Which functions of a module hand their messages to which: what a caller sends, its helper knows.

``recent(history)`` and ``shrink(messages)`` are told that they are given a conversation, and by whom; what a
helper gives back is judged by what its callers do with it.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from promptcache_lint.findings import Severity
from promptcache_lint.readers.python.conversations.uses import use_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from promptcache_lint.readers.python.conversations.facts import Facts
    from promptcache_lint.readers.python.modules import Function

__all__ = ["hand_over", "helpers"]

_ROUNDS = 3
_OWN = {"self", "cls"}


def hand_over(known: Sequence[tuple[str, Facts]]) -> None:
    """Tell each function the callers that give it their messages, and which of its parameters hold them.

    ``known``: the functions of a module, each with the name of its class (empty: none).
    """
    targets = {(owner, facts.name): facts for owner, facts in known if facts.name}
    calls = [
        (target, caller, call)
        for owner, caller in known
        for call in caller.of(ast.Call)
        if isinstance(call, ast.Call) and (target := targets.get(_called(call, owner))) is not None
        if target is not caller
    ]
    for _ in range(_ROUNDS):
        told = [_tell(target, caller, call) for target, caller, call in calls]
        if not any(told):
            return


def helpers(
    known: Iterable[tuple[str, Facts]], others: dict[tuple[str, str], Function]
) -> Iterator[tuple[tuple[str, str], Function]]:
    """The functions among ``others`` that may be given messages, and what they call, each once."""
    if not others:
        return
    calls = [
        (call, owner)
        for owner, facts in known
        for call in facts.of(ast.Call)
        if isinstance(call, ast.Call) and _called(call, owner) in others
        if any(facts.conviction(given) for given in [*call.args, *(k.value for k in call.keywords)])
    ]
    left = dict(others)
    while calls:
        call, owner = calls.pop()
        key = _called(call, owner)
        found = left.pop(key, None)
        if found is not None:
            yield key, found
            inner = (node for node in found.kinds.get(ast.Call, ()) if isinstance(node, ast.Call))
            calls += [(node, key[0]) for node in inner if node.args or node.keywords]


def _called(call: ast.Call, owner: str) -> tuple[str, str]:
    """The class and the name of the module's own function that may be called."""
    match call.func:
        case ast.Name(id=name):
            return "", name
        case ast.Attribute(value=ast.Name(id=first), attr=name):
            return (owner if first in _OWN else first), name
        case _:
            return "", ""


def _tell(target: Facts, caller: Facts, call: ast.Call) -> bool:
    """Whether a function has learned something from one of its calls."""
    learned = False
    for parameter, argument in _matched(call, target.node):
        sure = caller.conviction(argument)
        if sure is None or (sure < Severity.ERROR and use_of(call, sure, caller) is None):
            continue
        learned |= parameter not in target.sure or (caller, call) not in target.handed
        target.sure.add(parameter)
        if all(target is not other for other in caller.gives):
            caller.gives.append(target)
        if (caller, call) not in target.handed:
            target.handed.append((caller, call))
    return learned


def _matched(call: ast.Call, node: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    """The parameters of a function with what a call gives them."""
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return
    positional = [argument.arg for argument in [*node.args.posonlyargs, *node.args.args]]
    if positional[:1] and positional[0] in _OWN:
        positional = positional[1:]
    if not any(isinstance(argument, ast.Starred) for argument in call.args):
        yield from zip(positional, call.args, strict=False)
    named = {*positional, *(argument.arg for argument in node.args.kwonlyargs)}
    yield from ((each.arg, each.value) for each in call.keywords if each.arg in named)
