"""Writes what was recorded, off the request's path: a bounded queue and one thread.

When the queue is full a record is dropped and counted, so that a slow disk never slows a request.
A batch is one transaction: after a kill the database holds complete batches only. What comes within a few
hundredths of a second is one batch, because a transaction costs ten times what a record in it does.
"""

from __future__ import annotations

import logging
import queue
import threading
from dataclasses import dataclass, field
from operator import attrgetter
from typing import TYPE_CHECKING

import orjson
from sqlalchemy import Connection, Engine, delete, func, select
from sqlalchemy.dialects.sqlite import insert
from sqlalchemy.exc import SQLAlchemyError

from promptcache_gateway.store.learned import LearnedRow
from promptcache_gateway.store.reader import DIAGNOSIS_COLUMNS, OWN_COLUMNS
from promptcache_gateway.store.schema import hours, learned_templates, requests
from promptcache_gateway.store.totals import add_totals

if TYPE_CHECKING:
    from collections.abc import Sequence

    from promptcache_gateway.observe.record import RequestRecord

_log = logging.getLogger(__name__)

_BATCH = 500
_GATHER_S = 0.05  # how long the first record of a batch waits for others, unless somebody wants to read
_TRIM_EVERY = 1_000  # records between two looks at the bounds


@dataclass(frozen=True, slots=True)
class _Barrier:
    """Set once everything queued before it has been written."""

    done: threading.Event = field(default_factory=threading.Event)


class Recorder:
    """The queue and its thread.

    Args:
        engine: the database.
        capacity: records that may wait.
        max_requests: requests kept; the totals outlive them.
        max_hours: hours of hourly totals kept.
    """

    def __init__(self, engine: Engine, *, capacity: int, max_requests: int, max_hours: int) -> None:
        self._engine = engine
        self._max_requests = max_requests
        self._max_hours = max_hours
        self._queue: queue.Queue[RequestRecord | LearnedRow | _Barrier | None] = queue.Queue(capacity)
        self._dropped = 0
        self._lock = threading.Lock()
        self._since_trim = 0
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
        try:
            self._queue.put_nowait(item)
        except queue.Full:
            self._drop(1)
            return False
        return True

    def flush(self, timeout_s: float) -> bool:
        """Wait until everything queued so far has been written; False after ``timeout_s`` seconds."""
        if not self._thread.is_alive():
            return False
        barrier = _Barrier()
        self._urgent.set()
        try:
            self._queue.put(barrier, timeout=timeout_s)
        except queue.Full:
            return False
        return barrier.done.wait(timeout_s)

    def close(self) -> None:
        """Write what is queued, then end the thread."""
        if self._thread.is_alive():
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
        if batch[-1] is not None and not isinstance(batch[-1], _Barrier):
            self._urgent.wait(_GATHER_S)
        self._urgent.clear()
        while len(batch) < _BATCH and batch[-1] is not None:
            try:
                batch.append(self._queue.get_nowait())
            except queue.Empty:
                break
        return batch

    def _write(self, batch: Sequence[RequestRecord | LearnedRow]) -> None:
        learned = [item for item in batch if isinstance(item, LearnedRow)]
        records = [item for item in batch if not isinstance(item, LearnedRow)]
        try:
            with self._engine.begin() as connection:
                _insert_learned(connection, learned)
                _insert_requests(connection, records)
                add_totals(connection, records)
                self._trim(connection, len(records))
        except SQLAlchemyError as error:
            self._drop(len(records))
            _log.error("recorder: %d records were not written: %s", len(records), type(error).__name__)

    def _trim(self, connection: Connection, written: int) -> None:
        self._since_trim += written
        if self._since_trim < _TRIM_EVERY:
            return
        self._since_trim = 0
        newest = connection.execute(select(func.max(requests.c.seq))).scalar() or 0
        connection.execute(delete(requests).where(requests.c.seq <= newest - self._max_requests))
        latest = connection.execute(select(func.max(hours.c.hour))).scalar() or 0
        connection.execute(delete(hours).where(hours.c.hour <= latest - self._max_hours))


def _insert_requests(connection: Connection, records: Sequence[RequestRecord]) -> None:
    if records:
        connection.exec_driver_sql(_INSERT, [_row(record) for record in records])


def _insert_learned(connection: Connection, templates: Sequence[LearnedRow]) -> None:
    for template in templates:
        connection.execute(insert(learned_templates).values(template.packed()).on_conflict_do_nothing())


_COLUMNS = (*OWN_COLUMNS, *DIAGNOSIS_COLUMNS, "causes", "losses")
# Written out, because a row of values costs half as much as a mapping that has to be put in order first.
_VALUES = ", ".join("?" * len(_COLUMNS))
_INSERT = f"INSERT INTO requests ({', '.join(_COLUMNS)}) VALUES ({_VALUES}) ON CONFLICT (id) DO NOTHING"  # noqa: S608 - our own names
_own_fields, _diagnosis_fields = attrgetter(*OWN_COLUMNS), attrgetter(*DIAGNOSIS_COLUMNS)


def _row(record: RequestRecord) -> tuple[object, ...]:
    """A record as a row in the order of `_COLUMNS`; the excerpts stay behind."""
    diagnosis = record.diagnosis
    causes = "," + ",".join(diagnosis.causes) + "," if diagnosis.causes else ""
    losses = orjson.dumps(dict(diagnosis.losses)).decode() if diagnosis.losses else "{}"
    return (*_own_fields(record), *_diagnosis_fields(diagnosis), causes, losses)
