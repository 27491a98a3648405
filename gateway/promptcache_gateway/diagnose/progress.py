"""Tells a terminal how far the reading of the logs is, twice a second, and takes the line back at the end."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from promptcache_gateway.diagnose.sources import Source

_EVERY_S: Final = 0.5
_CLEAR_LINE: Final = "\r\x1b[2K"


class Progress:
    """How much of some logs was read; silent where standard error is no terminal.

    Args:
        sources: the logs, in the order in which they are read.
        quiet: say nothing at all.
    """

    def __init__(self, sources: Sequence[Source], *, quiet: bool = False) -> None:
        self._tells = not quiet and sys.stderr.isatty()
        self._size = sum(source.size for source in sources)
        self._done = 0  # bytes of the logs before this one
        self._told_at = time.monotonic()
        self._told = False

    def tell(self, read: int) -> None:
        """So many bytes of the log at hand were read."""
        if self._is_time():
            done = self._done + read
            share = (
                f" of {self._size / 1e6:,.0f} MB ({min(1.0, done / self._size):.0%})" if self._size else " MB"
            )
            _write(f"\r  read {done / 1e6:,.0f}{share} ")

    def next_log(self, source: Source) -> None:
        """A log was read to its end."""
        self._done += source.size

    def left(self, requests: int) -> None:
        """All was read, and so many requests are still to be judged."""
        if self._is_time():
            _write(f"{_CLEAR_LINE}  all read; {requests:,} requests to judge ")

    def _is_time(self) -> bool:
        now = time.monotonic() if self._tells else 0.0
        if not self._tells or now - self._told_at < _EVERY_S:
            return False
        self._told_at, self._told = now, True
        return True

    def end(self) -> None:
        """Leave no half a line before the report."""
        if self._told:
            _write(_CLEAR_LINE)


def _write(text: str) -> None:
    sys.stderr.write(text)
    sys.stderr.flush()
