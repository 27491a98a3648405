"""The store: opened once, written through a queue, read by the admin API."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from promptcache_gateway.bounds import Bounds
from promptcache_gateway.store.costs import Costs
from promptcache_gateway.store.courses import Course, read_courses, read_losses
from promptcache_gateway.store.database import open_database
from promptcache_gateway.store.deletion import delete_tenant
from promptcache_gateway.store.reader import Reader
from promptcache_gateway.store.recorder import Recorder
from promptcache_gateway.store.renaming import read_renames, rename_template, tenants_of
from promptcache_gateway.store.series import Series
from promptcache_gateway.store.spending import Spent, read_spending, read_written
from promptcache_gateway.store.windowed import templates_since

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from sqlalchemy import Engine

    from promptcache_gateway.observe.record import RequestRecord
    from promptcache_gateway.store.learned import LearnedRow

_FLUSH_S = 5.0


class Store:
    """What was recorded, in one SQLite file or a schema of PostgreSQL.

    Args:
        address: the file, made with its folder when it is not there; or ``postgresql://…``.
        capacity: records that may wait to be written; more are dropped and counted.
        bounds: what is kept; None: the ordinary bounds.
    """

    def __init__(self, address: Path | str, *, capacity: int = 10_000, bounds: Bounds | None = None) -> None:
        self._address = address
        self._capacity = capacity
        self._bounds = Bounds() if bounds is None else bounds
        self._engine: Engine | None = None
        self._recorder: Recorder | None = None
        self._dropped = 0

    def open(self) -> None:
        """Open the database and start writing.

        Raises:
            DatabaseUnusableError: the database cannot be used.
        """
        if self._engine is not None:
            return
        self._engine = open_database(self._address)
        self._recorder = Recorder(self._engine, capacity=self._capacity, bounds=self._bounds)
        self._recorder.start()

    def close(self) -> None:
        """Write what is queued and let go of the database."""
        if self._engine is None or self._recorder is None:
            return
        self._recorder.close()
        self._dropped += self._recorder.dropped
        self._engine.dispose()
        self._engine = self._recorder = None

    @property
    def dropped(self) -> int:
        """Records lost since the store was first opened."""
        return self._dropped + (self._recorder.dropped if self._recorder is not None else 0)

    def record(self, record: RequestRecord) -> None:
        """Queue a record; never waits. Before `open` and after `close` nothing is kept."""
        if self._recorder is not None:
            self._recorder.put(record)

    def keep_learned(self, template: LearnedRow) -> None:
        """Queue a learned template, so that a restart finds it again."""
        if self._recorder is not None:
            self._recorder.put(template)

    def flush(self, timeout_s: float = _FLUSH_S) -> bool:
        """Wait until everything recorded so far can be read."""
        return self._recorder.flush(timeout_s) if self._recorder is not None else False

    def delete_tenant(self, tenant: str) -> int:
        """Delete everything that was written of a tenant; how many requests there were."""
        assert self._engine is not None, "open() comes first"
        return delete_tenant(self._engine, tenant)

    def tenants_of(self, template: str) -> list[str]:
        """The tenants that have a template of this name."""
        assert self._engine is not None, "open() comes first"
        return tenants_of(self._engine, template)

    def rename_template(self, tenant: str, name: str, to: str, owns: Mapping[str, str]) -> int:
        """Rename what was written of a template; see `promptcache_gateway.store.renaming`."""
        assert self._engine is not None, "open() comes first"
        return rename_template(self._engine, tenant, name, to, owns)

    def renames(self) -> list[tuple[str, str, str]]:
        """Every rename: tenant, a template's own name, the name shown."""
        assert self._engine is not None, "open() comes first"
        return read_renames(self._engine)

    @property
    def read(self) -> Reader:
        """Questions to what has been written. `flush` first to see the latest."""
        assert self._engine is not None, "open() comes first"
        return Reader(self._engine)

    @property
    def series(self) -> Series:
        """Questions about time and place; as with `read`, `flush` first to see the latest."""
        assert self._engine is not None, "open() comes first"
        return Series(self._engine)

    @property
    def costs(self) -> Costs:
        """Questions about losses; as with `read`, `flush` first to see the latest."""
        assert self._engine is not None, "open() comes first"
        return Costs(self._engine)

    def templates_since(
        self, since: float, tenant: str | None = None, name: str | None = None
    ) -> list[dict[str, Any]]:
        """Templates in a window of time; see `promptcache_gateway.store.windowed`."""
        assert self._engine is not None, "open() comes first"
        return templates_since(self._engine, since, tenant=tenant, name=name)

    def courses(self, each: int) -> Iterator[Course]:
        """What templates read of what they could; see `promptcache_gateway.store.courses`."""
        assert self._engine is not None, "open() comes first"
        return read_courses(self._engine, each)

    def losses(self, hour: int) -> list[tuple[tuple[str, str], float]]:
        """What templates lost in an hour of the clock; see `promptcache_gateway.store.courses`."""
        assert self._engine is not None, "open() comes first"
        return list(read_losses(self._engine, hour))

    def spending(self, since_day: int) -> list[Spent]:
        """What tenants and keys spent, day by day; as with `read`, `flush` first to see the latest."""
        assert self._engine is not None, "open() comes first"
        return read_spending(self._engine, since_day)

    def written(self, ids: Sequence[str]) -> set[str]:
        """Those of some requests, by id, that have been written, once what is queued is."""
        self.flush()
        assert self._engine is not None, "open() comes first"
        return read_written(self._engine, ids)

    def learned_templates(self) -> list[LearnedRow]:
        """The templates learned in earlier runs."""
        return self.read.learned()
