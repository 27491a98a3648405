"""Messages that are gathered from the newest back, as many as fit: a window whose length tokens decide."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from promptcache_lint.findings import Severity
from promptcache_lint.readers.python.conversations.facts import called_name, spell
from promptcache_lint.readers.python.conversations.stored import goes_on
from promptcache_lint.readers.python.conversations.uses import use_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from promptcache_lint.prompts import Practice
    from promptcache_lint.readers.python.conversations.facts import Facts

__all__ = ["fitted"]

_SIZES = re.compile(r"tok|budget|chars|cost|len\(|total|used|size", re.IGNORECASE)
_ADDS = {"append", "appendleft", "insert"}
_SAYS = (
    "`{}` takes as many of the newest messages as fit: from then on every turn begins with another message, "
    "and misses."
)


def fitted(node: ast.For, facts: Facts) -> Iterator[Practice]:
    """``for m in reversed(messages): total += count(m); if total > limit: break; out.append(m)``."""
    owner = _from_the_end(node.iter)
    sure = facts.conviction(owner)
    if owner is None or sure is None or not isinstance(node.target, ast.Name) or not _ends_when_full(node):
        return
    name = _gathered(node, node.target.id)
    used = [
        severity for use in _uses(name, node, facts) if (severity := use_of(use, sure, facts)) is not None
    ]
    if name and used:
        # Messages are also gathered to be summed up: nothing here says that these are sent.
        severity = max(used) if facts.asks() else Severity.INFO
        if severity == Severity.ERROR and not goes_on(owner, facts):
            severity = Severity.WARNING
        yield facts.practice("PC501", severity, node.iter, _SAYS.format(facts.label(node.iter)))


def _from_the_end(iterable: ast.expr) -> ast.expr | None:
    """The list of ``reversed(x)`` and ``x[::-1]``."""
    match iterable:
        case ast.Call(func=ast.Name(id="reversed"), args=[inner]):
            return inner.value if isinstance(inner, ast.Subscript) else inner
        case ast.Subscript(slice=ast.Slice(step=ast.UnaryOp(op=ast.USub()))):
            return iterable.value
        case _:
            return None


def _ends_when_full(loop: ast.For) -> bool:
    """Whether the loop ends at a size that has grown in it."""
    grown = {spell(node.target) for node in ast.walk(loop) if isinstance(node, ast.AugAssign)}
    for node in ast.walk(loop):
        if not isinstance(node, ast.If) or not any(
            isinstance(inner, ast.Break) for inner in [*node.body, *node.orelse]
        ):
            continue
        for test in ast.walk(node.test):
            if isinstance(test, ast.Compare) and isinstance(test.ops[0], ast.Gt | ast.GtE | ast.Lt | ast.LtE):
                names = {spell(inner) for inner in ast.walk(test)}
                if names & grown - {""} or _SIZES.search(ast.unparse(test)):
                    return True
    return False


def _gathered(loop: ast.For, message: str) -> str:
    """The list to which the messages themselves are added."""
    for node in ast.walk(loop):
        match node:
            case ast.Call(func=ast.Attribute(attr=attr, value=owner)) if attr in _ADDS and node.args:
                if spell(node.args[-1]) == message:
                    return spell(owner)
            case ast.Assign(targets=[target], value=ast.BinOp(op=ast.Add(), left=ast.List(elts=[first]))) if (
                spell(first) == message
            ):
                return spell(target)
            case _:
                continue
    return ""


def _uses(name: str, loop: ast.For, facts: Facts) -> Iterator[ast.AST]:
    """Where the list is taken up behind the loop, turned round or not."""
    inside = {id(node) for node in ast.walk(loop)}
    for node in facts.of(ast.Name, ast.Attribute):
        if spell(node) != name or id(node) in inside or not isinstance(getattr(node, "ctx", None), ast.Load):
            continue
        used: ast.AST = node
        for outer in facts.around(node):
            turned = isinstance(outer, ast.Call) and called_name(outer) in {"reversed", "list"}
            if not turned and not (isinstance(outer, ast.Subscript) and isinstance(outer.slice, ast.Slice)):
                break
            used = outer
        yield used
