"""Which functions of a module hand their messages to which: what a caller sends, its helper knows.

``recent(history)`` and ``shrink(messages)`` are told that they are given a conversation, and by whom; what a
helper gives back is judged by what its callers do with it.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from promptcache_lint.findings import Severity
from promptcache_lint.readers.python.conversations.matching import matched
from promptcache_lint.readers.python.conversations.uses import use_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from promptcache_lint.readers.python.conversations.facts import Facts
    from promptcache_lint.readers.python.conversations.lookup import Lookup
    from promptcache_lint.readers.python.modules import Function

__all__ = ["hand_over", "helpers", "tell"]

_ROUNDS = 3


def hand_over(known: Sequence[Facts], lookup: Lookup) -> None:
    """Tell each function the callers that give it their messages, and which of its parameters hold them."""
    targets = {facts.function: facts for facts in known if facts.function is not None}
    names = {facts.name for facts in known}
    calls = [
        (target, caller, call)
        for caller in known
        for call in caller.of(ast.Call)
        if isinstance(call, ast.Call) and (call.args or call.keywords) and _last_name(call) in names
        if (target := _target(call, caller, targets, lookup)) is not None and target is not caller
    ]
    for _ in range(_ROUNDS):
        told = [tell(target, caller, call) for target, caller, call in calls]
        if not any(told):
            return


def _last_name(call: ast.Call) -> str:
    func = call.func
    return func.attr if isinstance(func, ast.Attribute) else getattr(func, "id", "")


def _target(call: ast.Call, caller: Facts, targets: dict[Function, Facts], lookup: Lookup) -> Facts | None:
    function = lookup.called(call, caller.module, caller.function)
    return targets.get(function) if function is not None else None


def helpers(known: Iterable[Facts], others: set[Function], lookup: Lookup) -> Iterator[Function]:
    """The functions among ``others`` that may be given messages, and what they call, each once."""
    if not others:
        return
    names = {function.name for function in others}
    calls = [
        (call, facts.function, facts.module)
        for facts in known
        for call in facts.of(ast.Call)
        if isinstance(call, ast.Call) and _last_name(call) in names
        if any(facts.conviction(given) for given in [*call.args, *(k.value for k in call.keywords)])
    ]
    left = set(others)
    while calls:
        call, caller, module = calls.pop()
        found = lookup.called(call, module, caller)
        if found is not None and found in left:
            left.remove(found)
            yield found
            inner = (node for node in found.kinds.get(ast.Call, ()) if isinstance(node, ast.Call))
            calls += [(node, found, module) for node in inner if node.args or node.keywords]


def tell(target: Facts, caller: Facts, call: ast.Call) -> bool:
    """Whether a function has learned something from one of its calls."""
    learned = False
    for parameter, argument in matched(call, target.node):
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
