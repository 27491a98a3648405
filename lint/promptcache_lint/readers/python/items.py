"""Things of a list that are written into a text one by one: none of them is what the turn is about.

``for instruction in self.instructions: parts.append(f"- {instruction}")`` tells what an agent was set up
with, while the question of a loop that asks a model about each is the turn's own text. Messages and documents
are no such things: together they are a conversation, and what was found.
"""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from promptcache_lint.exposure import count_words
from promptcache_lint.readers.python.values import Thing
from promptcache_lint.rulebook import in_words

if TYPE_CHECKING:
    from collections.abc import Iterator

    from promptcache_lint.readers.python.frame import Frame

__all__ = ["A_FEW_WORDS", "adds_up", "is_asked", "is_listed", "settle_items"]

_ASKED = re.compile(r"(?:\w+_)?(?:question|query|instruction|task|problem|goal|input|request|requirement)|q")
_ADDING = {"append", "extend", "add", "write", "insert"}
A_FEW_WORDS = 8


def is_asked(name: str) -> bool:
    """Whether a name is that of a question or task, in any spelling of words."""
    return _ASKED.fullmatch(in_words(name)) is not None


def settle_items(target: ast.expr, frame: Frame) -> None:
    """What a loop's names stand for is one of several, of which the name says nothing."""
    for node in ast.walk(target):
        if isinstance(node, ast.Name) and is_asked(node.id):
            value = frame.names.get(node.id)
            if isinstance(value, Thing) and not value.traits and not value.settled:
                frame.names[node.id] = Thing(value.label, settled=True)


def adds_up(body: list[ast.stmt]) -> bool:
    """Whether a loop does nothing but add to texts and lists."""
    return all(map(_adds, body))


def _adds(node: ast.stmt) -> bool:
    match node:
        case ast.AugAssign(op=ast.Add()) | ast.Continue() | ast.Pass():
            return True
        case ast.Expr(value=ast.Call(func=ast.Attribute(attr=name))):
            return name in _ADDING
        case ast.If(body=body, orelse=otherwise):
            return adds_up(body) and adds_up(otherwise)
        case _:
            return False


def is_listed(element: ast.expr) -> bool:
    """Whether a comprehension's element says little beside its item: ``f"- {question}"``, and no prompt."""
    return sum(map(count_words, _texts(element))) < A_FEW_WORDS


def _texts(node: ast.AST) -> Iterator[str]:
    for inner in ast.walk(node):
        if isinstance(inner, ast.Constant) and isinstance(inner.value, str):
            yield inner.value
