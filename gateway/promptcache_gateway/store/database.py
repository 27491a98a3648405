"""The database's file: opened with settings that survive a kill, migrated, refused with one clear line.

SQLite in write-ahead mode: readers never wait for the writer, and a process that dies between two
transactions leaves the last complete one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import Engine, create_engine, event
from sqlalchemy.exc import DatabaseError

from promptcache_gateway.errors import StartupError
from promptcache_gateway.store.schema import VERSION, ForeignDatabaseError, migrate

if TYPE_CHECKING:
    from pathlib import Path

_BUSY_MS = 5_000


class DatabaseUnusableError(StartupError):
    """The database cannot be opened, is damaged, or belongs to a newer version.

    Attributes:
        path: the file.
    """

    def __init__(self, path: Path, problem: str, remedy: str) -> None:
        super().__init__(f"The database {path} {problem}.", remedy=remedy)
        self.path = path


def open_database(path: Path) -> Engine:
    """Open (or create) the database and bring it to this version.

    Raises:
        DatabaseUnusableError: see there.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DatabaseUnusableError(path, f"has no folder: {error.strerror}", _ELSEWHERE) from error
    engine = create_engine(f"sqlite:///{path}", connect_args={"check_same_thread": False})
    event.listen(engine, "connect", _prepare)
    event.listen(engine, "begin", lambda connection: connection.exec_driver_sql("BEGIN"))
    try:
        with engine.begin() as connection:
            found = migrate(connection)
    except DatabaseError as error:
        engine.dispose()
        raise DatabaseUnusableError(path, f"cannot be used: {error.orig}", _ELSEWHERE) from error
    except ForeignDatabaseError as error:
        engine.dispose()
        raise DatabaseUnusableError(path, "belongs to another program", _ELSEWHERE) from error
    if found > VERSION:
        engine.dispose()
        raise DatabaseUnusableError(
            path,
            f"was written by a newer version (schema {found}, this one knows {VERSION})",
            "Update promptcache, or name another file.",
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
