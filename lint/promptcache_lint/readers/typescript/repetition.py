"""Whether what stands at a place of a module is made anew for each request.

What is made with an object, stored on one, or written where a conversation begins is kept: it costs once.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from promptcache_lint.aside import is_beside_the_product
from promptcache_lint.readers.once import opens_session, says_session, sets_up
from promptcache_lint.readers.typescript.conversations.names import around
from promptcache_lint.readers.typescript.module import FUNCTIONS

if TYPE_CHECKING:
    from tree_sitter import Node

    from promptcache_lint.readers.typescript.frame import Frame
    from promptcache_lint.readers.typescript.module import Module

__all__ = ["is_made_anew"]

_STORED = {"member_expression", "subscript_expression"}
_ADDS = re.compile(r"(?:.*\.)?(?:\w+\.)(?:push|unshift|splice|set|append|add)")
_EMPTY = re.compile(
    r"\(*!(?!=)[\w.?\[\]]+\)*|\(*[\w.?\[\]]+\.length(?:===?|<=)0\)*|\(*[\w.?\[\]]+\.length<[12]\)*"
    r"|\(*[\w.?\[\]]+===?(?:null|undefined)\)*"
)


def is_made_anew(node: Node, frame: Frame) -> bool:
    """Whether ``node``, in the function of ``frame``, is run for each request, as far as the source shows."""
    module = frame.module
    if frame.function is None or is_beside_the_product(module.source.called):
        return False
    if sets_up(frame.function.name or ""):
        return False
    return not any(_keeps(outer, module) for outer in (node, *around(node)))


def _keeps(outer: Node, module: Module) -> bool:
    """Whether what stands in ``outer`` is kept: on an object, by a thing made with it, as a first message."""
    match outer.type:
        case "assignment_expression":
            left = outer.child_by_field_name("left")
            return left is not None and left.type in _STORED
        case "new_expression" | "public_field_definition" | "field_definition":
            return True
        case "call_expression":
            called = _said(outer.child_by_field_name("function"), module)
            adds = _ADDS.fullmatch(called) is not None and called.startswith("this.")
            return adds or sets_up(called.rpartition(".")[2]) or opens_session(called, _first(outer, module))
        case "if_statement":
            test = re.sub(r"\s+", "", _said(outer.child_by_field_name("condition"), module))
            return _EMPTY.fullmatch(test) is not None
        case "object":
            return says_session(module.text(outer))
        case kind if kind in FUNCTIONS:
            return sets_up(_name(outer, module))
        case _:
            return False


def _first(call: Node, module: Module) -> str:
    """The first argument of a call, as it is written."""
    given = call.child_by_field_name("arguments")
    return module.text(given.named_children[0]) if given is not None and given.named_children else ""


def _name(function: Node, module: Module) -> str:
    """What a function is called, by itself or by the variable it is given to."""
    name = function.child_by_field_name("name")
    if name is None and function.parent is not None and function.parent.type == "variable_declarator":
        name = function.parent.child_by_field_name("name")
    return _said(name, module)


def _said(node: Node | None, module: Module) -> str:
    return module.text(node) if node is not None else ""
