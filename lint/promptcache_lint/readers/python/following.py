"""Whether a conversation goes on behind what is sent, as a function and its class write it out.

Values tell it where a list of messages is of unknown length. Here the source does: what was said before is
put behind the message, by a name that says so, or the list that is sent is kept and gets the answers.
"""

from __future__ import annotations

import ast
import re
from bisect import bisect_left
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

from promptcache_lint.readers.python import blocks
from promptcache_lint.readers.python.additions import (
    added_to,
    adds_answer,
    binds,
    is_own,
    is_written,
    looks_up,
    parts,
    says_talk,
)
from promptcache_lint.readers.python.requests import TALKS, literal
from promptcache_lint.readers.python.values import Seq, Str, Thing
from promptcache_lint.readers.python.walking import nodes_of

if TYPE_CHECKING:
    from promptcache_lint.readers.python.frame import Frame
    from promptcache_lint.readers.python.values import Value

__all__ = ["goes_on", "is_history"]

_STORED = re.compile(r"(?:Chat|Conversation)?Messages?|Turns?")
"""Classes of what is stored of a conversation: ``Message.query.filter_by(…)``."""
_LOOPS = (ast.For, ast.AsyncFor, ast.While)


def goes_on(sent: ast.AST | None, frame: Frame, *, seen: bool, before: bool) -> bool:
    """Whether what is sent grows with a conversation behind it.

    ``seen``: its value says so. ``before``: it is made in front of the rounds in which it is sent; then what
    was said before has to stand in it already.
    """
    node = frame.function.node if frame.function is not None else None
    if sent is None or node is None or isinstance(node, ast.Lambda):
        return seen and not before
    owner = frame.function.owner if frame.function is not None else None
    here = _here(node, owner.node if owner is not None else None)
    if before:
        return isinstance(sent, ast.List) and here.is_followed(sent)
    return seen or here.is_followed(sent) or here.sends_more(sent)


def is_history(item: Value) -> bool:
    """Whether an item of a template stands for what was said before: ``MessagesPlaceholder("history")``."""
    match item:
        case Thing(label=label) if label.startswith("MessagesPlaceholder"):
            return says_talk(label.removeprefix("MessagesPlaceholder"))
        case Seq(items=[Str() as speaker, Str() as said]) if literal(speaker) == "placeholder":
            return says_talk(literal(said))
        case _:
            return False


@lru_cache(maxsize=32)  # a function sends many messages
def _here(function: ast.FunctionDef | ast.AsyncFunctionDef, owner: ast.ClassDef | None) -> _Here:
    return _Here(function, owner)


class _Here:
    """A function, and the class that it is a method of; what is asked of either is looked up once."""

    def __init__(self, function: ast.FunctionDef | ast.AsyncFunctionDef, owner: ast.ClassDef | None) -> None:
        self._function = function
        self._owner = owner
        self._stored: dict[str, bool] = {}
        self._grown: dict[tuple[str, ast.AST], bool] = {}
        self._told: dict[str, list[tuple[int, bool]]] = {}
        self._behind: dict[ast.List, dict[int, ast.expr | None]] = {}

    @cached_property
    def _own(self) -> list[ast.AST]:
        return list(blocks.own_nodes(self._function))

    @cached_property
    def _called(self) -> frozenset[str]:
        """The functions that it calls, by the last part of their names."""
        calls = (each for each in nodes_of(self._function) if isinstance(each, ast.Call))
        return frozenset(blocks.name_of(each.func) for each in calls)

    @cached_property
    def _additions(self) -> dict[str, list[ast.AST]]:
        """What adds to each variable, in order of rows, and the loops in which it grows by answers."""
        found: dict[str, list[ast.AST]] = {}
        for node in sorted(self._own, key=lambda each: getattr(each, "lineno", 0)):
            for name in added_to(node):
                found.setdefault(name, []).append(node)
        return found

    def is_followed(self, message: ast.AST) -> bool:
        """Whether what was said before stands right behind a message, or in a list of them.

        What stands between may be another in each turn; then only the whole list can tell.
        """
        above = blocks.parents_of(self._function)
        if isinstance(message, ast.List) and self._has_talk(message.elts):
            return True
        at, outer = message, above.get(message)
        while outer is not None:
            match outer:
                case ast.List():
                    following = self._following(at, outer)
                    if following is not None:
                        return self._has_talk([following])
                case ast.BinOp(op=ast.Add(), left=left, right=right):
                    if left is at and self._is_talk(right):
                        return True
                case ast.Call(
                    func=ast.Attribute(value=owner, attr="insert"), args=[ast.Constant(value=0), _]
                ):
                    return self._is_talk(owner)
                case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
                    return self._gets_talk(name, outer.lineno)
                case _:
                    return False
            at, outer = outer, above.get(outer)
        return False

    def sends_more(self, request: ast.AST) -> bool:
        """Whether a request sends a list that is kept, or that its own rounds add to."""
        if not isinstance(request, ast.Call):
            return False
        sent = [keyword.value for keyword in request.keywords if keyword.arg in TALKS]
        return any(self._grows(each, request) for each in sent)

    def _grows(self, node: ast.expr, request: ast.Call) -> bool:
        match node:
            case ast.Attribute(value=ast.Name(id="self"), attr=name):
                return self._is_kept(name)
            case ast.BinOp(op=ast.Add(), left=left, right=right):
                return self._grows(left, request) or self._grows(right, request)
            case ast.List(elts=items):
                stars = (each.value for each in items if isinstance(each, ast.Starred))
                return any(self._grows(each, request) for each in stars)
            case ast.Name(id=name):
                return self._is_stored(name) or self._is_of_rounds(name, request)
            case ast.Call(func=ast.Attribute(value=ast.Name(id="self"), attr=name), args=[], keywords=[]):
                return self._gives_kept(name)
            case _:
                return False

    def _gives_kept(self, name: str) -> bool:
        """Whether a method of the object gives back its messages, with others in front."""
        for method in self._methods():
            given = [each.value for each in blocks.own_nodes(method) if isinstance(each, ast.Return)]
            if method.name == name and len(given) == 1 and given[0] is not None:
                kept = (blocks.name_of(each) for each in parts(given[0]) if is_own(each))
                return any(self._is_kept(each) for each in kept)
        return False

    def _is_kept(self, attribute: str) -> bool:
        """Whether the object keeps messages: answers are added, and nothing here begins anew."""
        if self._owner is None or not says_talk(attribute):
            return False
        answered, begins = _kept_in(self._owner, attribute)
        return answered and begins.isdisjoint({*self._called, self._function.name})

    def _methods(self) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
        body = self._owner.body if self._owner is not None else []
        return [each for each in body if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef)]

    def _is_stored(self, name: str) -> bool:
        """Whether a list is looked up among those of all conversations, and the answer is added to it."""
        if name not in self._stored:
            self._stored[name] = self._is_put_back(name)
        return self._stored[name]

    def _is_put_back(self, name: str) -> bool:
        bases, _ = blocks.definitions(name, self._function)
        values = [each.value for each in bases if isinstance(each, ast.Assign | ast.AnnAssign)]
        back = any(
            isinstance(each, ast.Assign)
            and isinstance(each.targets[0], ast.Subscript)
            and isinstance(each.value, ast.Name)
            and each.value.id == name
            for each in self._own
        )
        if len(values) != 1 or values[0] is None:
            return False
        if not any(looks_up(each, back=back) for each in nodes_of(values[0])):
            return False
        return any(adds_answer(each, name) for each in self._own)

    def _is_of_rounds(self, name: str, request: ast.Call) -> bool:
        """Whether the rounds in which a list is sent add the answers to it."""
        around = blocks.around(request, blocks.parents_of(self._function), self._function)
        loops = [outer for outer, _ in around if isinstance(outer, _LOOPS)]
        if not loops:
            return False
        known = self._grown.get((name, loops[-1]))
        if known is None:
            known = self._grown[name, loops[-1]] = self._grows_in(name, loops[-1])
        return known

    def _grows_in(self, name: str, loop: ast.AST) -> bool:
        bases, _ = blocks.definitions(name, self._function)
        fresh = any(blocks.is_in(each, loop, blocks.parents_of(self._function)) for each in bases)
        return bool(bases) and not fresh and any(adds_answer(each, name) for each in nodes_of(loop))

    def _has_talk(self, items: list[ast.expr]) -> bool:
        return any(isinstance(each, ast.Starred) and self._is_talk(each.value) for each in items)

    def _following(self, message: ast.AST, messages: ast.List) -> ast.expr | None:
        """The first of the messages behind one that does not stand in the source as it is sent."""
        behind = self._behind.get(messages)
        if behind is None:
            behind = self._behind[messages] = {}
            last: ast.expr | None = None
            for each in reversed(messages.elts):
                behind[id(each)] = last
                last = last if is_written(each) else each
        return behind[id(message)]

    def _gets_talk(self, name: str, row: int) -> bool:
        """Whether what was said before is added to a list behind a row, and nothing else before it."""
        told = self._told.get(name)
        if told is None:
            additions = self._additions.get(name, ())
            judged = ((getattr(node, "lineno", 0), self._adds_talk(node)) for node in additions)
            told = self._told[name] = [(at, talk) for at, talk in judged if talk is not None]
        first = bisect_left(told, row, key=lambda each: each[0])
        return first < len(told) and told[first][1]

    def _adds_talk(self, node: ast.AST) -> bool | None:
        """Whether what is added to a list is what was said before; None where that says nothing of it."""
        match node:
            case ast.Call(func=ast.Attribute(attr=attr), args=[*_, it]):
                return None if is_written(it) else attr == "extend" and self._is_talk(it)
            case ast.AugAssign(value=it):
                return None if is_written(it) else self._is_talk(it)
            case ast.For(iter=it) | ast.AsyncFor(iter=it):
                return True if self._is_talk(it) else None
            case _:
                return None

    def _is_talk(self, node: ast.expr) -> bool:
        """Whether something is what was said before, by its name, or that of what it is read from."""
        if isinstance(node, ast.List | ast.Dict | ast.Constant):
            return False
        if isinstance(node, ast.ListComp | ast.GeneratorExp):
            return self._is_talk(node.generators[0].iter)
        if any(map(says_talk, map(blocks.name_of, parts(node)))):
            return True
        if not isinstance(node, ast.Name):
            return False
        bases, _ = blocks.definitions(node.id, self._function)
        values = [each.value for each in bases if isinstance(each, ast.Assign) and len(bases) == 1]
        names = (blocks.name_of(part) for value in values for part in parts(value))
        return any(says_talk(each) or _STORED.fullmatch(each) is not None for each in names)


@lru_cache(maxsize=64)  # a class has many methods that send
def _kept_in(owner: ast.ClassDef, attribute: str) -> tuple[bool, frozenset[str]]:
    """Whether answers are added to an attribute of a class, and by which methods it begins anew."""
    nodes = nodes_of(owner)
    functions = [each for each in nodes if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef)]
    begins = (
        function.name
        for function in functions
        if any(binds(each, attribute) for each in blocks.own_nodes(function))
    )
    return any(adds_answer(each, attribute) for each in nodes), frozenset(begins)
