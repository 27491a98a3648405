"""What SQLite and PostgreSQL write differently, behind one name each.

Queries are written once; only what the two databases have no common word for is here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import BigInteger, Boolean, Integer
from sqlalchemy.dialects import sqlite
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import FunctionElement

if TYPE_CHECKING:
    from sqlalchemy import Table
    from sqlalchemy.sql.compiler import SQLCompiler

POSTGRESQL = "postgresql"
SCHEMA = "promptcache"
"""PostgreSQL's schema for our tables: a database is often shared, and their names are ordinary words."""

COUNT = Integer().with_variant(BigInteger(), POSTGRESQL)
"""A whole number of 64 bits in both: SQLite's integers are always so wide."""


class lesser(FunctionElement[Any]):  # noqa: N801 - used like a function of SQL
    """The smaller of two values of one row."""

    inherit_cache = True


class greater(FunctionElement[Any]):  # noqa: N801
    """The larger of two values of one row."""

    inherit_cache = True


class whole(FunctionElement[int]):  # noqa: N801
    """A number that is not negative, without its fraction."""

    type = COUNT
    inherit_cache = True


class any_true(FunctionElement[bool]):  # noqa: N801
    """Whether a boolean is true in any row of a group; unknown ones are left out."""

    type = Boolean()
    inherit_cache = True


class all_true(FunctionElement[bool]):  # noqa: N801
    """Whether a boolean is true in every row of a group; unknown ones are left out."""

    type = Boolean()
    inherit_cache = True


_SPELLED = {
    lesser: ("min", "LEAST"),
    greater: ("max", "GREATEST"),
    any_true: ("max", "bool_or"),
    all_true: ("min", "bool_and"),
}


def _spell(element: FunctionElement[Any], compiler: SQLCompiler, **more: Any) -> str:
    in_sqlite, in_postgresql = _SPELLED[type(element)]
    if compiler.dialect.name != POSTGRESQL:
        return f"{in_sqlite}({compiler.process(element.clauses, **more)})"
    values = [compiler.process(clause, **more) for clause in element.clauses]
    called = f"{in_postgresql}({', '.join(values)})"
    if len(values) == 1:
        return called
    # LEAST and GREATEST leave an unknown value out, where SQLite's result is unknown.
    return f"CASE WHEN {' OR '.join(f'{value} IS NULL' for value in values)} THEN NULL ELSE {called} END"


for _element in _SPELLED:
    compiles(_element)(_spell)


@compiles(whole)
def _spell_whole(element: whole, compiler: SQLCompiler, **more: Any) -> str:
    inner = compiler.process(element.clauses, **more)
    # A cast cuts the fraction off in SQLite, and rounds in PostgreSQL.
    return (
        f"CAST(FLOOR({inner}) AS BIGINT)"
        if compiler.dialect.name == POSTGRESQL
        else f"CAST({inner} AS INTEGER)"
    )


def insert_into(table: Table, dialect: str) -> Any:
    """An ``INSERT`` that can be told what to do about a row that is there already."""
    if dialect != POSTGRESQL:
        return sqlite.insert(table)
    from sqlalchemy.dialects import postgresql  # noqa: PLC0415 - 2 MB that a gateway with a file never needs

    return postgresql.insert(table)


def without_nul(value: Any) -> Any:
    """A value that both can hold: PostgreSQL's texts take any character but one, and callers write names."""
    return value.replace("\x00", "\ufffd") if isinstance(value, str) else value
