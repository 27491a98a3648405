"""The store: opened once, written through a queue, read by the admin API."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from promptcache_gateway.store.database import open_database
from promptcache_gateway.store.reader import Reader
from promptcache_gateway.store.recorder import Recorder

if TYPE_CHECKING:
    from sqlalchemy import Engine

    from promptcache_gateway.observe.record import RequestRecord
    from promptcache_gateway.store.learned import LearnedRow

_FLUSH_S = 5.0


class Store:
    """What was recorded, in one SQLite file.

    Args:
        path: the file; made with its folder when it is not there.
        capacity: records that may wait to be written; more are dropped and counted.
        max_requests: requests kept, newest first; templates' totals outlive them.
        max_hours: hours of hourly totals kept.
    """

    def __init__(
        self,
        path: Path | str,
        *,
        capacity: int = 10_000,
        max_requests: int = 200_000,
        max_hours: int = 24 * 400,
    ) -> None:
        self.path = Path(path)
        self._capacity = capacity
        self._max_requests = max_requests
        self._max_hours = max_hours
        self._engine: Engine | None = None
        self._recorder: Recorder | None = None

    def open(self) -> None:
        """Open the database and start writing.

        Raises:
            DatabaseUnusableError: the file cannot be used.
        """
        if self._engine is not None:
            return
        self._engine = open_database(self.path)
        self._recorder = Recorder(
            self._engine,
            capacity=self._capacity,
            max_requests=self._max_requests,
            max_hours=self._max_hours,
        )
        self._recorder.start()

    def close(self) -> None:
        """Write what is queued and close the file."""
        if self._engine is None or self._recorder is None:
            return
        self._recorder.close()
        self._engine.dispose()
        self._engine = self._recorder = None

    @property
    def dropped(self) -> int:
        """Records lost since the store was opened."""
        return self._recorder.dropped if self._recorder is not None else 0

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

    @property
    def read(self) -> Reader:
        """Questions to what has been written. `flush` first to see the latest."""
        assert self._engine is not None, "open() comes first"
        return Reader(self._engine)

    def learned_templates(self) -> list[LearnedRow]:
        """The templates learned in earlier runs."""
        return self.read.learned()
