"""Writes what was recorded, off the request's path: a bounded queue and one thread.

When the queue is full a record is dropped and counted, so that a slow disk never slows a request.
A batch is one transaction: after a kill the database holds complete batches only. What comes within half
a second is one batch, because a transaction costs more than a hundred records in it do.
A server that went away is waited for; what does not fit into the queue meanwhile is dropped and counted.
"""

from __future__ import annotations

import logging
import queue
import threading
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sqlalchemy.exc import InterfaceError, OperationalError, SQLAlchemyError

from promptcache_gateway.store.learned import LearnedRow
from promptcache_gateway.store.portable import POSTGRESQL
from promptcache_gateway.store.rows import insert_learned, insert_requests, is_written
from promptcache_gateway.store.spending import add_spending
from promptcache_gateway.store.totals import add_totals
from promptcache_gateway.store.trimming import trim

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection, Engine

    from promptcache_gateway.bounds import Bounds
    from promptcache_gateway.observe.record import RequestRecord

_log = logging.getLogger(__name__)

_BATCH = 1_000
_GATHER_S = 0.5  # how long the first record of a batch waits for others, unless somebody wants to read
_TRIM_EVERY = 1_000  # records between two looks at the bounds
_TRIM_S = 600.0  # or so many seconds, when something is written
_AGAIN_S = 1.0  # between two tries to reach a server that went away


@dataclass(frozen=True, slots=True)
class _Barrier:
    """Set once everything queued before it has been written."""

    done: threading.Event = field(default_factory=threading.Event)


class Recorder:
    """The queue and its thread.

    Args:
        engine: the database.
        capacity: records that may wait.
        bounds: what is kept.
    """

    def __init__(self, engine: Engine, *, capacity: int, bounds: Bounds) -> None:
        self._engine = engine
        self._bounds = bounds
        # Its put is one step in C; its bound is kept here, to a record for each thread that puts at once.
        self._queue: queue.SimpleQueue[RequestRecord | LearnedRow | _Barrier | None] = queue.SimpleQueue()
        self._capacity = capacity
        self._dropped = 0
        self._lock = threading.Lock()
        self._since_trim = 0
        self._trimmed_at = float("-inf")
        self._away = False
        self._closing = threading.Event()
        self._urgent = threading.Event()
        self._thread = threading.Thread(target=self._run, name="promptcache-recorder", daemon=True)

    @property
    def dropped(self) -> int:
        """Records that were not written: the queue was full, or the database refused them."""
        return self._dropped

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def put(self, item: RequestRecord | LearnedRow) -> bool:
        """Queue something to be written; False where it was dropped instead."""
        if self._queue.qsize() >= self._capacity:
            self._drop(1)
            return False
        self._queue.put(item)
        return True

    def flush(self, timeout_s: float) -> bool:
        """Wait until everything queued so far has been written; False after ``timeout_s`` seconds."""
        if not self._thread.is_alive():
            return False
        barrier = _Barrier()
        self._urgent.set()
        self._queue.put(barrier)
        return barrier.done.wait(timeout_s)

    def close(self) -> None:
        """Write what is queued, then end the thread. A server that is away is not waited for."""
        if self._thread.is_alive():
            self._closing.set()
            self._urgent.set()
            self._queue.put(None)
            self._thread.join()

    def _drop(self, count: int) -> None:
        with self._lock:
            self._dropped += count

    def _run(self) -> None:
        going = True
        while going:
            batch = self._take()
            going = None not in batch
            records = [item for item in batch if item is not None and not isinstance(item, _Barrier)]
            if records:
                self._write(records)
            for item in batch:
                if isinstance(item, _Barrier):
                    item.done.set()

    def _take(self) -> list[RequestRecord | LearnedRow | _Barrier | None]:
        batch = [self._queue.get()]
        waits = batch[-1] is not None and not isinstance(batch[-1], _Barrier)
        if waits and self._queue.qsize() < _BATCH:  # else there is a batch already
            self._urgent.wait(_GATHER_S)
        self._urgent.clear()
        while len(batch) < _BATCH and batch[-1] is not None:
            try:
                batch.append(self._queue.get_nowait())
            except queue.Empty:
                break
        return batch

    def _write(self, batch: Sequence[RequestRecord | LearnedRow]) -> None:
        """Write a batch; where the server is away, try until it is back or the recorder is closed."""
        while True:
            if self._away and self._closing.is_set():
                self._drop(_requests_in(batch))
                return
            try:
                self._transact(batch)
            except (SQLAlchemyError, OverflowError) as error:
                if not self._is_away(error):
                    self._refused(batch, error)
                    return
                if not self._away:
                    _log.error("recorder: the database does not answer: %s", type(error).__name__)
                self._away = True
                self._closing.wait(_AGAIN_S)
            else:
                self._away = False
                return

    def _transact(self, batch: Sequence[RequestRecord | LearnedRow]) -> None:
        records = [item for item in batch if not isinstance(item, LearnedRow)]
        with self._engine.begin() as connection:
            if self._away and records and is_written(connection, records[0]):
                return  # the server went after it had written and before it could say so
            insert_learned(connection, [item for item in batch if isinstance(item, LearnedRow)])
            insert_requests(connection, records)
            add_totals(connection, records)
            add_spending(connection, records)
            self._trim(connection, len(records))

    def _refused(self, batch: Sequence[RequestRecord | LearnedRow], error: Exception) -> None:
        """Drop a batch that the database refuses, or where it may be one value's fault, that record alone."""
        if len(batch) > 1 and not isinstance(error, OperationalError):
            for item in batch:
                self._write([item])
            return
        lost = _requests_in(batch)
        self._drop(lost)
        _log.error("recorder: %d records were not written: %s", lost, type(error).__name__)

    def _is_away(self, error: Exception) -> bool:
        server = self._engine.dialect.name == POSTGRESQL
        return server and isinstance(error, OperationalError | InterfaceError)

    def _trim(self, connection: Connection, written: int) -> None:
        self._since_trim += written
        now = time.monotonic()
        if self._since_trim >= _TRIM_EVERY or now - self._trimmed_at >= _TRIM_S:
            trim(connection, self._bounds, time.time())
            self._since_trim, self._trimmed_at = 0, now


def _requests_in(batch: Sequence[RequestRecord | LearnedRow]) -> int:
    return sum(not isinstance(item, LearnedRow) for item in batch)
