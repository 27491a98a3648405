"""Which functions and classes of the tree a module's conversation passes through, wherever they stand.

``messages = trim(messages)`` hands it to a function of another module, ``messages=self.memory.window()``
sends what a method gives back, and ``messages=self.memory.messages`` an attribute, which other methods of its
class may cut. What is found there stands at the place in this module, with the other one as its source.
"""

from __future__ import annotations

import ast
import re
from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING

from promptcache_lint.findings import Severity
from promptcache_lint.readers.python.conversations.asides import is_aside, sums_up
from promptcache_lint.readers.python.conversations.facts import (
    constant,
    converts,
    is_model_call,
    lists_in,
    spell,
)
from promptcache_lint.readers.python.conversations.handing import tell
from promptcache_lint.readers.python.conversations.own_lists import is_fresh
from promptcache_lint.readers.python.conversations.row_windows import window_of_rows
from promptcache_lint.readers.python.conversations.tables import entry, lists_of, taken_from
from promptcache_lint.readers.python.conversations.uses import use_of, uses_as_messages
from promptcache_lint.readers.stores import hands_out, is_length

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from promptcache_lint.prompts import Practice
    from promptcache_lint.readers.python.conversations.facts import Facts
    from promptcache_lint.readers.python.conversations.lookup import Lookup
    from promptcache_lint.readers.python.modules import Class, Function

__all__ = ["Abroad"]

_MOST = 60
"""Functions of other modules that are looked at for one; a conversation passes through a few."""
_CHANGES = re.compile(
    r"\[[^\]\n]*:|\.pop|popleft|\bdel |deque\(|reversed\(|\.remove\(|\.insert\(|trim_messages"
    r"|[\"'\w]\]\s*\+?= |\.content\s*\+?="
)
"""One of these is in each function that cuts or changes messages."""


_HANDED_OUT = (
    "`{}` hands out the newest messages: from then on every turn begins with another one, and misses."
)


class Abroad:
    """Follows the conversation of the functions in ``known``; ``made`` makes facts of a function.

    ``found`` are those of other modules that handle it, each with the place at which it is reached, and
    ``practices`` the windows of usual length that their stores hand out.
    """

    def __init__(self, known: Iterable[Facts], lookup: Lookup, made: Callable[[Function], Facts]) -> None:
        self.found: list[tuple[Facts, ast.expr]] = []
        self.practices: list[Practice] = []
        self._lookup = lookup
        self._made = made
        self._known = {facts.function: facts for facts in known if facts.function is not None}
        self._places: dict[Facts, ast.expr] = {}
        self._pending = [*known]
        self._follow()

    def ways(self) -> Iterator[tuple[Facts, ast.expr]]:
        """What was found, once for each place at which it is reached, with the callers there."""
        for facts, first in self.found:
            handed: dict[ast.expr, list[tuple[Facts, ast.Call | ast.Attribute]]] = {}
            for caller, at in facts.handed:
                handed.setdefault(self._places.get(caller, at), []).append((caller, at))
            for place, callers in handed.items() or [(first, [])]:
                way = copy(facts)
                way.handed = callers
                yield way, place

    def _follow(self) -> None:
        room = len(self._pending) + _MOST
        while self._pending and room > 0 and len(self.found) < _MOST:
            room -= 1
            facts = self._pending.pop()
            talks = facts.sure or facts.handed or facts.calls
            if not talks or is_aside(facts.name) or converts(facts.name) or _sums_up(facts):
                continue
            for call in facts.of(ast.Call):
                if isinstance(call, ast.Call) and _is_given(call, facts) and not is_model_call(call):
                    self._given_to(call, facts)
            for use in uses_as_messages(facts):
                if isinstance(use, ast.Attribute):
                    self._attribute(use, facts)
                else:
                    self._result(use, facts)

    def _given_to(self, call: ast.Call, facts: Facts) -> None:
        """Messages that a function is given."""
        given = [each for each in _arguments(call) if spell(each) in facts.sure]
        function = self._called(call, facts)
        if function is None or all(_is_of_one_request(each, call, facts) for each in given):
            return
        target = self._reached(function, call, facts)
        if target is not None:
            tell(target, facts, call)

    def _result(self, call: ast.Call, facts: Facts) -> None:
        """Messages that a function or method gives back, of those it keeps or reads itself."""
        function = self._called(call, facts) if not _is_given(call, facts) else None
        if function is None or use_of(call, Severity.ERROR, facts) is None or _is_loaded_once(call, facts):
            return
        default = _usual_length(function, call)
        if default is not None and not facts.abroad:
            says = _HANDED_OUT.format(facts.label(call))
            window = facts.practice("PC501", Severity.WARNING, call, says)
            self.practices.append(replace(window, source=function.module.place(default)))
        query = window_of_rows(function, call) if default is None else None
        if query is not None:
            says = _HANDED_OUT.format(facts.label(call))
            window = facts.practice("PC501", Severity.WARNING, call, says)
            self.practices.append(replace(window, source=function.module.place(query)))
        target = self._reached(function, call, facts)
        if target is not None:
            self._given_back(target, call, call.func, facts)

    def _called(self, call: ast.Call, facts: Facts) -> Function | None:
        function = self._lookup.called(call, facts.module, facts.function)
        own = function is None or function is facts.function or isinstance(function.node, ast.Lambda)
        return None if own else function

    def _attribute(self, node: ast.Attribute, facts: Facts) -> None:
        """``self.memory.messages``: an attribute of an object, or a property, that holds the conversation."""
        cls = self._lookup.class_of(node.value, facts.module, facts.function)
        if cls is None:
            return
        method = self._lookup.method(cls, node.attr)
        if method is None:
            self._share(self._methods(cls), {f"self.{node.attr}"}, node, facts)
        elif "property" in method.decorators:
            target = self._reached(method, node, facts)
            if target is not None:
                self._given_back(target, node, node, facts)

    def _given_back(
        self, target: Facts, use: ast.Call | ast.Attribute, named: ast.expr, facts: Facts
    ) -> None:
        """What a method gives back is sent by ``use``: so are the lists it is made of."""
        if all(each is not use for _, each in target.handed):
            target.handed.append((facts, use))
        returned = [n.value for n in target.of(ast.Return) if isinstance(n, ast.Return) and n.value]
        names = {name for value in returned for name in lists_in(value)}
        names |= {
            name
            for node in target.of(ast.Assign)
            if isinstance(node, ast.Assign) and any(spell(each) in names for each in node.targets)
            for name in lists_in(node.value)
        }
        target.sure |= names - {""}
        tables = {table for value in returned for table in _tables_in(value, target)}
        target.tables |= tables
        shared = {name for name in names | tables if re.fullmatch(r"self\.\w+|self\..*\[\].*", name)}
        cls = None
        if isinstance(named, ast.Attribute):
            cls = self._lookup.class_of(named.value, facts.module, facts.function)
        if cls is not None and shared:
            self._share(self._methods(cls), shared, use, facts)
        if tables - shared:
            self._share(target.module.functions.values(), tables - shared, use, facts)

    def _methods(self, cls: Class) -> Iterator[Function]:
        """The methods of a class and of its bases."""
        for owner in self._lookup.bases(cls):
            yield from owner.methods.values()

    def _share(self, functions: Iterable[Function], names: set[str], at: ast.expr, facts: Facts) -> None:
        """Tell functions which attributes, or entries of tables, hold messages that somebody sends."""
        words = {name.removeprefix("self.").partition("[]")[0] for name in names}
        for function in functions:
            written = any(word in function.text for word in words)
            if not written or _CHANGES.search(function.text) is None or sums_up(function.code):
                continue
            target = self._reached(function, at, facts)
            if target is not None and target is not facts:
                target.sure |= {name for name in names if "[]" not in name}
                target.tables |= {name for name in names if "[]" in name}
                target.sent_by = target.sent_by or facts

    def _reached(self, function: Function, at: ast.expr, facts: Facts) -> Facts | None:
        """The facts of a function, made where it is reached first; None where too many were."""
        known = self._known.get(function)
        if known is not None:
            return known
        if len(self.found) >= _MOST:
            return None
        made = self._known[function] = self._made(function)
        made.abroad = True
        place = self._places.get(facts, at)
        self._places[made] = place
        self.found.append((made, place))
        self._pending.append(made)
        return made


def _tables_in(returned: ast.expr, facts: Facts) -> Iterator[str]:
    """The entries of tables that a function gives back, by themselves or under a name."""
    for each in lists_of(returned):
        names = {entry(each), *taken_from(entry(each), facts)}
        yield from (name for name in names if "[]" in name)


def _is_loaded_once(call: ast.Call, facts: Facts) -> bool:
    """``self.messages = load()``: the object begins with what was kept, and goes on from there."""
    statement = facts.statement(call)
    return isinstance(statement, ast.Assign) and any("." in spell(target) for target in statement.targets)


def _usual_length(function: Function, call: ast.Call) -> ast.expr | None:
    """The default by which a store hands out a few messages: of ``limit=10``, where a call gives no other."""
    if not hands_out(function.name) or any(keyword.arg is None for keyword in call.keywords):
        return None
    given = {keyword.arg for keyword in call.keywords}
    skipped = len(call.args) + (function.owner is not None and "staticmethod" not in function.decorators)
    for parameter, default in function.parameters[skipped:]:
        if parameter.arg not in given and is_length(parameter.arg, constant(default)):
            return default
    return None


def _sums_up(facts: Facts) -> bool:
    return facts.function is not None and sums_up(facts.function.code)


def _arguments(call: ast.Call) -> Iterator[ast.expr]:
    yield from call.args
    yield from (keyword.value for keyword in call.keywords)


def _is_given(call: ast.Call, facts: Facts) -> bool:
    """Whether a list of messages is among the arguments of a call."""
    for each in _arguments(call):
        if isinstance(each, ast.Name | ast.Attribute) and spell(each) in facts.sure:
            return True
    return False


def _is_of_one_request(argument: ast.expr, call: ast.Call, facts: Facts) -> bool:
    """Whether messages are written down here for a single request, with no history among them."""
    if not is_fresh(argument, call, facts) or facts.turns(call) is not None:
        return False
    name = spell(argument)
    for node in facts.of(ast.Assign, ast.AugAssign, ast.Call):
        match node:
            case ast.Assign() if any(spell(target) == name for target in node.targets):
                if any(isinstance(inner, ast.Starred | ast.BinOp) for inner in ast.walk(node.value)):
                    return False
            case ast.AugAssign() if spell(node.target) == name:
                return False
            case ast.Call(func=ast.Attribute(value=owner, attr="append" | "extend" | "insert" as added)):
                if spell(owner) == name and (added == "extend" or facts.loop(node) is not None):
                    return False
            case _:
                continue
    return True
