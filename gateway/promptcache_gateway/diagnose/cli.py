"""``promptcache diagnose LOG.jsonl …``: why logs' requests missed the cache, where, and what it cost.

Reads files of any size once, an entry at a time. Progress goes to standard error, the report to standard
output, and a page for a browser to the file that ``--html`` names.
"""

from __future__ import annotations

import argparse
import gc
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from promptcache.cli.output import show, show_json
from promptcache.cli.style import Style
from promptcache.errors import MalformedRequestError, PromptCacheError
from promptcache_gateway.diagnose.copies import Copies
from promptcache_gateway.diagnose.counted import Counted
from promptcache_gateway.diagnose.exchange import NotUnderstoodError
from promptcache_gateway.diagnose.formats import FORMATS, LogReader
from promptcache_gateway.diagnose.lines import UnreadableLogError, read_log
from promptcache_gateway.diagnose.ordering import TimeOrder
from promptcache_gateway.diagnose.progress import Progress
from promptcache_gateway.diagnose.replay import Replay
from promptcache_gateway.diagnose.report_html import render
from promptcache_gateway.diagnose.report_text import describe
from promptcache_gateway.diagnose.sources import STDIN, find_sources
from promptcache_gateway.diagnose.summary import Summary

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from promptcache_gateway.diagnose.ordering import Placed
    from promptcache_gateway.diagnose.patterns import Pattern
    from promptcache_gateway.diagnose.replay import Judged
    from promptcache_gateway.diagnose.sources import Source
    from promptcache_gateway.diagnose.spanning import Line

NOTHING: Final = 0
FAULTS: Final = 1
COULD_NOT_RUN: Final = 2

_ALLOCATIONS = 100_000
_ANOTHER_PAGE = "Name another file for the page."


def main(argv: Sequence[str] | None = None) -> int:
    """Diagnose logs.

    Returns 0 when nothing in them breaks a prefix, 1 when something their callers do does, 2 when they could
    not be read or hold no request.
    """
    options = _parser().parse_args(argv)
    reader = LogReader(options.format)
    try:
        sources = find_sources(options.logs)
        summary = Summary(_name(options.logs), several=len(sources) > 1)
        _check_page(options.html, sources)
        with _seldom_collected():
            diagnose_logs(sources, reader, summary, Progress(sources, quiet=options.quiet))
        if options.html is not None:
            _write(options.html, render(summary))
    except PromptCacheError as error:
        print(f"promptcache diagnose: {error}", file=sys.stderr)
        return COULD_NOT_RUN
    if options.output_format == "json":
        show_json(summary.to_dict(reader.seen))
    else:
        show(describe(summary, Style.for_stream(sys.stdout), templates=options.templates))
    if not summary.total.requests:
        holds = "the log holds" if len(sources) == 1 else "the logs hold"
        print(f"promptcache diagnose: {holds} no request of a known form.", file=sys.stderr)
        return COULD_NOT_RUN
    return FAULTS if summary.faults else NOTHING


def diagnose_logs(
    sources: Sequence[Source], reader: LogReader, summary: Summary, progress: Progress | None = None
) -> None:
    """Read logs, one after the other, and add what they show to a summary.

    Raises:
        UnreadableLogError: one that was named cannot be read.
    """
    progress = Progress(sources, quiet=True) if progress is None else progress
    reading = _Reading(reader, summary, progress)
    try:
        for source in sources:
            reading.read(source)
            progress.next_log(source)
        reading.end()
    finally:
        progress.end()


class _Reading:
    """Hands the requests of logs on to be judged, in the order of their times, each once."""

    def __init__(self, reader: LogReader, summary: Summary, progress: Progress) -> None:
        self._reader = reader
        self._progress = progress
        self._summary = summary
        self._judge = _Judge(Replay(), summary)
        self._order = TimeOrder()
        self._copies = Copies()
        self._before = 0  # lines of the logs before this one

    def read(self, source: Source) -> None:
        """Read one log."""
        self._summary.begin_log(source.path, self._before)
        number = 0
        try:
            for line in read_log(source.path, self._progress.tell):
                number = line.number
                self._take(line)
        except UnreadableLogError as error:
            if source.named:
                raise
            self._summary.add_bad(self._before + number + 1, error.problem)
        self._before += number + 1

    def end(self) -> None:
        """All were read."""
        for exchange in self._reader.end():
            self._judge(self._order.add(self._before, exchange, 0))
        rest = list(self._order.rest())
        for number, placed in enumerate(rest):
            self._progress.left(len(rest) - number)
            self._judge([placed])
        self._judge.end()

    def _take(self, line: Line) -> None:
        number, size = self._before + line.number, line.size  # of all that it holds
        self._summary.mended_lines += line.mended
        if line.problem is not None:
            self._summary.add_bad(number, line.problem)
            return
        try:
            for exchange in self._reader.read(line.value):
                if exchange.known_by is not None and self._copies.is_one(exchange.known_by):
                    self._summary.copies += 1
                    continue
                self._judge(self._order.add(number, exchange, size))
                size = 0
        except NotUnderstoodError as error:
            self._summary.add_bad(number, str(error))


class _Judge:
    """Judges requests whose turn has come, and adds what is found to the summary."""

    def __init__(self, replay: Replay, summary: Summary) -> None:
        self._replay = replay
        self._counted = Counted(replay.money)
        self._summary = summary

    def __call__(self, turn: Iterable[Placed]) -> None:
        for one in turn:
            if one.exchange.counts is not None:
                self._add(self._counted.add(one.line, one.exchange))
                continue
            try:
                self._summary.add(self._replay.judge(one.line, one.exchange, one.place))
            except MalformedRequestError as error:
                self._summary.add_bad(one.line, f"{error.path}: {error.problem}")

    def end(self) -> None:
        """Judge what was still waited for: rows of counters."""
        self._add(self._counted.rest())

    def _add(self, rows: Iterable[tuple[Sequence[Judged], Pattern | None]]) -> None:
        for judged, pattern in rows:
            for one in judged:
                self._summary.add(one)
            if pattern is not None:
                self._summary.add_pattern(pattern)


@contextmanager
def _seldom_collected() -> Iterator[None]:
    """Looks for cycles less often: what is read from a log makes none, and much of it is held for a while."""
    before = gc.get_threshold()
    gc.set_threshold(_ALLOCATIONS)
    try:
        yield
    finally:
        gc.set_threshold(*before)


def _name(logs: Sequence[str]) -> str:
    """What the report is of."""
    if len(logs) > 1:
        return f"{len(logs)} logs"
    return "standard input" if logs[0] == STDIN else logs[0]


def _check_page(page: Path | None, sources: Sequence[Source]) -> None:
    """Refuse before long logs are read what cannot be written after them, and the logs themselves."""
    if page is None:
        return
    if page.is_dir() or not page.parent.is_dir():
        problem = "is a directory" if page.is_dir() else "cannot be written (its directory does not exist)"
        raise UnreadableLogError(str(page), problem, remedy=_ANOTHER_PAGE)
    logs = (Path(source.path) for source in sources if source.path != STDIN)
    if page.exists() and any(log.exists() and page.samefile(log) for log in logs):
        raise UnreadableLogError(str(page), "is the log; the page would replace it", remedy=_ANOTHER_PAGE)


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        problem = f"cannot be written ({error.strerror})"
        raise UnreadableLogError(str(path), problem, remedy=_ANOTHER_PAGE) from error


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "promptcache diagnose",
        description="Say why the requests of logs missed the prompt cache, where, and what it cost. "
        "Exit: 0 nothing breaks a prefix, 1 something does, 2 could not run.",
        epilog="Formats: " + "; ".join(f"{known.name} ({known.about})" for known in reversed(FORMATS)) + ".",
    )
    parser.add_argument(
        "logs",
        metavar="LOG.jsonl",
        nargs="+",
        help="JSON lines or a JSON array, also gzipped; a folder: all of its logs; - for stdin",
    )
    parser.add_argument(
        "--format", choices=[known.name for known in FORMATS], help="default: seen from the log"
    )
    parser.add_argument("--output-format", choices=("text", "json"), default="text")
    parser.add_argument("--html", metavar="FILE", type=Path, help="also write the report as one HTML file")
    parser.add_argument("--templates", metavar="N", type=int, default=10, help="templates shown (default 10)")
    parser.add_argument("--quiet", action="store_true", help="no progress")
    return parser
