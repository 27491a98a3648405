"""Kept responses in the gateway's database: they outlive the process, and all who share it know them.

Prompts and answers are on disk then, which is why it must be asked for. One thread does all of it in order,
so that what was kept is found by the next turn, and a database that is slow holds up nobody but those who ask
for a kept response. What waits is bounded; beyond that nothing is kept. What another process keeps may be
written a moment after its answer is read: who asks for it here waits for it (`patience`).
"""

from __future__ import annotations

import asyncio
import logging
from concurrent.futures import ThreadPoolExecutor
from threading import Lock
from typing import TYPE_CHECKING, TypeVar

from sqlalchemy.exc import SQLAlchemyError

from promptcache_gateway.errors import ApiError
from promptcache_gateway.kept.patience import patiently
from promptcache_gateway.store.database import open_database
from promptcache_gateway.store.kept import KeptRows

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Future
    from pathlib import Path

    from promptcache_gateway.kept.response import Kept
    from promptcache_gateway.kept.settings import KeptSettings
    from promptcache_gateway.shared.through_parent import ThroughParent

_log = logging.getLogger(__name__)

_LARGEST = 4  # one response may take a quarter of all there is
_MOST_WAITING = 16 * 1024 * 1024
_PATIENCE_S = 5.0
_SWEEP_S = 60.0
"""Between two looks for what is too old to stay on disk."""
_PAUSES_S = (0.05, 0.2, 0.5, 1.0)  # another process may be about to write it

T = TypeVar("T")


class InDatabase:
    """A `Place` in a file of SQLite or a PostgreSQL.

    Args:
        settings: the bounds.
        address: where `store.database` finds it.
    """

    def __init__(self, settings: KeptSettings, address: Path | str) -> None:
        self._settings = settings
        self._address = address
        self._rows: KeptRows | None = None
        self._thread: ThreadPoolExecutor | None = None
        self._lock = Lock()
        self._waiting = 0
        self._sweeping: asyncio.Task[None] | None = None
        # Of this process's own everything is found: one thread writes and reads in order. A file is one
        # gateway's, a PostgreSQL may be several machines'.
        self._pauses_s = _PAUSES_S if isinstance(address, str) else ()

    def share(self, peers: ThroughParent) -> None:  # noqa: ARG002 - what they write is read
        """Reckon with the other workers of this machine, who write to the same file."""
        self._pauses_s = _PAUSES_S

    async def start(self) -> None:
        """Open the database; raises `StartupError`."""
        engine = await asyncio.to_thread(open_database, self._address)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="promptcache-kept")
        self._rows = KeptRows(
            engine,
            keep_s=self._settings.keep_s,
            per_tenant=self._settings.per_tenant,
            max_bytes=self._settings.max_bytes,
        )
        self._sweeping = asyncio.create_task(self._sweep(self._thread, self._rows))

    async def close(self) -> None:
        """Write what waits, and let go of the database."""
        if self._sweeping is not None:
            self._sweeping.cancel()
        thread, rows, self._thread, self._rows = self._thread, self._rows, None, None
        if thread is not None and rows is not None:
            await asyncio.to_thread(thread.shutdown)
            await asyncio.to_thread(rows.close)

    def put(self, kept: Kept) -> bool:
        """Have a response written, soon."""
        thread, rows = self._thread, self._rows
        if thread is None or rows is None or kept.size > self._settings.max_bytes // _LARGEST:
            return False
        with self._lock:
            if self._waiting + kept.size > _MOST_WAITING:
                return False
            self._waiting += kept.size
        thread.submit(rows.put, kept).add_done_callback(lambda done: self._written(kept.size, done))
        return True

    async def chain(self, tenant: str, name: str, take: Callable[[int], None]) -> tuple[Kept, ...] | None:
        """A response and all before it; raises `ApiError` 503 where the database does not answer."""
        return await self._found(lambda rows: rows.chain(tenant, name, take))

    async def get(self, tenant: str, name: str) -> Kept | None:
        """One response; raises `ApiError` 503 where the database does not answer."""
        return await self._found(lambda rows: rows.get(tenant, name))

    async def remove(self, tenant: str, name: str) -> bool:
        """Delete a response; raises `ApiError` 503 where the database does not answer."""
        return await self._found(lambda rows: rows.remove(tenant, name))

    def forget(self, tenant: str) -> None:
        """Delete all of a tenant's, behind what waits to be written."""
        if self._thread is not None and self._rows is not None:
            self._thread.submit(self._rows.forget, tenant).add_done_callback(_told)

    async def _sweep(self, thread: ThreadPoolExecutor, rows: KeptRows) -> None:
        while True:
            thread.submit(rows.sweep).add_done_callback(_told)
            await asyncio.sleep(_SWEEP_S)

    async def _found(self, question: Callable[[KeptRows], T]) -> T:
        return await patiently(lambda: self._ask(question), self._pauses_s)

    async def _ask(self, question: Callable[[KeptRows], T]) -> T:
        assert self._rows is not None, "start() comes first"
        asked = asyncio.get_running_loop().run_in_executor(self._thread, question, self._rows)
        try:
            return await asyncio.wait_for(asked, _PATIENCE_S)
        except (SQLAlchemyError, TimeoutError) as error:
            raise ApiError(
                503,
                "The database in which responses are kept does not answer.",
                kind="server_error",
                code="database_unavailable",
                retry_after=1,
            ) from error

    def _written(self, size: int, done: Future[None]) -> None:
        with self._lock:
            self._waiting -= size
        _told(done)


def _told(done: Future[None]) -> None:
    if (error := done.exception()) is not None:
        _log.error("kept responses: the database refused: %s", type(error).__name__)
