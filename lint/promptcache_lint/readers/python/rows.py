"""The rows of a function: at which something is put into what is kept, and where its loops begin.

Each function is gone through once, however many values come to it. What that proves of a prompt is
`repetition`'s business.
"""

from __future__ import annotations

import ast
import re
from functools import cached_property
from typing import TYPE_CHECKING

from promptcache_lint.readers.once import is_kept, opens_session
from promptcache_lint.readers.python.walking import nodes_of

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Rows", "makes_agent"]

_ADDS = {"append", "insert", "extend", "add", "add_message", "appendleft", "setdefault", "push", "update"}
_EMPTY = re.compile(
    r"not [\w.\[\]'\"]*|len\([\w.\[\]'\"]+\) (?:== 0|<= 0|< 1|== 1|<= 1|< 2)"
    r"|[\w.\[\]'\"]+ (?:is None|== \[\])"
    r"|[\w.]*(?:is_first|first_turn|is_new|new_conversation|new_session)\w*(?:\(\))?"
)
_ASKS = {"input", "raw_input", "prompt", "prompt_async", "ask", "readline", "receive_text", "receive_json"}
_OPENS = {"create", "connect"}
_Round = ast.While | ast.For | ast.AsyncFor


class Rows:
    """What stands at which rows of a function, with all that is defined in it."""

    def __init__(self, function: ast.AST) -> None:
        self._function = function

    def asks_behind(self, row: int) -> bool:
        """Whether a loop in which a person is asked begins behind a row."""
        return row < self._last_asking

    def rounds_behind(self, row: int) -> bool:
        """Whether a loop that may be that of an agent's steps begins behind a row."""
        return row < self._last_of_rounds

    def keep_first(self, row: int) -> bool:
        """Whether what stands at a row is kept, where nothing is there yet: ``if not self.messages: …``."""
        return row in self._keeping and row in self._empty

    def keeps(self, outer: ast.AST) -> bool:
        """Whether what stands in ``outer`` is stored on an object, or only where nothing is there yet."""
        return _is_of_nothing(outer) if isinstance(outer, ast.If) else self._stores(outer)

    @cached_property
    def _nodes(self) -> list[ast.AST]:
        return nodes_of(self._function)

    @cached_property
    def _last_asking(self) -> int:
        asking = (loop for loop in self._loops if any(map(_asks_a_person, nodes_of(loop))))
        return max((loop.lineno for loop in asking), default=0)

    @cached_property
    def _last_of_rounds(self) -> int:
        return max((loop.lineno for loop in self._loops if _is_of_rounds(loop)), default=0)

    @cached_property
    def _loops(self) -> list[_Round]:
        return [node for node in self._nodes if isinstance(node, _Round)]

    @cached_property
    def _keeping(self) -> frozenset[int]:
        """The rows in which something is kept; what a dict stands in decides, not the dict."""
        wanted = (node for node in self._nodes if isinstance(node, ast.stmt | ast.Call))
        return _rows(node for node in wanted if self._stores(node))

    @cached_property
    def _empty(self) -> frozenset[int]:
        return _rows(node for node in self._nodes if isinstance(node, ast.If) and _is_of_nothing(node))

    @cached_property
    def _made(self) -> frozenset[str]:
        """The variables that are given a value by themselves."""
        assigned = [node for node in self._nodes if isinstance(node, ast.Assign | ast.AnnAssign)]
        targets = (
            target
            for node in assigned
            for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        )
        return frozenset(target.id for target in targets if isinstance(target, ast.Name))

    def _stores(self, outer: ast.AST) -> bool:
        match outer:
            case ast.Assign(targets=[ast.Attribute() | ast.Subscript(), *_]):
                return True
            case ast.AnnAssign(target=ast.Attribute() | ast.Subscript()):
                return True
            case ast.Call(func=ast.Attribute(value=owner, attr=name)) if name in _ADDS:
                return not (isinstance(owner, ast.Name) and owner.id in self._made)
            case ast.Call() if makes_agent(outer):
                return True
            case ast.Call(func=ast.Attribute(attr=name) as called, args=given):
                address = _address(given[0]) if given else ""
                return opens_session(ast.unparse(called) if name in _OPENS else "", address)
            case ast.Dict(
                keys=[ast.Constant(value="type"), *_], values=[ast.Constant(value="session.update"), *_]
            ):
                return True
            case _:
                return False


def makes_agent(node: ast.AST) -> bool:
    """Whether a call makes an object that keeps what it is given: ``Agent(messages=[…])``."""
    match node:
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)):
            return is_kept(name)
        case _:
            return False


def _rows(nodes: Iterable[ast.AST]) -> frozenset[int]:
    """The rows in which some statements and calls stand."""
    found: set[int] = set()
    for node in nodes:
        assert isinstance(node, ast.stmt | ast.expr)
        found.update(range(node.lineno, (node.end_lineno or 0) + 1))
    return frozenset(found)


def _is_of_nothing(branch: ast.If) -> bool:
    """Whether a branch is taken where nothing is there yet."""
    return _EMPTY.fullmatch(ast.unparse(branch.test)) is not None


def _address(node: ast.expr) -> str:
    """A text that is written out, with whatever is filled into it."""
    return ast.unparse(node) if isinstance(node, ast.Constant | ast.JoinedStr) else ""


def _is_of_rounds(loop: ast.AST) -> bool:
    """Whether a loop may be that of an agent's steps: ``while``, or over a range of numbers."""
    match loop:
        case ast.While():
            return True
        case ast.For(iter=ast.Call(func=ast.Name(id="range"))):
            return True
        case _:
            return False


def _asks_a_person(node: ast.AST) -> bool:
    match node:
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)):
            return name in _ASKS
        case _:
            return False
