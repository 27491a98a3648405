"""Windows over what a database has kept of a conversation: ``… ORDER BY id DESC LIMIT 20``.

A function reads the newest rows, and what it gives back is sent as messages: each turn begins with others.
What is read to be shown, or summed up, is no message.
"""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from promptcache_lint.findings import Severity
from promptcache_lint.readers.python.conversations.asides import is_aside, sums_up
from promptcache_lint.readers.python.conversations.facts import constant, role_of, spell
from promptcache_lint.readers.python.conversations.matching import matched
from promptcache_lint.readers.python.conversations.stored import made_of
from promptcache_lint.readers.row_windows import (
    SAYS,
    SHORTEST,
    holds_talk,
    is_newest_first,
    is_window,
    last_rows,
)
from promptcache_lint.readers.stores import is_length

if TYPE_CHECKING:
    from collections.abc import Iterator

    from promptcache_lint.prompts import Practice
    from promptcache_lint.readers.python.conversations.facts import Facts
    from promptcache_lint.readers.python.modules import Function

__all__ = ["row_windows", "window_of_rows"]

_LIMITS = {"limit", "fetch"}
_READS = {"fetchall", "fetchmany", "fetch", "all", "mappings", "scalars"}


def row_windows(facts: Facts) -> Iterator[Practice]:
    """PC501: a function that reads the newest rows and sends them itself."""
    if facts.function is None or not facts.calls:
        return
    query = window_of_rows(facts.function, None)
    if query is not None and _is_sent(query, facts):
        says = SAYS.format(f"`{facts.label(query)}`")
        yield facts.practice("PC501", Severity.WARNING, query, says)


def window_of_rows(function: Function, call: ast.Call | None) -> ast.expr | None:
    """The query by which a function, as ``call`` calls it, reads the newest messages; None if none."""
    if is_aside(function.name) or sums_up(function.code):
        return None
    for query, count in _queries(function):
        if is_window(_number(count, function, call)):
            return query
    return None


def _queries(function: Function) -> Iterator[tuple[ast.expr, str]]:
    """The queries in a function that ask for the newest messages, each with the number as it is spelled."""
    for node in (*function.kinds.get(ast.Constant, ()), *function.kinds.get(ast.JoinedStr, ())):
        count = last_rows(_text(node))
        if count is not None and isinstance(node, ast.expr):
            yield node, count
    for node in (*function.kinds.get(ast.Call, ()), *function.kinds.get(ast.Subscript, ())):
        match node:
            case ast.Call(func=ast.Attribute(attr=attr, value=chain), args=[limit]) if attr in _LIMITS:
                pass
            case ast.Subscript(value=chain, slice=ast.Slice(lower=None, upper=ast.expr() as limit)):
                pass
            case _:
                continue
        written = _chain(chain, function)
        asks = isinstance(node, ast.Call) or "order_by(" in written
        if asks and is_newest_first(written) and holds_talk(written):
            yield node, ast.unparse(limit)


def _text(node: ast.AST) -> str:
    match node:
        case ast.Constant(value=str() as text):
            return text
        case ast.JoinedStr(values=parts):
            return "".join(str(constant(part)) if isinstance(part, ast.Constant) else "?" for part in parts)
        case _:
            return ""


def _chain(node: ast.expr, function: Function) -> str:
    """The calls that put a query together, without spaces; those of a variable, from all it is given."""
    written = ast.unparse(node)
    for name in {inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name)} & function.bound:
        for each in function.kinds.get(ast.Assign, ()):
            if isinstance(each, ast.Assign) and name in map(spell, each.targets):
                written += ast.unparse(each.value)
    return re.sub(r"\s+", "", written)


def _number(count: str, function: Function, call: ast.Call | None) -> int | None:
    """How many rows are read; None where nothing shows it."""
    if count.isdecimal():
        return int(count)
    given = dict(matched(call, function.node)) if call is not None else {}
    for parameter, default in function.parameters:
        value = constant(given.get(parameter.arg, default))
        named = count == parameter.arg or is_length(parameter.arg, SHORTEST)
        if named and isinstance(value, int) and not isinstance(value, bool):
            return value
    constants = (
        node.value
        for node in function.module.tree.body
        if isinstance(node, ast.Assign) and count in map(spell, node.targets)
    )
    value = constant(next(constants, None))
    return value if isinstance(value, int) else None


def _is_sent(query: ast.expr, facts: Facts) -> bool:
    """Whether messages are made of what a query gives, and given to a model, in the same function."""
    seeds = [*_readers(query, facts)]
    tainted = made_of(seeds, facts.nodes)
    made = any(
        isinstance(node, ast.ListComp | ast.For)
        and _makes_messages(node)
        and _goes_through(node, seeds, tainted)
        for node in facts.nodes
    )
    return made and _is_asked_with(facts, tainted)


def _readers(query: ast.expr, facts: Facts) -> Iterator[ast.expr]:
    """The calls by which rows are got: the query, what it is given to, a cursor's ``fetchall``."""
    yield query
    owner = ""
    for outer in facts.around(query):
        if isinstance(outer, ast.Call):
            yield outer
            owner = spell(outer.func.value) if isinstance(outer.func, ast.Attribute) else owner
        elif isinstance(outer, ast.stmt):
            break
    for node in facts.of(ast.Call):
        match node:
            case ast.Call(func=ast.Attribute(attr=attr, value=holder)) if attr in _READS and owner:
                if spell(holder) == owner:
                    yield node


def _makes_messages(node: ast.AST) -> bool:
    return any(role_of(inner) for inner in ast.walk(node) if isinstance(inner, ast.expr))


def _goes_through(node: ast.AST, seeds: list[ast.expr], tainted: set[str]) -> bool:
    through = [each.iter for each in ast.walk(node) if isinstance(each, ast.comprehension | ast.For)]
    return any(
        inner in seeds or (isinstance(inner, ast.Name) and inner.id in tainted)
        for each in through
        for inner in ast.walk(each)
    )


def _is_asked_with(facts: Facts, tainted: set[str]) -> bool:
    """Whether a list made of the rows, or one that holds it, is given to a model."""
    given = (each for call in facts.calls for each in (*call.args, *(key.value for key in call.keywords)))
    return any(
        isinstance(inner, ast.Name) and inner.id in tainted for each in given for inner in ast.walk(each)
    )
