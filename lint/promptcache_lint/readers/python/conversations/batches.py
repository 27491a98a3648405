"""Whether a conversation is cut rarely and far, so that many turns share what is left, or in every turn.

The recommended way is a high mark at which it is cut, and a low one down to which. What is cut must then stay
cut: a cut that each request makes anew in a copy slides.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from promptcache_lint.findings import Severity
from promptcache_lint.readers.python.conversations.amounts import amount, before_end, is_share, names_in
from promptcache_lint.readers.python.conversations.facts import called_name, constant, spell
from promptcache_lint.readers.python.conversations.keeping import is_kept
from promptcache_lint.readers.python.conversations.tables import entry

if TYPE_CHECKING:
    from collections.abc import Iterator

    from promptcache_lint.readers.python.conversations.facts import Facts

__all__ = ["at_times", "how_rare", "is_summed_up"]

_FAR = 0.75
"""What is kept, as a share of the mark at which a list is cut."""
_MANY = 10
"""So many messages that go at once were some turns; fewer than `_SOME` are those of one turn."""
_SOME = 4
_SUMS_UP = re.compile(r"summar|compact|condens|digest", re.IGNORECASE)
_SIZES = re.compile(r"tok|usage|budget|chars|context|size", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _Mark:
    """When a cut is made: above ``bound``, by number of messages (``counts``) or by tokens, or by turns."""

    bound: ast.expr
    counts: bool
    by_turns: bool = False


def how_rare(cut: ast.AST, owner: ast.expr, facts: Facts) -> Severity | None:
    """How grave a cut is that is made at a mark only: information if it goes far; None if it slides.

    ``cut``: ``x[-n:]``, the target of ``del x[a:b]``, or ``x.pop(0)``, each of the list ``owner``.
    """
    if not is_kept(cut, owner, facts):
        return None
    mark = _mark(cut, owner, facts)
    if mark is None:
        return None
    if mark.by_turns:
        return _judged(amount(mark.bound, facts))
    kept, gone = _sizes(cut, owner, facts)
    if gone is not None:
        return Severity.INFO if is_share(gone, facts) else _judged(amount(gone, facts))
    if kept is None:
        return None
    same_kind = mark.counts == (not isinstance(cut, ast.Call) or _counts(_low_test(cut, facts), owner, facts))
    most, fewer = amount(mark.bound, facts), amount(kept, facts)
    if not same_kind:
        return Severity.WARNING  # so many messages, when it is so many tokens
    if most is not None and fewer is not None:
        if not mark.counts or isinstance(cut, ast.Call):
            return Severity.INFO if fewer <= _FAR * most else None
        return _judged(most - fewer)
    if is_share(kept, facts):
        return Severity.INFO
    return None if names_in(kept) & names_in(mark.bound) or None in (kept, mark.bound) else Severity.INFO


def at_times(edit: ast.AST, owner: ast.expr, facts: Facts) -> bool:
    """Whether something is done to messages only when there are too many tokens, or once in so many turns."""
    mark = _mark(edit, owner, facts)
    return mark is not None and not mark.counts


def is_summed_up(owner: ast.expr, lower: ast.expr, facts: Facts) -> bool:
    """Whether what stands in front of ``messages[-n:]`` is taken too, and something there is summed up."""
    cut, name = ast.unparse(lower), entry(owner)
    older = any(
        isinstance(node.slice, ast.Slice)
        and node.slice.upper is not None
        and ast.unparse(node.slice.upper) == cut
        and entry(node.value) == name
        for node in facts.of(ast.Subscript)
        if isinstance(node, ast.Subscript)
    )
    return older and any(map(_sums_up, facts.of(ast.Call, ast.Assign)))


def _sums_up(node: ast.AST) -> bool:
    """Whether a call is of what makes summaries, or what it gives is called one."""
    match node:
        case ast.Call():
            return _SUMS_UP.search(called_name(node)) is not None
        case ast.Assign(value=ast.Call() | ast.Await()):
            return any(_SUMS_UP.search(spell(target)) for target in node.targets)
        case _:
            return False


def _judged(gone: float | None) -> Severity | None:
    """How grave it is that so many go at once; some of them are two or three turns."""
    if gone is None or gone < _SOME:
        return None
    return Severity.INFO if gone >= _MANY else Severity.WARNING


def _mark(cut: ast.AST, owner: ast.expr, facts: Facts) -> _Mark | None:
    """The mark at which a cut is made: a test around it, or one before it by which the function ends."""
    inner = cut
    for outer in facts.around(cut):
        if isinstance(outer, ast.If) and inner in outer.body:
            mark = _in_test(outer.test, owner, facts, above=True)
            if mark is not None:
                return mark
        for statement in _before(inner, outer):
            if isinstance(statement, ast.If) and isinstance(statement.body[-1], ast.Return | ast.Continue):
                mark = _in_test(statement.test, owner, facts, above=False)
                if mark is not None:
                    return mark
        inner = outer
    return None


def _before(inner: ast.AST, outer: ast.AST) -> Iterator[ast.AST]:
    """The statements in front of one, in its own block."""
    for name in ("body", "orelse"):
        block = getattr(outer, name, None)
        if isinstance(block, list) and inner in block:
            yield from block[: block.index(inner)]


def _in_test(test: ast.expr, owner: ast.expr, facts: Facts, *, above: bool) -> _Mark | None:
    """The mark that a test compares a length with, where it is true above (or else below) that mark."""
    for node in ast.walk(test):
        if not isinstance(node, ast.Compare) or len(node.ops) != 1:
            continue
        left, right, sign = node.left, node.comparators[0], node.ops[0]
        if (
            isinstance(left, ast.BinOp)
            and isinstance(left.op, ast.Mod)
            and isinstance(sign, ast.Eq)
            and above
        ):
            return _Mark(left.right, counts=False, by_turns=True)
        greater = isinstance(sign, ast.Gt | ast.GtE)
        if not greater and not isinstance(sign, ast.Lt | ast.LtE):
            continue
        large, small = (left, right) if greater == above else (right, left)
        if _counts(large, owner, facts):
            return _Mark(small, counts=True)
        if _SIZES.search(ast.unparse(large)):
            return _Mark(small, counts=False)
    return None


def _counts(node: ast.expr | None, owner: ast.expr, facts: Facts) -> bool:
    """Whether an expression is the length of the list, maybe by a name."""
    if node is None:
        return False
    written = [node]
    if isinstance(node, ast.Name):
        assigned = (other for other in facts.of(ast.Assign) if isinstance(other, ast.Assign))
        written += [other.value for other in assigned if node.id in map(spell, other.targets)]
    return any(
        isinstance(inner, ast.Call)
        and called_name(inner) == "len"
        and len(inner.args) == 1
        and entry(inner.args[0]) == entry(owner)
        for value in written
        for inner in ast.walk(value)
    )


def _sizes(cut: ast.AST, owner: ast.expr, facts: Facts) -> tuple[ast.expr | None, ast.expr | None]:
    """How many messages are kept by a cut, and how many go: one of them, as it is written."""
    match cut:
        case ast.Subscript(slice=ast.Slice(lower=ast.expr() as lower, upper=None)):
            return _from_end(lower, owner), None
        case ast.Subscript(slice=ast.Slice(lower=lower, upper=ast.expr() as upper)):
            kept = _from_end(upper, owner)
            first, last = constant(lower) if lower is not None else 0, constant(upper)
            if kept is None and isinstance(first, int) and isinstance(last, int):
                return None, ast.Constant(last - first)
            return kept, None if kept is not None else upper
        case ast.Call():
            return _low(cut, facts), _times(cut, facts)
        case _:
            return None, None


def _from_end(end: ast.expr, owner: ast.expr) -> ast.expr | None:
    """``n`` of ``-n`` and of ``len(x) - n``."""
    match end:
        case ast.BinOp(op=ast.Sub(), left=ast.Call(func=ast.Name(id="len"), args=[inner])):
            return end.right if entry(inner) == entry(owner) else None
        case _:
            return before_end(end)


def _low_test(cut: ast.AST, facts: Facts) -> ast.expr | None:
    """What is compared in the loop that pops, down to the low mark."""
    loop = next((outer for outer in facts.around(cut) if isinstance(outer, ast.While)), None)
    compared = (node for node in ast.walk(loop.test) if isinstance(node, ast.Compare)) if loop else ()
    first = next((node for node in compared if isinstance(node.ops[0], ast.Gt | ast.GtE)), None)
    return first.left if first is not None else None


def _low(cut: ast.Call, facts: Facts) -> ast.expr | None:
    """The low mark: ``while len(x) > LOW: x.pop(0)``."""
    left = _low_test(cut, facts)
    compared = facts.parents.get(left) if left is not None else None
    return compared.comparators[0] if isinstance(compared, ast.Compare) else None


def _times(cut: ast.Call, facts: Facts) -> ast.expr | None:
    """``for _ in range(n): x.pop(0)``."""
    for outer in facts.around(cut):
        match outer:
            case ast.For(iter=ast.Call(func=ast.Name(id="range"), args=[count])):
                return count
            case _:
                continue
    return None
