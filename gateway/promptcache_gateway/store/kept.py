"""The table of kept responses: written, read as conversations, deleted, and kept within its bounds.

It is the only one that holds text of prompts and answers, and it is empty unless the operator has asked for
it. What is deleted from a file of SQLite is overwritten there.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from sqlalchemy import delete, event, func, insert, literal, select, text, update

from promptcache_gateway.kept.response import Kept
from promptcache_gateway.store.portable import POSTGRESQL
from promptcache_gateway.store.schema import kept_responses as table

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from sqlalchemy import Connection, Engine

_TRIM_EVERY = 50  # responses between two looks at how many and how large they are
_CUT = 20  # a tenant that holds too much gives up a twentieth of its responses, and again until all fit
_MOST_TURNS = 10_000
_AT_ONCE = 500
_FIELDS = (table.c.id, table.c.tenant, table.c.previous, table.c.created_at, table.c.input, table.c.response)


class KeptRows:
    """Kept responses in a database. Use it from one thread at a time.

    Args:
        engine: the database, which it owns from now on.
        keep_s: seconds for which a response is kept that nobody goes on from.
        per_tenant: responses of one tenant.
        max_bytes: bytes of all responses.
        clock: Unix time in seconds.
    """

    def __init__(
        self,
        engine: Engine,
        *,
        keep_s: float,
        per_tenant: int,
        max_bytes: int,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._engine = engine
        self._keep_s, self._per_tenant, self._max_bytes = keep_s, per_tenant, max_bytes
        self._clock = clock
        self._since_trim = 0
        self._in_file = engine.dialect.name != POSTGRESQL
        if self._in_file:
            event.listen(engine, "connect", _overwrite)
            engine.dispose()  # connections that were made before do not overwrite

    def close(self) -> None:
        """Let go of the database."""
        self._engine.dispose()

    def put(self, kept: Kept) -> None:
        """Write a response; one of the same id is replaced."""
        with self._engine.begin() as connection:
            connection.execute(delete(table).where(_is(kept.tenant, kept.id)))
            connection.execute(
                insert(table).values(
                    tenant=kept.tenant,
                    id=kept.id,
                    previous=kept.previous,
                    created_at=kept.created_at,
                    used_at=self._clock(),
                    size=kept.size,
                    input=kept.items,
                    response=kept.response,
                )
            )
            self._since_trim += 1
            if self._since_trim >= _TRIM_EVERY:
                self._trim(connection)

    def chain(
        self, tenant: str, name: str, take: Callable[[int], None] | None = None
    ) -> tuple[Kept, ...] | None:
        """A response and all before it, the first one first; None where any of them is not there.

        ``take`` is told how many bytes that is before their text is read; what it raises goes on.
        """
        with self._engine.connect() as connection:
            turns = connection.execute(_turns(tenant, name, self._oldest())).all()
            if not turns or turns[0].previous is not None:
                return None
            if take is not None:
                take(sum(turn.size for turn in turns))
            names = [turn.id for turn in turns]
            found = _texts(connection, tenant, names)
        if len(found) < len(names):
            return None  # another process has deleted one meanwhile
        self._use(tenant, names)
        return tuple(found[name] for name in names)

    def _use(self, tenant: str, names: Sequence[str]) -> None:
        """Note that responses are used, in a transaction that begins by writing: it waits for others."""
        with self._engine.begin() as connection:
            for at in range(0, len(names), _AT_ONCE):
                some = table.c.id.in_(names[at : at + _AT_ONCE])
                connection.execute(
                    update(table).where(table.c.tenant == tenant, some).values(used_at=self._clock())
                )

    def get(self, tenant: str, name: str) -> Kept | None:
        """One response."""
        asked = select(*_FIELDS).where(_is(tenant, name), table.c.used_at >= self._oldest())
        with self._engine.connect() as connection:
            row = connection.execute(asked).one_or_none()
        return None if row is None else _read(row)

    def remove(self, tenant: str, name: str) -> bool:
        """Delete a response; False where it was not there."""
        with self._engine.begin() as connection:
            found = connection.execute(delete(table).where(_is(tenant, name))).rowcount
        self._empty_log()
        return bool(found)

    def forget(self, tenant: str) -> None:
        """Delete all of a tenant's."""
        with self._engine.begin() as connection:
            connection.execute(delete(table).where(table.c.tenant == tenant))
        self._empty_log()

    def sweep(self) -> None:
        """Delete what lies beyond the bounds, of age too: nothing else looks for that."""
        with self._engine.begin() as connection:
            connection.execute(delete(table).where(table.c.used_at < self._oldest()))
            self._trim(connection)
        self._empty_log()

    def _trim(self, connection: Connection) -> None:
        """Delete what lies beyond the bounds of number and size."""
        self._since_trim = 0
        count = func.count().label("count")
        many = select(table.c.tenant, count).group_by(table.c.tenant).having(count > self._per_tenant)
        for tenant, there in connection.execute(many).all():
            _drop_oldest(connection, tenant, there - self._per_tenant)
        while (connection.execute(select(func.sum(table.c.size))).scalar() or 0) > self._max_bytes:
            size = func.sum(table.c.size)
            largest = select(table.c.tenant, func.count()).group_by(table.c.tenant).order_by(size.desc())
            tenant, there = connection.execute(largest.limit(1)).one()
            _drop_oldest(connection, tenant, there // _CUT + 1)

    def _oldest(self) -> float:
        return self._clock() - self._keep_s

    def _empty_log(self) -> None:
        """Have the file's log hold nothing of what was deleted."""
        if self._in_file:
            with self._engine.connect() as connection:
                connection.execute(text("PRAGMA wal_checkpoint(TRUNCATE)"))


def _turns(tenant: str, name: str, oldest: float) -> Any:
    """Id, predecessor and size of a response and of all before it, the first one first."""
    fields = (table.c.id, table.c.previous, table.c.size)
    turn = (
        select(*fields, literal(0).label("turn"))
        .where(_is(tenant, name), table.c.used_at >= oldest)
        .cte("turns", recursive=True)
    )
    before = (
        select(*fields, turn.c.turn + 1)
        .where(table.c.tenant == tenant, turn.c.turn < _MOST_TURNS)
        .join_from(turn, table, table.c.id == turn.c.previous)
    )
    turns = turn.union_all(before)
    return select(turns.c.id, turns.c.previous, turns.c.size).order_by(turns.c.turn.desc())


def _texts(connection: Connection, tenant: str, names: Sequence[str]) -> dict[str, Kept]:
    """Responses by their ids."""
    found: dict[str, Kept] = {}
    for at in range(0, len(names), _AT_ONCE):
        some = table.c.id.in_(names[at : at + _AT_ONCE])
        rows = connection.execute(select(*_FIELDS).where(table.c.tenant == tenant, some))
        found.update({row.id: _read(row) for row in rows})
    return found


def _is(tenant: str, name: str) -> Any:
    return (table.c.tenant == tenant) & (table.c.id == name)


def _drop_oldest(connection: Connection, tenant: str, count: int) -> None:
    oldest = select(table.c.id).where(table.c.tenant == tenant).order_by(table.c.used_at).limit(count)
    connection.execute(delete(table).where(table.c.tenant == tenant, table.c.id.in_(oldest)))


def _read(row: Any) -> Kept:
    return Kept(row.id, row.tenant, row.previous, row.created_at, bytes(row.input), bytes(row.response))


def _overwrite(connection: Any, _: object) -> None:
    connection.execute("PRAGMA secure_delete=ON")
