"""Numbers that a loop of turns counts up: ``for (let step = 1; …; step++)`` around a call of a model.

Only a number that lives longer than one round of the loop is another one in each request; what is counted
anew in each round, or in a loop that asks nobody, comes out the same.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from promptcache_lint.readers.typescript.conversations.names import around, walk
from promptcache_lint.readers.typescript.module import FUNCTIONS

if TYPE_CHECKING:
    from tree_sitter import Node

    from promptcache_lint.readers.typescript.module import Module

__all__ = ["step_of_turns"]

_LOOPS = {"for_statement", "while_statement", "do_statement", "for_in_statement"}
_ASKS = re.compile(
    r"(?:completions|messages|responses)\s*\.\s*(?:create|stream|parse)\(|\b(?:generate|stream)(?:Text|Object)\("
    r"|\.(?:generateContent\w*|invoke|sendMessage\w*)\(|Converse\w*Command\("
)


def step_of_turns(name: str, node: Node, module: Module) -> Node | None:
    """Where the loop of turns around ``node`` counts ``name`` up; None where it does not."""
    for outer in around(node):
        if outer.type in FUNCTIONS:
            return None
        if outer.type in _LOOPS and _ASKS.search(module.text(outer)) is not None:
            step = _counts(outer, name, module)
            if step is not None:
                return step
    return None


def _counts(loop: Node, name: str, module: Module) -> Node | None:
    """The step in a loop; None too where each round begins the number anew."""
    if loop.type == "for_in_statement":
        return _numbered(loop, name, module)
    begins = loop.child_by_field_name("initializer")
    steps = []
    for inner in walk(loop):
        if begins is not None and begins.start_byte <= inner.start_byte < begins.end_byte:
            continue
        if _target(inner, module) != name:
            continue
        if not _is_step(inner, name, module):
            return None
        steps.append(inner)
    return steps[0] if steps else None


def _numbered(loop: Node, name: str, module: Module) -> Node | None:
    """``for (const [step, task] of tasks.entries())``."""
    left, right = loop.child_by_field_name("left"), loop.child_by_field_name("right")
    if left is None or right is None or left.type != "array_pattern" or not left.named_children:
        return None
    first = left.named_children[0]
    counts = module.text(first) == name and module.text(right).endswith(".entries()")
    return first if counts else None


def _target(node: Node, module: Module) -> str:
    """The variable that a node declares or sets."""
    fields = {
        "variable_declarator": "name",
        "update_expression": "argument",
        "assignment_expression": "left",
        "augmented_assignment_expression": "left",
    }
    target = node.child_by_field_name(fields[node.type]) if node.type in fields else None
    return module.text(target) if target is not None else ""


def _is_step(node: Node, name: str, module: Module) -> bool:
    match node.type:
        case "update_expression":
            return True
        case "augmented_assignment_expression":
            operator, right = node.child_by_field_name("operator"), node.child_by_field_name("right")
            counts = operator is not None and operator.type in {"+=", "-="}
            return counts and right is not None and right.type == "number"
        case "assignment_expression":
            right = node.child_by_field_name("right")
            said = re.sub(r"\s+", "", module.text(right)) if right is not None else ""
            return re.fullmatch(rf"{re.escape(name)}[+-]\d+", said) is not None
        case _:
            return False
