"""A batch's progress and its summary, for people."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from collections.abc import Callable

    from promptcache_gateway.batch.tally import Tally

_EVERY_S = 0.5


class Progress:
    """One line of a terminal that tells how far it is; nothing where it is no terminal."""

    def __init__(
        self, stream: TextIO, *, quiet: bool = False, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._stream = stream
        self._shown = not quiet and stream.isatty()
        self._clock = clock
        self._last = float("-inf")
        self._began = clock()
        self._width = 0

    def reading(self, done: int, size: int) -> None:
        """The input is being read."""
        if self._due():
            self._write(f"read {done / 1e6:,.0f} of {size / 1e6:,.0f} MB ({done / max(1, size):.0%})")

    def begin(self) -> None:
        """Requests are sent from now on."""
        self._began = self._clock()

    def sending(self, tally: Tally) -> None:
        """Requests are being sent."""
        if self._due():
            self._write(describe_progress(tally, self._clock() - self._began))

    def end(self) -> None:
        """Leave the line empty for what comes next."""
        if self._width:
            self._stream.write("\r" + " " * self._width + "\r")
            self._stream.flush()

    def _due(self) -> bool:
        now = self._clock()
        if not self._shown or now - self._last < _EVERY_S:
            return False
        self._last = now
        return True

    def _write(self, text: str) -> None:
        line = f"  {text}"
        self._stream.write("\r" + line.ljust(self._width))
        self._stream.flush()
        self._width = len(line)


def describe_progress(tally: Tally, seconds: float) -> str:
    """How far a batch is, in one line."""
    done = tally.finished + tally.failed
    parts = [f"{done:,} of {tally.requests:,} ({done / max(1, tally.requests):.0%})"]
    if tally.failed:
        parts.append(f"{tally.failed:,} failed")
    if tally.hit_rate is not None:
        parts.append(f"hit rate {tally.hit_rate:.0%}")
    sent = tally.answered + tally.failed
    if sent and seconds > 0:
        parts.append(f"{sent / seconds:,.1f}/s")
        parts.append(f"{_duration((tally.requests - done) * seconds / sent)} left")
    return ", ".join(parts)


def describe(tally: Tally, shared: float | None) -> str:
    """The summary.

    Args:
        tally: the sums.
        shared: the share of the sent prompts' text that an earlier one of them begins with, 0..1.
    """
    lines = [_requests(tally)]
    lines.append(f"tokens    {tally.prompt_tokens:,} in prompts, {tally.output_tokens:,} generated")
    if tally.hit_rate is None:
        lines.append("cached    not reported by the server")
    else:
        lines.append(f"cached    {tally.cached_tokens:,} not computed again: hit rate {tally.hit_rate:.1%}")
        if tally.reported < tally.finished:
            lines[-1] += f" (of the {tally.reported:,} answers that report it)"
    if shared is not None:
        lines.append(f"shared    {shared:.1%} of the prompts' text, by their beginnings")
    if tally.priced:
        saved = tally.uncached_usd - tally.cost_usd
        word = "saved" if saved >= 0 else "more than without"
        lines.append(f"cost      ${tally.cost_usd:,.4f}; the cache {word}: ${abs(saved):,.4f}")
        if tally.priced < tally.finished:
            lines[-1] += f" ({tally.priced:,} answers with a known price)"
    return "\n".join(lines)


def _requests(tally: Tally) -> str:
    parts = [f"requests  {tally.finished:,} of {tally.requests:,} answered"]
    if tally.earlier:
        parts.append(f"{tally.earlier:,} of them by an earlier run")
    if tally.failed:
        parts.append(f"{tally.failed:,} failed")
    left = tally.requests - tally.finished - tally.failed
    if left:
        parts.append(f"{left:,} not sent")
    return ", ".join(parts)


def _duration(seconds: float) -> str:
    """A time people can plan with.

    >>> _duration(42), _duration(125), _duration(7_260)
    ('42 s', '2 min', '2 h 1 min')
    """
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"
