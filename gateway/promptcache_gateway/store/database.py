"""The database, opened: with settings that survive a kill, migrated, refused with one clear line.

SQLite in write-ahead mode: readers never wait for the writer, and a process that dies between two
transactions leaves the last complete one. PostgreSQL's own ways are `postgres`.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlalchemy import Engine, create_engine, event
from sqlalchemy.exc import DBAPIError

from promptcache_gateway.errors import StartupError
from promptcache_gateway.store.migrations import VERSION, ForeignDatabaseError, migrate
from promptcache_gateway.store.portable import SCHEMA
from promptcache_gateway.store.postgres import is_postgres, make_engine, make_schema, read_address, shown

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlalchemy import Connection

_BUSY_MS = 5_000
_SQLITE = "sqlite:///"


class DatabaseUnusableError(StartupError):
    """The database cannot be opened, is damaged, or belongs to a newer version.

    Attributes:
        path: the file, or PostgreSQL's address without its password.
    """

    def __init__(self, path: Path | str, problem: str, remedy: str) -> None:
        super().__init__(f"The database {path} {problem}.", remedy=remedy)
        self.path = path


def open_database(address: Path | str) -> Engine:
    """Open (or create) the database and bring it to this version.

    Args:
        address: a file, ``sqlite:///PATH`` or ``postgresql://…``.

    Raises:
        DatabaseUnusableError: see there.
        SettingsError: the address cannot be read.
    """
    if isinstance(address, str) and is_postgres(address):
        return _open_postgres(address)
    return _open_file(Path(str(address).removeprefix(_SQLITE)).expanduser())


def _open_postgres(address: str) -> Engine:
    url = read_address(address)
    engine = make_engine(url)

    def prepare(connection: Connection) -> int:
        make_schema(connection)
        return migrate(connection, SCHEMA)

    remedy = "Check that the server runs, and that the user may connect and create a schema there."
    return _migrated(engine, shown(url), prepare, remedy)


def _open_file(path: Path) -> Engine:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DatabaseUnusableError(path, f"has no folder: {error.strerror}", _ELSEWHERE) from error
    engine = create_engine(f"sqlite:///{path}", connect_args={"check_same_thread": False})
    event.listen(engine, "connect", _prepare)
    event.listen(engine, "begin", lambda connection: connection.exec_driver_sql("BEGIN"))
    return _migrated(engine, path, migrate, _ELSEWHERE)


def _migrated(engine: Engine, path: Path | str, prepare: Callable[[Connection], int], remedy: str) -> Engine:
    try:
        with engine.begin() as connection:
            found = prepare(connection)
    except DBAPIError as error:
        engine.dispose()
        problem = " ".join(str(error.orig).split())
        raise DatabaseUnusableError(path, f"cannot be used: {problem}", remedy) from error
    except ForeignDatabaseError as error:
        engine.dispose()
        raise DatabaseUnusableError(path, "belongs to another program", remedy) from error
    if found > VERSION:
        engine.dispose()
        raise DatabaseUnusableError(
            path,
            f"was written by a newer version (schema {found}, this one knows {VERSION})",
            "Update promptcache, or name another database.",
        )
    return engine


_ELSEWHERE = "Name another file, or move this one away: a new one is created."


def _prepare(connection: Any, _: object) -> None:
    connection.isolation_level = None  # the driver would leave changes of the schema out of transactions
    cursor = connection.cursor()
    cursor.execute(f"PRAGMA busy_timeout={_BUSY_MS}")
    cursor.execute("PRAGMA journal_mode=WAL")
    cursor.execute("PRAGMA synchronous=NORMAL")
    cursor.close()
