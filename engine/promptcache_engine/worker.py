"""The one thread that computes: it takes requests from any thread, steps the core and delivers the events.

If the core raises where no single sequence can be blamed, the thread ends, says why, and fails what is
pending.
"""

import logging
import threading
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from dataclasses import replace
from typing import Any, TypeVar

from promptcache_engine.cache import InvalidTokensError
from promptcache_engine.core import EngineCore
from promptcache_engine.errors import EngineStoppedError, QueueFullError
from promptcache_engine.events import Failed, Finished, GenerationEvent
from promptcache_engine.generation import Generation
from promptcache_engine.info import EngineStats

logger = logging.getLogger(__name__)

Answer = TypeVar("Answer")


class Worker:
    """Runs an ``EngineCore`` until it is closed.

    Args:
        core: touched by this thread only, once it runs.
        max_running: sequences the core computes together.
        max_waiting: requests that may be there beyond those.
        on_death: called by the thread as its last deed if it ends otherwise than by ``close``.
    """

    def __init__(
        self,
        core: EngineCore,
        *,
        max_running: int,
        max_waiting: int,
        on_death: Callable[[], None] = lambda: None,
    ) -> None:
        self._core = core
        self._on_death = on_death
        self._max_running = max_running
        self._max_waiting = max_waiting
        self._condition = threading.Condition()
        self._inbox: deque[Generation] = deque()
        self._commands: deque[tuple[Callable[[], Any], Future[Any]]] = deque()
        self._unfinished = 0
        self._choices: dict[str, set[str]] = {}  # each generation's request, as those of it that go on
        self._stopped: str | None = None
        self._closing = False
        self._stats = core.stats()
        self._thread = threading.Thread(target=self._run, name="promptcache-engine", daemon=True)

    def start(self) -> None:
        """Start the thread; once only."""
        self._thread.start()

    @property
    def started(self) -> bool:
        """Whether the thread was ever started."""
        return self._thread.ident is not None

    @property
    def healthy(self) -> bool:
        """Whether the thread takes and computes requests."""
        return self._stopped is None and not self._closing and self._thread.is_alive()

    @property
    def stopped_because(self) -> str | None:
        """Why the thread ended; None while it has not."""
        return self._stopped

    def submit(self, generations: Sequence[Generation]) -> None:
        """Queue a request: one generation, or several for one prompt, which count as one to the last.

        Raises:
            EngineStoppedError: the thread is not running, or ending.
            QueueFullError: ``max_waiting`` requests are there beyond the ``max_running`` first.
        """
        with self._condition:
            self._require_running()
            waiting = self._unfinished - self._max_running
            if waiting >= self._max_waiting:
                raise QueueFullError(waiting, self._max_waiting)
            self._unfinished += 1
            choices = {generation.id for generation in generations}
            self._choices.update((each, choices) for each in choices)
            self._inbox.extend(generations)
            self._condition.notify()

    def reset_cache(self) -> bool:
        """Forget all cached prefixes between two steps; False, and nothing changes, while a sequence runs.

        Raises:
            EngineStoppedError: the thread is not running, or ending.
        """
        return self._between_steps(self._core.reset_cache)

    def cached_prefixes(self, prompts: Sequence[tuple[Sequence[int], str]]) -> list[int]:
        """How many tokens of each prompt, in its namespace, could be reused, as it is between two steps.

        Raises:
            EngineStoppedError: the thread is not running, or ending.
        """
        return self._between_steps(lambda: self._core.cached_prefixes(prompts))

    def stats(self) -> EngineStats:
        """The state after the latest step, with what was queued since."""
        stats = self._stats
        return replace(stats, waiting=stats.waiting + len(self._inbox))

    def close(self) -> None:
        """End the thread after its current step; pending requests fail. May be called again."""
        with self._condition:
            self._closing = True
            self._condition.notify()
        if self._thread.is_alive() and threading.current_thread() is not self._thread:
            self._thread.join()

    def _between_steps(self, command: Callable[[], Answer]) -> Answer:
        """Have the thread run a command between two steps; its answer."""
        if threading.current_thread() is self._thread:
            return command()
        answer: Future[Answer] = Future()
        with self._condition:
            self._require_running()
            self._commands.append((command, answer))
            self._condition.notify()
        return answer.result()

    def _require_running(self) -> None:
        if not self.started:
            raise EngineStoppedError(
                "it was not started", "Call start(), or use the engine in a with statement"
            )
        if self._stopped is not None:
            raise EngineStoppedError(self._stopped)
        if self._closing:
            raise EngineStoppedError("it was closed")

    def _run(self) -> None:
        try:
            while self._take_work():
                events = self._core.step()
                # Before the events, so that who has seen a request end also finds its pages free.
                self._stats = self._core.stats()
                self._deliver(events)
            self._fail_pending("it was closed")
        except BaseException as error:  # the thread must not vanish without a word
            logger.exception("the engine's worker thread died")
            self._fail_pending(f"its worker thread died ({type(error).__name__}: {error})")
            self._on_death()

    def _take_work(self) -> bool:
        """Wait until there is something to do and hand it to the core; False when closing."""
        with self._condition:
            while not (self._closing or self._inbox or self._commands or self._core.busy):
                self._condition.wait()
            if self._closing:
                return False
            arrived = tuple(self._inbox)
            self._inbox.clear()
        for generation in arrived:
            self._core.add(generation)
        self._obey()
        return True

    def _obey(self) -> None:
        """Run the commands that came.

        One refused for its input concerns who gave it; any other error is a fault of the core's, told to both
        sides.
        """
        while self._commands:
            command, answer = self._commands.popleft()
            try:
                answer.set_result(command())
            except InvalidTokensError as error:
                answer.set_exception(error)
            except Exception as error:
                answer.set_exception(error)
                raise

    def _deliver(self, events: Iterable[tuple[Generation, GenerationEvent]]) -> None:
        for generation, event in events:
            if isinstance(event, Finished | Failed):
                self._note_end(generation)  # before the event: who is told may send the next request
            generation.emit(event)

    def _note_end(self, generation: Generation) -> None:
        with self._condition:
            choices = self._choices.pop(generation.id)
            choices.discard(generation.id)
            self._unfinished -= not choices

    def _fail_pending(self, reason: str) -> None:
        """Tell everyone who waits for anything that nothing more will come."""
        with self._condition:
            self._stopped = reason
            error = EngineStoppedError(reason)
            events = self._core.abandon(error)
            events += [(generation, Failed(error)) for generation in self._inbox]
            commands = tuple(self._commands)
            self._inbox.clear()
            self._commands.clear()
        for _, answer in commands:
            answer.set_exception(error)
        self._deliver(events)
