"""Whether a conversation is cut rarely and far, so that many turns share what is left, or in every turn."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from promptcache_lint.readers.python.conversations.facts import called_name, constant, spell

if TYPE_CHECKING:
    from promptcache_lint.readers.python.conversations.facts import Facts

__all__ = ["in_batches", "is_summed_up"]

_FAR = 0.75
"""What is kept, as a share of the length at which a list is cut."""
_SUMS_UP = re.compile(r"summar|compact|condens|digest", re.IGNORECASE)


def in_batches(window: ast.Subscript, lower: ast.expr, facts: Facts) -> bool:
    """Whether ``self.messages = self.messages[-10:]`` stands under a length of which 10 is a part.

    The list must be kept, and be the one that was cut: a cut that each request makes anew slides.
    """
    owner = spell(window.value)
    if "." not in owner or not _is_kept(window, owner, facts):
        return False
    kept = lower.operand if isinstance(lower, ast.UnaryOp) else getattr(lower, "right", lower)
    for outer in facts.around(window):
        if isinstance(outer, ast.If):
            bound = _bound(outer.test, owner)
            if bound is not None:
                return _is_part(kept, bound, facts)
    return False


def is_summed_up(owner: ast.expr, lower: ast.expr, facts: Facts) -> bool:
    """Whether what stands in front of ``messages[-n:]`` is taken too, and something there is summed up."""
    cut, name = ast.unparse(lower), spell(owner)
    older = any(
        isinstance(node.slice, ast.Slice)
        and node.slice.upper is not None
        and ast.unparse(node.slice.upper) == cut
        and spell(node.value) == name
        for node in facts.of(ast.Subscript)
        if isinstance(node, ast.Subscript)
    )
    calls = (called_name(node) for node in facts.of(ast.Call) if isinstance(node, ast.Call))
    return older and any(map(_SUMS_UP.search, calls))


def _is_kept(window: ast.Subscript, owner: str, facts: Facts) -> bool:
    statement = facts.statement(window)
    return isinstance(statement, ast.Assign) and any(spell(t) == owner for t in statement.targets)


def _bound(test: ast.expr, owner: str) -> ast.expr | None:
    """What ``len(owner)`` is compared with."""
    for node in ast.walk(test):
        match node:
            case ast.Compare(
                left=ast.Call(func=ast.Name(id="len"), args=[inner]),
                ops=[ast.Gt() | ast.GtE()],
                comparators=[bound],
            ) if spell(inner) == owner:
                return bound
    return None


def _is_part(kept: ast.expr, bound: ast.expr, facts: Facts) -> bool:
    """Whether fewer are kept than the bound, by number or since the code divides."""
    most = constant(bound)
    name = spell(kept)
    assigned = [node for node in facts.of(ast.Assign) if isinstance(node, ast.Assign)]
    written = [kept, *(node.value for node in assigned if name and name in map(spell, node.targets))]
    numbers = [number for number in map(constant, written) if isinstance(number, int)]
    if numbers and isinstance(most, int):
        return max(numbers) <= _FAR * most
    return any(
        isinstance(inner, ast.BinOp) and isinstance(inner.op, ast.Div | ast.FloorDiv)
        for expression in written
        for inner in ast.walk(expression)
    )
