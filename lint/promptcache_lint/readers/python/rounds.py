"""The number of a round: of a loop that counts rounds by its name, or in which a conversation goes on."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from promptcache_lint.prompts import Trait
from promptcache_lint.readers.python.callees import is_request
from promptcache_lint.readers.python.conversations.facts import role_of, spell
from promptcache_lint.readers.python.values import Thing

if TYPE_CHECKING:
    from promptcache_lint.readers.python.frame import Frame
    from promptcache_lint.readers.python.interpreter import Interpreter
    from promptcache_lint.readers.python.values import Value

__all__ = ["round_of"]

_ROUND = re.compile(
    r"(?:\w+_)?(?:step|turn|round|iteration|attempt|cycle)(?:_(?:no|num|number|idx|index|count))?"
)


def round_of(machine: Interpreter, node: ast.For | ast.AsyncFor, frame: Frame) -> Value | None:
    """The number of a round, where a loop counts rounds: ``for step in range(20)``."""
    match node:
        case ast.For(
            target=ast.Name(id=name), iter=ast.Call(func=ast.Name(id="range") | ast.Attribute(attr="count"))
        ):
            mark = machine.vocabulary.mark("PC107")
            if mark is not None and (_ROUND.fullmatch(name) or _talks(node)):
                trait = Trait(mark, frame.module.place(node.target), name, guessed=True)
                return Thing(name, (trait,))
    return None


def _talks(loop: ast.For) -> bool:
    """Whether a model is asked in each round, and the messages that it is sent grow."""
    calls = [node for node in ast.walk(loop) if isinstance(node, ast.Call)]
    sent = {
        spell(inner)
        for call in calls
        if is_request(call)
        for keyword in call.keywords
        if keyword.arg in {"messages", "input", "contents"}
        for inner in ast.walk(keyword.value)
    } - {""}
    return any(
        isinstance(call.func, ast.Attribute)
        and call.func.attr == "append"
        and spell(call.func.value) in sent
        and any(map(role_of, call.args))
        for call in calls
    )
