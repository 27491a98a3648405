"""How a command that runs until it is told to stop is stopped while it is loaded: at once, with status 0.

Nothing is raised: an exception in the middle of an import can break what is imported, up to the interpreter
itself. Kept light, for it is in place before anything else is loaded.
"""

from __future__ import annotations

import os
import signal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Self

_TOLD_BY = (signal.SIGTERM, signal.SIGINT)


class AtOnce:
    """Within it, SIGTERM and SIGINT end the process with status 0, on POSIX and in the main thread.

    A SIGINT that the process was started to ignore stays ignored.

    Attributes:
        nothing_to_lose: False: something is still to be written, and the signals are passed over.
    """

    def __init__(self) -> None:
        self.nothing_to_lose = True
        self._before: dict[int, signal._HANDLER] = {}

    def take(self) -> None:
        """Take the signals from whoever has them."""
        for number in _TOLD_BY if os.name == "posix" else ():
            before = signal.getsignal(number)
            if before is signal.SIG_IGN:
                continue
            try:
                signal.signal(number, self._end)
            except ValueError:  # not the main thread, which alone hears of signals
                break
            self._before[number] = before

    def give_back(self) -> None:
        """Give them back."""
        for number, handler in self._before.items():
            signal.signal(number, handler or signal.SIG_DFL)

    def leave(self) -> None:
        """Pass the signals over: as the interpreter ends it takes every handler away, but not this."""
        for number in self._before:
            signal.signal(number, signal.SIG_IGN)

    def __enter__(self) -> Self:
        self.take()
        return self

    def __exit__(self, *_: object) -> None:
        self.give_back()

    def _end(self, *_: object) -> None:
        if self.nothing_to_lose:
            os._exit(0)
