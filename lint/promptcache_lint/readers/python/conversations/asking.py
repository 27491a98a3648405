"""Functions of the program that ask a model with a list they are given: ``say([system, *talk])`` sends it.

Only what a function is seen to send counts: as the messages of a request, or handed on to another that does.
A function that, by its name, does something else than carry a conversation on sends none of it.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from promptcache_lint.readers.python.conversations.asides import is_aside
from promptcache_lint.readers.python.conversations.facts import (
    called_name,
    constant,
    is_model_call,
    lists_in,
    spell,
)
from promptcache_lint.readers.python.conversations.matching import matched

if TYPE_CHECKING:
    from collections.abc import Iterator

    from promptcache_lint.readers.python.conversations.facts import Facts
    from promptcache_lint.readers.python.conversations.lookup import Lookup
    from promptcache_lint.readers.python.modules import Function, Module

__all__ = ["Askers"]

_ROOM = 3
_KEYWORDS = {"messages", "input", "contents", "message_history", "chat_history", "history"}
_BY_PLACE = {"invoke", "ainvoke", "stream", "astream", "chat", "achat"}
_BODY = {"model", "messages"}
_LISTS = (ast.List, ast.BinOp, ast.Name, ast.Attribute, ast.Call, ast.Subscript, ast.IfExp)


class Askers:
    """Answers for one module which arguments of its calls are sent; each function is looked at once."""

    def __init__(self, lookup: Lookup) -> None:
        self._lookup = lookup
        self._sends: dict[Function, set[str]] = {}

    def tell(self, facts: Facts) -> None:
        """Tell a function which lists it hands to those that send them."""
        for call in facts.of(ast.Call):
            if isinstance(call, ast.Call) and (call.args or call.keywords):
                for given in self._sent_by(call, facts.module, facts.function):
                    facts.asked.add(given)
                    facts.sure |= {name for name in lists_in(given) if name}

    def is_asked_by(self, function: Function) -> bool:
        """Whether a function hands a list that it makes itself to one that sends it."""
        return any(
            isinstance(given, ast.List | ast.BinOp)
            for call in function.kinds.get(ast.Call, ())
            if isinstance(call, ast.Call) and (call.args or call.keywords)
            for given in self._sent_by(call, function.module, function)
        )

    def _sent_by(
        self, call: ast.Call, module: Module, within: Function | None, room: int = _ROOM
    ) -> Iterator[ast.expr]:
        """The arguments that the function which a call runs sends to a model."""
        values = [*call.args, *(keyword.value for keyword in call.keywords)]
        if is_model_call(call) or not any(isinstance(each, _LISTS) for each in values):
            return
        function = self._lookup.called(call, module, within)
        if function is None or function is within or is_aside(function.name):
            return
        sends = self._parameters(function, room - 1)
        if sends:
            yield from (given for name, given in matched(call, function.node) if name in sends)

    def _parameters(self, function: Function, room: int) -> set[str]:
        """The parameters of a function that it sends as messages."""
        if function in self._sends or room < 0:
            return self._sends.get(function, set())
        self._sends[function] = set()  # of a circle
        given = {parameter.arg for parameter, _ in function.parameters} - {"self", "cls"}
        names = {name for node in function.kinds.get(ast.Dict, ()) for name in _in_body(node)}
        for call in function.kinds.get(ast.Call, ()):
            if isinstance(call, ast.Call):
                names |= set(_in_request(call))
                for each in self._sent_by(call, function.module, function, room) if given else ():
                    names |= set(lists_in(each))
        for node in function.kinds.get(ast.Assign, ()) if names else ():
            if isinstance(node, ast.Assign) and any(spell(target) in names for target in node.targets):
                names |= set(lists_in(node.value))
        self._sends[function] = names & given
        return self._sends[function]


def _in_request(call: ast.Call) -> Iterator[str]:
    """The lists that a call which asks a model is given."""
    if not is_model_call(call):
        return
    for keyword in call.keywords:
        if keyword.arg in _KEYWORDS:
            yield from lists_in(keyword.value)
    if call.args and called_name(call).rpartition(".")[2] in _BY_PLACE:
        yield from lists_in(call.args[0])


def _in_body(node: ast.AST) -> Iterator[str]:
    """The lists in the body of a request that is written down: ``{"model": …, "messages": messages}``."""
    if not isinstance(node, ast.Dict) or not {constant(key) for key in node.keys} >= _BODY:
        return
    for key, value in zip(node.keys, node.values, strict=True):
        if constant(key) == "messages":
            yield from lists_in(value)
