"""Rows of a database in the order it happens to give them: queries of TypeScript without an order.

Goes by what is written at the call: the options of an ORM, the text of a query, the calls behind a builder's
``select``. What the rows hold is not known.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from promptcache_lint.prompts import Trait
from promptcache_lint.readers.python.querying import is_drawn, is_unordered
from promptcache_lint.readers.python.values import Map, Str, Thing, without_order

if TYPE_CHECKING:
    from tree_sitter import Node

    from promptcache_lint.places import Place
    from promptcache_lint.readers.python.values import Value
    from promptcache_lint.readers.typescript.calls import Call
    from promptcache_lint.readers.typescript.frame import Frame
    from promptcache_lint.readers.typescript.machine import Machine

__all__ = ["ROWS", "asks_for_rows", "narrowed", "one_row", "queried", "queried_by_tag"]

ROWS = "database.rows"
"""The type of what a query gives, and of what is taken out of it by name: ``const { data } = …``."""

_MANY = re.compile(r"(?:.*\.)?(?:\w*prisma\w*|db|tx|query|database)\.(?:\w+\.)?findMany", re.IGNORECASE)
_SQL = re.compile(r"(?:.*\.)?(?:query|execute|all|prepare|any|many|manyOrNone|\$queryRawUnsafe)")
_TAG = re.compile(r"(?:.*\.)?(?:sql|\$queryRaw|tsql)")
_ROWS = re.compile(r"findMany|(?i:select)\b|\bsql`")
_BUILDER = re.compile(r"\.from\([^()]*\)\.select|supabase\S*\.select")
_HEAD = 1600
"""So many bytes of a query are looked at for what it asks."""
_ORDERED = re.compile(
    r"\.(?:order|orderBy|single|maybeSingle|textSearch|eq\(\s*[\"']id[\"'])|limit\(\s*1\s*\)|head\s*:\s*true"
)

_ONE = {"at", "first", "get", "one", "oneOrNone", "pop", "shift", "single", "maybeSingle", "takeFirst"}
"""Methods that give one row."""


def asks_for_rows(text: str) -> bool:
    """Whether a function, by its text, may ask a database for rows."""
    return _ROWS.search(text) is not None


def queried(machine: Machine, made: Call, frame: Frame) -> Value | None:
    """The rows that a call gives in no fixed order; None where it is no such call."""
    first = made.first
    if _SQL.fullmatch(made.path) is not None and first is not None and is_drawn(first):
        return _rows(machine, made.node, frame, by="random.choice")
    many = _MANY.fullmatch(made.path) is not None and (first is None or _is_without_order(first))
    asked = _SQL.fullmatch(made.path) is not None and first is not None and is_unordered(first)
    if many or asked or (made.name == "select" and _is_built_without_order(made.node, frame)):
        return _rows(machine, made.node, frame)
    return None


def queried_by_tag(machine: Machine, node: Node, query: Value, path: str, frame: Frame) -> Value | None:
    """The same of a tagged template: ``await sql`select name from skills` ``."""
    if _TAG.fullmatch(path) is None or not isinstance(query, Str):
        return None
    if is_drawn(query):
        return _rows(machine, node, frame, by="random.choice")
    return _rows(machine, node, frame) if is_unordered(query) else Thing(frame.module.label(node))


def _rows(machine: Machine, node: Node, frame: Frame, by: str = "glob.glob") -> Value | None:
    """Rows whose order is nobody's, as that of a listing is, or which are drawn ``by`` lot."""
    mark = machine.vocabulary.call(by)
    if mark is None:
        return None
    place: Place = frame.module.place(node)
    label = frame.module.label(node)
    return Thing(label, (Trait(mark, place, label),), ROWS)


def narrowed(rows: Thing, name: str, label: str) -> Value:
    """What a method of rows gives: others or one of them. What they are looked up by is not in them."""
    kept = without_order(rows) if name in _ONE else rows
    return replace(kept, label=label) if isinstance(kept, Thing) else kept


def one_row(value: Value) -> Value:
    """What ``rows[0]`` is taken from: who takes the first of rows in no order has asked for one."""
    return without_order(value) if isinstance(value, Thing) and value.type == ROWS else value


def _is_without_order(options: Value) -> bool:
    """Whether all options are seen, and none of them orders the rows or asks for one row."""
    if not isinstance(options, Map) or options.partial:
        return False
    keys = {key for key, _ in options.pairs}
    return None not in keys and not keys & {"orderBy", "take", "cursor", "limit"}


def _is_built_without_order(node: Node, frame: Frame) -> bool:
    """``supabase.from("skills").select("name")``, with no ``order`` behind it."""
    said = frame.module.data[node.start_byte : min(node.end_byte, node.start_byte + _HEAD)]
    if _BUILDER.search(re.sub(r"\s+", "", said.decode("utf-8", "replace"))[:400]) is None:
        return False
    outer = node
    while outer.parent is not None and outer.parent.type in {"member_expression", "call_expression"}:
        outer = outer.parent
    asked = frame.module.data[node.start_byte : outer.end_byte].decode("utf-8", "replace")
    return _ORDERED.search(asked) is None
