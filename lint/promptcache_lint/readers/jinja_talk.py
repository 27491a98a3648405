"""Where a Jinja2 template has written the conversation: behind its last message nothing is ever reused."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from jinja2 import nodes

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["end_of_talk"]

_TALK = re.compile(
    r"(?:\w+_)?(?:messages|history|turns|conversation|transcript|dialog(?:ue)?)(?:_(?:messages|history|turns))?"
)
_SYSTEM = re.compile(r"system|developer")
_TOLD = re.compile(r"content|text|message|body|value|parts")


def end_of_talk(body: Sequence[nodes.Node]) -> int:
    """The index of the last node of ``body`` that writes a conversation, message by message; -1 for none."""
    return max((index for index, node in enumerate(body) if _holds_talk(node)), default=-1)


def _holds_talk(node: nodes.Node) -> bool:
    match node:
        case nodes.For():
            return _is_talk(node)
        case nodes.If():
            options = [node.body, node.else_, *(branch.body for branch in node.elif_)]
            return any(_holds_talk(inner) for option in options for inner in option)
        case _:
            return False


def _is_talk(loop: nodes.For) -> bool:
    """Whether a loop writes all messages there are, and not only those of the system, or the first few."""
    if not isinstance(loop.target, nodes.Name) or not _is_whole(loop.iter):
        return False
    return (loop.test is None or not _speaks_of_system(loop.test)) and _writes(loop.body, loop.target.name)


def _is_whole(node: nodes.Node) -> bool:
    match node:
        case nodes.Name(name=name) | nodes.Getattr(attr=name):
            return _TALK.fullmatch(name) is not None
        case nodes.Getitem(node=inner, arg=nodes.Slice(stop=None)):
            return _is_whole(inner)
        case _:
            return False


def _writes(body: Sequence[nodes.Node], name: str) -> bool:
    """Whether what ``name`` says is written out, also for what is no message of the system."""
    for node in body:
        match node:
            case nodes.Output() if any(_tells(child, name) for child in node.nodes):
                return True
            case nodes.If():
                options = [(node.test, node.body), *((each.test, each.body) for each in node.elif_)]
                if any(not _speaks_of_system(test) and _writes(option, name) for test, option in options):
                    return True
                if _writes(node.else_, name):
                    return True
            case _:
                continue
    return False


def _tells(node: nodes.Node, name: str) -> bool:
    used = {each.name for each in node.find_all(nodes.Name)} | (
        {node.name} if isinstance(node, nodes.Name) else set()
    )
    fields = {
        str(each.attr) for each in [*node.find_all(nodes.Getattr), node] if isinstance(each, nodes.Getattr)
    }
    fields |= {str(each.value) for each in node.find_all(nodes.Const)}
    whole = isinstance(node, nodes.Name) or (isinstance(node, nodes.Filter) and not fields)
    return name in used and (whole or any(_TOLD.search(field) for field in fields))


def _speaks_of_system(test: nodes.Node) -> bool:
    """Whether a condition asks for a message of the system (``!=`` does not)."""
    other = any(operand.op in {"ne", "notin"} for operand in test.find_all(nodes.Operand))
    return not other and any(_SYSTEM.search(str(each.value)) for each in test.find_all(nodes.Const))
