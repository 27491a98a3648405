"""What an expression is called: the name that says most of what it holds."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from promptcache_lint.rulebook import in_words

if TYPE_CHECKING:
    from tree_sitter import Node

    from promptcache_lint.readers.typescript.module import Module

__all__ = ["is_field", "naming"]

_CONTAINERS = frozenset(
    [
        "this",
        "self",
        "req",
        "request",
        "ctx",
        "context",
        "props",
        "opts",
        "options",
        "input",
        "inputs",
        "params",
        "param",
        "args",
        "arg",
        "config",
        "state",
        "data",
        "payload",
        "body",
        "event",
        "env",
        "deps",
        "session",
        "variables",
        "vars",
        "values",
        "runtime",
        "settings",
        "input_data",
        "query",
        "metadata",
    ]
)
_KEEPS_NAME = {
    *(
        "toString",
        "trim",
        "toUpperCase",
        "toLowerCase",
        "toISOString",
        "toLocaleString",
        "valueOf",
        "toFixed",
    ),
    *("toLocaleTimeString", "toJSON"),
}


def naming(node: Node, module: Module) -> str:
    """The name that says most of what an expression holds, without the containers it is taken from."""
    words = [word for word in _chain(node, module) if word]
    while len(words) > 1 and in_words(words[0]) in _CONTAINERS:
        words.pop(0)
    return ".".join(words)


def is_field(node: Node) -> bool:
    """Whether a value is a field of something that is at hand: ``entry.timestamp``, ``note["sent"]``."""
    return node.type in {"member_expression", "subscript_expression"} and bool(node.named_children)


def _chain(node: Node, module: Module) -> list[str]:
    match node.type:
        case "identifier" | "this" | "property_identifier" | "private_property_identifier":
            return [module.text(node).lstrip("#")]
        case "member_expression":
            target, name = node.child_by_field_name("object"), node.child_by_field_name("property")
            if target is None or name is None:
                return []
            return [*_chain(target, module), module.text(name).lstrip("#")]
        case "subscript_expression":
            target, index = node.child_by_field_name("object"), node.child_by_field_name("index")
            if target is not None and index is not None and index.type == "string":
                return [*_chain(target, module), module.text(index)[1:-1]]
            return []
        case "await_expression" | "parenthesized_expression" | "non_null_expression" | "as_expression":
            return _chain(node.named_children[0], module) if node.named_children else []
        case "binary_expression":
            left, operator = node.child_by_field_name("left"), node.child_by_field_name("operator")
            if left is not None and operator is not None and operator.type in {"??", "||"}:
                return _chain(left, module)
            return []
        case "call_expression":
            return _called_name(node, module)
        case _:
            return []


def _called_name(node: Node, module: Module) -> list[str]:
    called, given = node.child_by_field_name("function"), node.child_by_field_name("arguments")
    if called is None or given is None:
        return []
    if called.type == "member_expression":
        name = called.child_by_field_name("property")
        target = called.child_by_field_name("object")
        if name is not None and target is not None and module.text(name) in _KEEPS_NAME:
            return _chain(target, module)
    if called.type == "identifier" and module.text(called) in {"String", "Number"} and given.named_children:
        return _chain(given.named_children[0], module)
    if given.named_children:
        return []
    words = _chain(called, module)
    return [re.sub(r"^get(?=[A-Z_])", "", words[-1])] if words else []
