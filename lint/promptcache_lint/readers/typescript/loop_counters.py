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

__all__ = ["LoopCounters"]

_LOOPS = {"for_statement", "while_statement", "do_statement", "for_in_statement"}
_ASKS = re.compile(
    r"(?:completions|messages|responses)\s*\.\s*(?:create|stream|parse)\(|\b(?:generate|stream)(?:Text|Object)\("
    r"|\.(?:generateContent\w*|invoke|sendMessage\w*)\(|Converse\w*Command\("
)


class LoopCounters:
    """What the loops of one module count; each loop is gone through once."""

    def __init__(self, module: Module) -> None:
        self._module = module
        self._counted: dict[int, dict[str, Node]] = {}

    def step(self, name: str, node: Node) -> Node | None:
        """Where the loop of turns around ``node`` counts ``name`` up; None where it does not."""
        for outer in around(node):
            if outer.type in FUNCTIONS:
                return None
            if outer.type in _LOOPS:
                counted = self._counted.get(outer.id)
                if counted is None:
                    asks = _ASKS.search(self._module.text(outer)) is not None
                    counted = self._counted[outer.id] = _counts(outer, self._module) if asks else {}
                if name in counted:
                    return counted[name]
        return None


def _counts(loop: Node, module: Module) -> dict[str, Node]:
    """The steps in a loop, by name; none for what each round begins anew."""
    if loop.type == "for_in_statement":
        return _numbered(loop, module)
    begins = loop.child_by_field_name("initializer")
    steps: dict[str, Node] = {}
    anew: set[str] = set()
    for inner in walk(loop):
        if begins is not None and begins.start_byte <= inner.start_byte < begins.end_byte:
            continue
        name = _target(inner, module)
        if name and _is_step(inner, name, module):
            steps.setdefault(name, inner)
        elif name:
            anew.add(name)
    return {name: step for name, step in steps.items() if name not in anew}


def _numbered(loop: Node, module: Module) -> dict[str, Node]:
    """``for (const [step, task] of tasks.entries())``."""
    left, right = loop.child_by_field_name("left"), loop.child_by_field_name("right")
    if left is None or right is None or left.type != "array_pattern" or not left.named_children:
        return {}
    first = left.named_children[0]
    return {module.text(first): first} if module.text(right).endswith(".entries()") else {}


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
