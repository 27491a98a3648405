"""PostgreSQL as the database: its address, its driver, and connections that give up rather than hang.

Everything of ours lies in a schema of its own. The driver is an extra; without it there is one clear line.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import create_engine, event, text
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError

from promptcache_gateway.errors import SettingsError, StartupError
from promptcache_gateway.store.portable import POSTGRESQL, SCHEMA

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine

_PREFIXES = ("postgresql://", "postgres://", "postgresql+psycopg://")
_CONNECT_S = 5
_STATEMENT_MS = 15_000
_LOCK = 0x70636163  # of two gateways that start at once, one migrates
_NUMERIC_OID = 1700


def is_postgres(address: str) -> bool:
    """Whether a database's address is one of PostgreSQL's."""
    return address.startswith(_PREFIXES)


def read_address(address: str) -> URL:
    """The address's parts; raises `SettingsError`, which never quotes it: it may hold a password."""
    try:
        url = make_url(address)
    except (ArgumentError, ValueError) as error:
        raise SettingsError(
            "storage.database",
            "is not an address that can be read.",
            remedy="Write postgresql://USER:PASSWORD@HOST:PORT/NAME; percent-encode what is special in it.",
        ) from error
    return url.set(drivername=f"{POSTGRESQL}+psycopg")


def shown(url: URL) -> str:
    """The address as a person may read it: without the password."""
    return url.set(drivername=POSTGRESQL, query={}).render_as_string(hide_password=True)


def make_engine(url: URL) -> Engine:
    """An engine whose connections have time limits; raises `StartupError` where the driver is missing."""
    try:
        import psycopg  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise StartupError(
            "PostgreSQL needs a driver that is not installed.", remedy="pip install 'promptcache[postgres]'"
        ) from error
    engine = create_engine(
        url,
        pool_pre_ping=True,
        pool_size=4,
        max_overflow=4,
        pool_timeout=_CONNECT_S,
        # Values are bound on this side: expressions that are grouped by stay equal to those selected, and
        # a pool between us and the server needs to remember nothing.
        connect_args={"connect_timeout": _CONNECT_S, "cursor_factory": psycopg.ClientCursor},
        execution_options={"schema_translate_map": {None: SCHEMA}},
    )
    event.listen(engine, "connect", _prepare)
    return engine


def make_schema(connection: Connection) -> None:
    """Make our schema, and let no other gateway migrate until this transaction ends."""
    connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _LOCK})
    connection.execute(text(f"CREATE SCHEMA IF NOT EXISTS {SCHEMA}"))


def _prepare(connection: Any, _: object) -> None:
    connection.adapters.register_loader(_NUMERIC_OID, _numeric_loader())
    with connection.cursor() as cursor:
        cursor.execute(f"SET statement_timeout = {_STATEMENT_MS}")
    connection.commit()


def _numeric_loader() -> type[Any]:
    """Sums of whole numbers as whole numbers, averages as floats: as SQLite gives them."""
    from psycopg.adapt import Loader  # noqa: PLC0415 - an extra

    class NumericLoader(Loader):
        def load(self, data: Any) -> int | float:
            said = bytes(data)
            return int(said) if said.lstrip(b"-").isdigit() else float(said)

    return NumericLoader
