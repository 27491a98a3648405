"""The workers of one gateway: started, started again when one dies, told what the parent is told, ended.

What workers say to each other and to the parent is `home`'s; this module knows processes.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import secrets
import signal
import socket
import sys
import time
from typing import TYPE_CHECKING

from promptcache_gateway.errors import StartupError
from promptcache_gateway.shared.frames import Channel

if TYPE_CHECKING:
    from collections.abc import Sequence

    from promptcache_gateway.shared.home import Home

_log = logging.getLogger("promptcache.gateway")

HURRY = signal.SIGINT
_FOR_THE_READY = (HURRY, signal.SIGHUP)
_SHORT_LIFE_S = 5.0
_FIRST_PAUSE_S = 0.1
_LONGEST_PAUSE_S = 5.0
_LAST_WORDS_S = 30.0  # the channel ends with the worker; a busy parent may be slow to hear it out


class Crew:
    """``count`` workers on one listening socket.

    Args:
        home: where their channels end.
        bound: the socket they all listen on.
        control: path of the control plane's socket.
        argv: ``serve``'s own arguments.
        count: how many there are.
        grace_s: seconds after which a worker that does not end by itself is killed.
    """

    def __init__(
        self,
        home: Home,
        bound: socket.socket,
        control: str,
        argv: Sequence[str],
        *,
        count: int,
        grace_s: float,
    ) -> None:
        self._home, self._bound, self._control, self._argv = home, bound, control, tuple(argv)
        self._places = [_Place(number) for number in range(1, count + 1)]
        self._ending = asyncio.Event()
        self._grace_s = grace_s
        self._failed: asyncio.Future[None] | None = None
        # Keys of prompts rest on the hash of strings: what one worker tells, the others must find.
        self._environ = {**os.environ, "PYTHONHASHSEED": str(1 + secrets.randbelow(2**32 - 1))}

    async def start(self) -> None:
        """Start all, and wait until each answers requests; raises `StartupError` where one cannot."""
        self._failed = asyncio.get_running_loop().create_future()
        for place in self._places:
            place.task = asyncio.create_task(self._keep(place))
        ready = asyncio.create_task(self._all_ready())
        try:
            await asyncio.wait((ready, self._failed), return_when=asyncio.FIRST_COMPLETED)
            if not ready.done():
                raise StartupError("a worker could not start.", remedy="It has said why above.")
        finally:
            ready.cancel()

    async def _all_ready(self) -> None:
        for place in self._places:
            await place.ready.wait()

    async def stop(self) -> None:
        """Have every worker end its requests, and wait until all are gone and all they said is heard."""
        self._ending.set()
        self._bound.close()  # the workers close theirs: who comes now is refused, and need not wait
        self.signal(signal.SIGTERM)
        for place in self._places:
            place.wake.set()
        tasks = [place.task for place in self._places if place.task is not None]
        _, late = await asyncio.wait(tasks, timeout=self._grace_s) if tasks else ((), ())
        if late:
            self.signal(signal.SIGKILL)
            await asyncio.wait(late)

    def hurry(self) -> None:
        """Have every worker that answers requests end them at once.

        By a signal of its own: a second SIGTERM may come from a supervisor, which sends it to all processes.
        """
        self.signal(HURRY)

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to every worker that can take it."""
        for place in self._places:
            if place.process is not None and (place.ready.is_set() or number not in _FOR_THE_READY):
                with contextlib.suppress(ProcessLookupError):
                    place.process.send_signal(number)

    async def _keep(self, place: _Place) -> None:
        """Have a worker at a place until the crew ends."""
        pause, was_ready = _FIRST_PAUSE_S, False
        while not self._ending.is_set():
            began = time.monotonic()
            status = await self._live(place)
            was_ready = was_ready or place.ready.is_set()
            if (
                not self._ending.is_set()
                and not was_ready
                and self._failed is not None
                and not self._failed.done()
            ):
                self._failed.set_result(None)
                return
            if self._ending.is_set():
                return
            _log.error("worker %d ended (%s) and is started again", place.number, _how(status))
            lived = time.monotonic() - began
            pause = _FIRST_PAUSE_S if lived > _SHORT_LIFE_S else min(_LONGEST_PAUSE_S, pause * 2)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(place.wake.wait(), pause)

    async def _live(self, place: _Place) -> int:
        """One worker's life; how it ended."""
        ours, theirs = socket.socketpair()
        place.ready.clear()
        with theirs:
            place.process = process = await asyncio.create_subprocess_exec(
                sys.executable,
                *("-m", "promptcache_gateway.shared.worker"),
                *(str(self._bound.fileno()), str(theirs.fileno()), self._control),
                *self._argv,
                pass_fds=(self._bound.fileno(), theirs.fileno()),
                env=self._environ,
                start_new_session=True,  # Ctrl+C is for the parent, which then ends them in order
            )
        channel = await Channel.open(ours)
        hearing = asyncio.create_task(self._home.attend(channel, place.ready))
        if self._ending.is_set():
            self.signal(signal.SIGTERM)
        status = await process.wait()
        place.process = None
        with contextlib.suppress(TimeoutError):  # its last records are still in the socket
            await asyncio.wait_for(hearing, _LAST_WORDS_S)
        await channel.close()
        return status


class _Place:
    """Where a worker is, and another one after it."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.ready = asyncio.Event()
        self.wake = asyncio.Event()
        self.process: asyncio.subprocess.Process | None = None
        self.task: asyncio.Task[None] | None = None


def _how(status: int) -> str:
    if status >= 0:
        return f"status {status}"
    with contextlib.suppress(ValueError):
        return signal.Signals(-status).name
    return f"signal {-status}"
