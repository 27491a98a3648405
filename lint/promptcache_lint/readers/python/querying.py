"""Rows of a database in the order it happens to give them, without ORDER BY, and rows that are drawn by lot.

Goes by the text of the query, where it stands in the source; what the rows hold is not known.
"""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from promptcache_lint.prompts import Text, Trait, flatten
from promptcache_lint.readers.python.query_objects import built_query
from promptcache_lint.readers.python.values import Str, Thing

if TYPE_CHECKING:
    from promptcache_lint.places import Place
    from promptcache_lint.readers.python.calls import Call
    from promptcache_lint.readers.python.frame import Frame
    from promptcache_lint.readers.python.interpreter import Interpreter
    from promptcache_lint.readers.python.values import Value

__all__ = ["is_drawn", "is_unordered", "queried"]

_CURSOR = re.compile(r"cur(?:sor|s)?\d?$|^c$", re.IGNORECASE)
_ASKS = {"execute", "read_sql", "read_sql_query", "fetch", "fetch_all", "fetchall", "query", "sql"}
_ONE = {"fetchone", "fetch_one", "fetchval", "fetchrow", "scalar", "scalar_one", "scalar_one_or_none", "one"}
_ONE |= {"first", "one_or_none"}
_ROWS = re.compile(
    r"\s*(?:with\b.*?\)\s*)?select\b(?P<what>.*?)\bfrom\b(?P<rest>.*)", re.IGNORECASE | re.DOTALL
)
_ALONE = re.compile(
    r"\border\s+by\b|\blimit\s+1\b|\bwhere\s+(?:\w+\.)?(?:id|uuid|key|name|rowid)\s*=|\bjson_group|\bstring_agg",
    re.IGNORECASE,
)
_OF_A_FUNCTION = re.compile(r"\s*[\w.\"]+\s*\(")
"""Rows of a function of the database, ``from nearest($1, 5)``: they come in the order that it gives them."""
_SUMS = re.compile(r"\b(?:count|sum|max|min|avg|exists|total|stddev|bool_(?:and|or))\s*\(", re.IGNORECASE)
_GROUPED = re.compile(r"\bgroup\s+by\b|\bover\s*\(", re.IGNORECASE)
_FOUND = re.compile(
    r"<->|<=>|\bmatch\b|\bi?like\s*(?:\w+\(\s*)?(?:\?|\$\d|[:@]\w|%s|%\()|\bto_tsquery\b", re.IGNORECASE
)
"""What looks for something that is asked: it finds other rows each time, whatever their order."""
_DRAWN = re.compile(r"\border\s+by\s+(?:rand|random|newid)\s*\(", re.IGNORECASE)
"""Rows that are drawn by lot: other ones, or in another order, each time."""


def queried(
    machine: Interpreter, made: Call, receiver: Value | None, frame: Frame, place: Place
) -> Value | None:
    """What a call of a database gives: rows without order, one row; None where it is no such call."""
    last = made.path.rpartition(".")[2]
    if last in _ONE and isinstance(receiver, Thing) and any(trait.mark.order for trait in receiver.traits):
        kept = tuple(trait for trait in receiver.traits if not trait.mark.order)
        return Thing(frame.module.label(made.node), kept, settled=not kept)
    mark = machine.vocabulary.call("glob.glob")  # the order of a listing is nobody's either
    built = built_query(machine, made, receiver, mark, frame) if mark is not None else None
    if built is not None:
        return built
    if last not in _ASKS or mark is None or not made.arguments:
        return None
    label = frame.module.label(made.node)
    drawn = machine.vocabulary.call("random.choice") if is_drawn(made.arguments[0][0]) else None
    unordered = drawn is not None or is_unordered(made.arguments[0][0])
    rows = Thing(label, (Trait(drawn or mark, place, label),) if unordered else ())
    if last == "execute" and isinstance(made.node.func, ast.Attribute):
        owner = machine.spelling(made.node.func.value)
        if owner and _CURSOR.search(owner) and (unordered or isinstance(receiver, Thing)):
            frame.set(owner, rows)  # ``cursor.execute(…)``, and then ``cursor.fetchall()``
    return rows if unordered else None


def is_drawn(query: Value) -> bool:
    """Whether a query, as far as it is written out, asks for rows that are drawn by lot."""
    return _DRAWN.search(_said(query)) is not None


def is_unordered(query: Value) -> bool:
    """Whether a query, as far as it is written out, asks for rows and for no order of theirs."""
    said = _said(query)
    match = _ROWS.fullmatch(said)
    if match is None or any(each.search(match["rest"]) for each in (_ALONE, _FOUND)):
        return False
    if _OF_A_FUNCTION.match(match["rest"]):
        return False
    return _GROUPED.search(said) is not None or not all(map(_SUMS.search, _columns(match["what"])))


def _said(query: Value) -> str:
    """The text of a query, as far as it is written out."""
    if not isinstance(query, Str):
        return ""
    return "".join(part.text if isinstance(part, Text) else " ? " for part in flatten(query.parts))


def _columns(listed: str) -> list[str]:
    """The columns that a query asks for: what commas outside of brackets part."""
    columns = [""]
    deep = 0
    for char in listed:
        deep += {"(": 1, ")": -1}.get(char, 0)
        if char == "," and not deep:
            columns.append("")
        else:
            columns[-1] += char
    return columns
