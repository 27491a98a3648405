"""Whether the answer to a request goes on in the conversation whose end it shows, or stands beside it.

A judge, a guard and a router show a model the last messages too. Nothing is lost by their windows where the
answer is put into no conversation, so an error needs the place where it is: the list that the window is taken
from grows in the function that asks, or what comes of the answer is kept as a message, there or by a caller.
"""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from promptcache_lint.readers.python.conversations.facts import (
    called_name,
    constant,
    is_model_call,
    role_of,
    spell,
)
from promptcache_lint.readers.python.conversations.tables import entry, table_of
from promptcache_lint.readers.python.walking import nodes_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from promptcache_lint.readers.python.conversations.facts import Facts

__all__ = ["goes_on", "is_beside", "made_of"]

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_ADDS = {"append", "extend", "insert", "appendleft"}
_STORES = re.compile(
    r"(?:add|append|save|store|record|insert|push|put|remember|persist|write|update|create|log|extend)"
)
_TALK = re.compile(
    r"message|msg|turn|exchange|histor|conversation|memor|chat|dialog|interaction|context|talk"
)
_SIDES = {"assistant", "ai", "model", "bot", "system", "user", "human"}
_ROOM = 3
_LIMITS = {"max_tokens", "max_completion_tokens", "max_output_tokens"}
_A_WORD = 16
"""Tokens of a mark or a verdict; an answer in a conversation has more room."""


def goes_on(talk: ast.expr, facts: Facts) -> bool:
    """Whether a conversation, of which the end is sent, is seen to grow by what the model answers."""
    names = _family(talk, facts.nodes)
    if _is_grown(names, facts.nodes):
        return True
    if _requests(facts.nodes):
        return _comes_back(_requests(facts.nodes), names, facts)
    return any(_goes_on_with(call, caller, names) for caller, call in facts.handed)


def is_beside(facts: Facts) -> bool:
    """Whether each request with the messages leaves room for a word only: no answer of a conversation."""
    asking = [facts] if _requests(facts.nodes) else [caller for caller, _ in facts.handed]
    requests = [call for each in asking for call in _requests(each.nodes)]
    return bool(requests) and all(map(_asks_a_word, requests))


def _asks_a_word(request: ast.expr) -> bool:
    given = request.keywords if isinstance(request, ast.Call) else []
    limits = [constant(keyword.value) for keyword in given if keyword.arg in _LIMITS]
    return any(isinstance(limit, int) and limit <= _A_WORD for limit in limits)


def _goes_on_with(call: ast.expr, caller: Facts, names: set[str], room: int = _ROOM) -> bool:
    """The same of a caller that sends what a helper makes of its messages, or what an object gives back."""
    lists = _lists_of(call, caller)
    holder = call.func if isinstance(call, ast.Call) else call
    held = spell(holder.value) if isinstance(holder, ast.Attribute) else ""
    lists |= {name for name in names if name.startswith("self.")} if held in {"self", ""} else {held}
    if _is_grown(lists, caller.nodes):
        return True
    if _requests(caller.nodes):
        return _comes_back([*_requests(caller.nodes), call], lists, caller)
    return room > 0 and any(_goes_on_with(at, other, lists, room - 1) for other, at in caller.handed)


def _comes_back(seeds: list[ast.expr], names: set[str], facts: Facts) -> bool:
    """Whether an answer is kept by the function that asks, or by one that gave it its messages."""
    return _is_kept(seeds, names, facts.node, facts) or any(
        _is_kept([at], _lists_of(at, caller), caller.node, caller) or _is_handed_through(at, caller)
        for caller, at in facts.handed
    )


def _is_handed_through(at: ast.expr, caller: Facts) -> bool:
    """``messages.append(question); return call(messages)``: a turn of a list that grows."""
    returned = (node.value for node in caller.of(ast.Return) if isinstance(node, ast.Return) and node.value)
    tainted = made_of([at], caller.nodes)
    answers = any(_holds(value, [at], tainted) for value in returned)
    return answers and _is_grown(_lists_of(at, caller), caller.nodes)


def _lists_of(at: ast.expr, caller: Facts) -> set[str]:
    given = [*at.args, *(keyword.value for keyword in at.keywords)] if isinstance(at, ast.Call) else []
    return {
        name for each in given if caller.conviction(each) is not None for name in _family(each, caller.nodes)
    }


def _requests(nodes: list[ast.AST]) -> list[ast.expr]:
    """The calls that ask a model, by their names or by the messages that they are given."""
    return [
        node
        for node in nodes
        if isinstance(node, ast.Call)
        and (is_model_call(node) or any(keyword.arg == "messages" for keyword in node.keywords))
    ]


def _family(node: ast.expr, nodes: list[ast.AST]) -> set[str]:
    """A list with those that it is another name of: ``history = self.talks[user]``."""
    names = {spell(node), _below(node)} | {
        spell(inner) for inner in ast.walk(node) if isinstance(inner, ast.Attribute)
    }
    for each in nodes:
        if isinstance(each, ast.Assign) and any(spell(target) in names for target in each.targets):
            made = each.value
            if isinstance(made, ast.Name | ast.Attribute | ast.Subscript | ast.Call | ast.BoolOp | ast.Await):
                names |= {spell(inner) for inner in ast.walk(made) if isinstance(inner, ast.Attribute)}
                names |= {spell(made), _below(made)}
    return names - {""}


def _is_grown(names: set[str], nodes: list[ast.AST]) -> bool:
    """Whether something is added to a list, or to the object that keeps it."""
    return any(_owner(node) in names for node in nodes if isinstance(node, ast.Call | ast.AugAssign)) or any(
        isinstance(node, ast.Assign)
        and isinstance(node.value, ast.BinOp | ast.List)
        and any(spell(target) in names & _read(node.value) for target in node.targets)
        for node in nodes
    )


def _owner(node: ast.AST) -> str:
    """The list to which a call or a statement adds; empty where it adds nothing."""
    match node:
        case ast.AugAssign(op=ast.Add(), target=target):
            return spell(target)
        case ast.Call(func=ast.Attribute(attr=attr, value=owner)) if node.args or node.keywords:
            return (spell(owner) or _below(owner)) if attr in _ADDS or _STORES.match(attr) else ""
        case _:
            return ""


def _below(node: ast.expr) -> str:
    """The table of which an entry is taken: ``self.talks[user]``."""
    return entry(node).partition("[]")[0] if table_of(node) else ""


def _read(node: ast.AST) -> set[str]:
    return {spell(inner) for inner in ast.walk(node)} - {""}


def _is_kept(
    seeds: list[ast.expr], names: set[str], function: ast.AST, facts: Facts, room: int = _ROOM
) -> bool:
    """Whether what ``seeds`` give becomes a message of a conversation, in a function or a caller."""
    nodes = nodes_of(function)
    tainted = made_of(seeds, nodes)
    if any(_keeps(node, seeds, tainted, names) for node in nodes):
        return True
    if room == 0 or not isinstance(function, _FUNCTIONS):
        return False
    own = {name for name in names if name.startswith("self.")}
    return any(_is_kept([call], own, caller, facts, room - 1) for caller, call in _callers(function, facts))


def _callers(
    function: ast.FunctionDef | ast.AsyncFunctionDef, facts: Facts
) -> Iterator[tuple[ast.AST, ast.Call]]:
    """The functions of the module that call one by its name."""
    for caller in nodes_of(facts.module.tree):
        if not isinstance(caller, _FUNCTIONS) or caller is function:
            continue
        for call in nodes_of(caller):
            if isinstance(call, ast.Call) and called_name(call).rpartition(".")[2] == function.name:
                yield caller, call


def made_of(seeds: list[ast.expr], nodes: list[ast.AST]) -> set[str]:
    """The variables that hold an answer, or a part of it."""
    tainted: set[str] = set()
    for _ in range(_ROOM):
        before = len(tainted)
        for node in nodes:
            match node:
                case ast.Assign(value=value, targets=targets) if _holds(value, seeds, tainted):
                    tainted |= {name for target in targets for name in _named(target)}
                case ast.AnnAssign(value=ast.expr() as value) | ast.AugAssign(value=value) if _holds(
                    value, seeds, tainted
                ):
                    tainted |= _named(node.target)
                case ast.For(iter=value) | ast.AsyncFor(iter=value) if _holds(value, seeds, tainted):
                    tainted |= _named(node.target)
                case ast.With(items=items) | ast.AsyncWith(items=items):
                    for item in items:
                        if item.optional_vars is not None and _holds(item.context_expr, seeds, tainted):
                            tainted |= _named(item.optional_vars)
                case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="append"), args=[value]) if (
                    _holds(value, seeds, tainted)
                ):
                    tainted.add(name)
                case _:
                    continue
        if len(tainted) == before:
            break
    return tainted


def _named(target: ast.expr) -> set[str]:
    each = target.elts if isinstance(target, ast.Tuple | ast.List) else [target]
    return {spell(one) for one in each} - {""}


def _holds(node: ast.expr, seeds: list[ast.expr], tainted: set[str]) -> bool:
    """Whether an expression is an answer, or made of one: not what a call of several arguments gives."""
    pending: list[ast.AST] = [node]
    while pending:
        at = pending.pop()
        if at in seeds or (isinstance(at, ast.Name | ast.Attribute) and spell(at) in tainted):
            return True
        if isinstance(at, ast.Call):
            pending.append(at.func)
            pending += at.args if len(at.args) + len(at.keywords) == 1 and not is_model_call(at) else []
        elif not isinstance(at, ast.Compare | ast.Lambda):
            pending += ast.iter_child_nodes(at)
    return False


def _keeps(node: ast.AST, seeds: list[ast.expr], tainted: set[str], names: set[str]) -> bool:
    """Whether a statement or call puts an answer into a conversation."""
    match node:
        case ast.Call() if node not in seeds:
            given = [*node.args, *(keyword.value for keyword in node.keywords)]
            held = [each for each in given if _is_in(each, seeds, tainted)]
            return bool(held) and (_owner(node) in names - {""} or _stores(node, held, given))
        case ast.AugAssign(value=value) | ast.Assign(value=value) if _is_in(value, seeds, tainted):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            return any(spell(target) in names for target in targets) and not _holds_bare(value, seeds)
        case ast.Return(value=ast.Dict(keys=keys, values=values)):
            pairs = zip(keys, values, strict=True)
            return any(
                isinstance(key, ast.Constant) and key.value == "messages" and _is_in(value, seeds, tainted)
                for key, value in pairs
            )
        case _:
            return False


def _holds_bare(value: ast.expr, seeds: list[ast.expr]) -> bool:
    """``messages = trim(messages)``: what takes a list's place is no answer in it."""
    return value in seeds


def _is_in(node: ast.expr, seeds: list[ast.expr], tainted: set[str]) -> bool:
    """Whether an answer is an expression or stands in it, in a message of any class."""
    return _holds(node, seeds, tainted) or (
        isinstance(node, ast.Call | ast.List)
        and any(_holds(each, seeds, tainted) for each in ast.walk(node) if isinstance(each, ast.expr))
    )


def _stores(call: ast.Call, held: list[ast.expr], given: list[ast.expr]) -> bool:
    """Whether a call adds a message: one with a role, or by what it and its object are called."""
    name = called_name(call).lower()
    last = name.rpartition(".")[2].lstrip("_")
    if not _STORES.match(last):
        return False
    if any(role_of(part) for each in held for part in ast.walk(each)):
        return True
    says = {str(each.value).lower() for each in given if isinstance(each, ast.Constant)}
    return bool(says & _SIDES) or _TALK.search(name) is not None
