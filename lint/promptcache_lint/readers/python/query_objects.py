"""Queries that a program builds by calls, as SQLAlchemy and Django have them: rows in nobody's order.

A query carries its missing order from where it is begun; ``order_by`` takes it away, and so does whatever
gives one row or a number. What a Django model orders by itself (``Meta.ordering``) needs no more.
"""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from promptcache_lint.prompts import Trait
from promptcache_lint.readers.python.modules import Class
from promptcache_lint.readers.python.values import Ref, Str, Thing

if TYPE_CHECKING:
    from promptcache_lint.prompts import Mark
    from promptcache_lint.readers.python.calls import Call
    from promptcache_lint.readers.python.frame import Frame
    from promptcache_lint.readers.python.interpreter import Interpreter
    from promptcache_lint.readers.python.values import Value

__all__ = ["built_query"]

_TYPE = "database.query"
_SELECTS = {"sqlalchemy.select", "sqlalchemy.future.select", "sqlalchemy.sql.select", "sqlmodel.select"}
_TEXTS = {"sqlalchemy.text", "sqlalchemy.sql.text", "psycopg.sql.SQL", "psycopg2.sql.SQL"}
_MANAGER = re.compile(
    r"(?:.*\.)?(?P<model>[A-Z]\w*)\.objects\.(?:all|filter|exclude|values|values_list|only|defer)"
)
_SESSION = re.compile(r"(?:.*[._])?(?:session|db|s)\.query")
_ORDERS = {
    "order_by",
    "latest",
    "earliest",
    "count",
    "exists",
    "aggregate",
    "get",
    "first",
    "last",
    "one",
    "scalar",
}
_ALONE = {
    "one_or_none",
    "scalar_one",
    "scalar_one_or_none",
    "delete",
    "update",
    "in_bulk",
    "afirst",
    "aget",
    "acount",
}
_ON = {
    *(
        "where",
        "filter",
        "filter_by",
        "exclude",
        "join",
        "outerjoin",
        "options",
        "distinct",
        "select_from",
        "all",
    ),
    *("values", "values_list", "select_related", "prefetch_related", "annotate", "only", "defer", "group_by"),
    *("offset", "using", "with_entities", "iterator", "execution_options", "yield_per"),
}
_SENDS = {"execute", "scalars", "exec", "stream", "stream_scalars"}
_AGGREGATE = re.compile(r"\bfunc\.|\bcount\(|\bexists\(", re.IGNORECASE)


def built_query(
    machine: Interpreter, made: Call, receiver: Value | None, mark: Mark, frame: Frame
) -> Value | None:
    """What a call that builds a query gives: the query; None where it is no such call."""
    last = made.path.rpartition(".")[2]
    if isinstance(receiver, Thing) and receiver.type == _TYPE:
        drawn = machine.vocabulary.call("random.choice")
        if last == "order_by" and drawn is not None and _draws(made):
            label = frame.module.label(made.node)
            return Thing(label, (Trait(drawn, frame.module.place(made.node), label),), _TYPE)
        return _changed(made, receiver, last, frame)
    first = made.values[0] if made.arguments else None
    if made.dotted in _TEXTS:
        return first if isinstance(first, Str) else None
    if last in _SENDS and isinstance(first, Thing) and first.type == _TYPE:
        return Thing(frame.module.label(made.node), first.traits)
    if made.dotted not in _SELECTS and last != "query" and ".objects." not in made.path:
        return None
    label = frame.module.label(made.node)
    begins = made.dotted in _SELECTS and _AGGREGATE.search(label) is None
    if last == "query" and _SESSION.fullmatch(made.path):
        begins = bool(made.arguments) and not isinstance(made.values[0], Str) and not _AGGREGATE.search(label)
    if (manager := _MANAGER.fullmatch(made.path)) is not None:
        begins = not _orders_itself(machine, manager["model"], frame)
    return Thing(label, (Trait(mark, frame.module.place(made.node), label),), _TYPE) if begins else None


def _draws(made: Call) -> bool:
    """Whether rows are drawn by lot: ``order_by(func.random())``, and Django's ``order_by("?")``."""
    given = [ast.unparse(node) for _, node in made.arguments]
    return any(re.search(r"func\.(?:random|rand|newid)\(", each) or each == "'?'" for each in given)


def _changed(made: Call, query: Thing, last: str, frame: Frame) -> Value | None:
    if last in _ORDERS or last in _ALONE:
        return Thing(frame.module.label(made.node), settled=False)
    if last in {"limit", "fetch"} and made.arguments and getattr(made.values[0], "constant", None) == "1":
        return Thing(frame.module.label(made.node))
    drawn = last == "limit" and any(not trait.mark.order for trait in query.traits)
    return query if last in _ON or drawn else None


def _orders_itself(machine: Interpreter, model: str, frame: Frame) -> bool:
    """Whether a model of the program, or one it derives from, says how its rows are ordered."""
    value = machine.evaluate(ast.Name(id=model, ctx=ast.Load()), frame)
    found = value.target if isinstance(value, Ref) else None
    if not isinstance(found, Class):
        return False
    return any(
        isinstance(inner, ast.Name) and inner.id == "ordering"
        for cls in (found, *machine.objects.bases(found))
        for meta in cls.node.body
        if isinstance(meta, ast.ClassDef) and meta.name == "Meta"
        for inner in ast.walk(meta)
    )
