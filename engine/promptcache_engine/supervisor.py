"""Keeps a worker: starts it, and a new one in its place when it dies, but not for ever.

A new worker has an empty cache. How often one may die is bounded, so that an engine that cannot compute any
more says so and stays down until it is started again.
"""

import logging
import threading
import time
from collections import deque
from collections.abc import Callable

from promptcache_engine.worker import Worker

logger = logging.getLogger(__name__)

RESTART_WINDOW_S = 600.0
"""Deaths longer ago than this are forgiven."""


class Supervisor:
    """Owns the one worker of an engine.

    Args:
        make_worker: makes a fresh worker; its argument is to be called by the worker when it has died.
        max_restarts: how often a dead worker is replaced within RESTART_WINDOW_S.
        clock: seconds.
    """

    def __init__(
        self,
        make_worker: Callable[[Callable[[], None]], Worker],
        *,
        max_restarts: int,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._make_worker = make_worker
        self._max_restarts = max_restarts
        self._clock = clock
        self._deaths: deque[float] = deque()
        self._lifecycle = threading.Lock()
        self._restarts = 0
        self._last_failure: str | None = None
        self._worker = make_worker(self._replace)

    @property
    def worker(self) -> Worker:
        """The worker there is now, alive or not."""
        return self._worker

    @property
    def restarts(self) -> int:
        """How often a dead worker was replaced without being asked to."""
        return self._restarts

    @property
    def last_failure(self) -> str | None:
        """Why the worker that died last did so; None if none has."""
        return self._last_failure

    def start(self) -> None:
        """Start the worker, or a new one in place of one that ended; without effect while it runs."""
        with self._lifecycle:
            if self._worker.healthy:
                return
            if self._worker.started:
                self._worker.close()  # two of them must never compute at a time
                self._worker = self._make_worker(self._replace)
            self._deaths.clear()
            self._worker.start()

    def close(self) -> None:
        """End the worker after its current step. May be called again."""
        with self._lifecycle:
            self._worker.close()

    def _replace(self) -> None:
        """Put a new worker in the place of the one whose thread calls this as its last deed."""
        self._last_failure = self._worker.stopped_because
        # Whoever holds the lock starts or ends workers already, and may wait for this very thread.
        if not self._lifecycle.acquire(blocking=False):
            return
        try:
            now = self._clock()
            while self._deaths and now - self._deaths[0] > RESTART_WINDOW_S:
                self._deaths.popleft()
            if len(self._deaths) >= self._max_restarts:
                return
            self._deaths.append(now)
            self._restarts += 1
            logger.warning("the engine's worker is replaced (restart %d); its cache is empty", self._restarts)
            self._worker = self._make_worker(self._replace)
            self._worker.start()
        finally:
            self._lifecycle.release()
