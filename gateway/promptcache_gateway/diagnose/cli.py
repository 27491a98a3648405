"""``promptcache diagnose LOG.jsonl``: why a log's requests missed the cache, where, and what it cost.

Reads a file of any size once, an entry at a time. Progress goes to standard error, the report to standard
output, and a page for a browser to the file that ``--html`` names.
"""

from __future__ import annotations

import argparse
import gc
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from promptcache.cli.output import show, show_json
from promptcache.cli.style import Style
from promptcache.errors import MalformedRequestError, PromptCacheError
from promptcache_gateway.diagnose.counted import Counted
from promptcache_gateway.diagnose.exchange import NotUnderstoodError
from promptcache_gateway.diagnose.formats import FORMATS, LogReader
from promptcache_gateway.diagnose.lines import UnreadableLogError, read_log
from promptcache_gateway.diagnose.ordering import TimeOrder
from promptcache_gateway.diagnose.replay import Replay
from promptcache_gateway.diagnose.report_html import render
from promptcache_gateway.diagnose.report_text import describe
from promptcache_gateway.diagnose.summary import Summary

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from promptcache_gateway.diagnose.ordering import Placed
    from promptcache_gateway.diagnose.patterns import Pattern
    from promptcache_gateway.diagnose.replay import Judged

NOTHING: Final = 0
FAULTS: Final = 1
COULD_NOT_RUN: Final = 2

_EVERY_S = 0.5
_ALLOCATIONS = 100_000
_ANOTHER_PAGE = "Name another file for the page."


def main(argv: Sequence[str] | None = None) -> int:
    """Diagnose a log.

    Returns 0 when nothing in it breaks a prefix, 1 when something its callers do does, 2 when it could not be
    read or holds no request.
    """
    options = _parser().parse_args(argv)
    reader, summary = (
        LogReader(options.format),
        Summary("standard input" if options.log == "-" else options.log),
    )
    try:
        _check_page(options)
        with _seldom_collected():
            diagnose_log(options.log, reader, summary, _progress(options))
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
        print("promptcache diagnose: the log holds no request of a known form.", file=sys.stderr)
        return COULD_NOT_RUN
    return FAULTS if summary.faults else NOTHING


def diagnose_log(
    path: str, reader: LogReader, summary: Summary, on_progress: Callable[[int], None] = lambda _: None
) -> None:
    """Read a log and add what it shows to a summary.

    Raises:
        UnreadableLogError: the log cannot be read.
    """
    judge, order, number = _Judge(Replay(), summary), TimeOrder(), 0
    for line in read_log(path, on_progress):
        number = line.number
        summary.mended_lines += line.mended
        if line.problem is not None:
            summary.add_bad(number, line.problem)
            continue
        try:
            size = line.size  # of all that it holds
            for exchange in reader.read(line.value):
                judge(order.add(number, exchange, size))
                size = 0
        except NotUnderstoodError as error:
            summary.add_bad(number, str(error))
    for exchange in reader.end():
        judge(order.add(number, exchange, 0))
    judge(order.rest())
    judge.end()


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


def _progress(options: argparse.Namespace) -> Callable[[int], None]:
    """Tells a terminal how far the reading is, twice a second."""
    if options.quiet or not sys.stderr.isatty():
        return lambda _: None
    try:
        size = Path(options.log).stat().st_size if options.log != "-" else 0
    except OSError:
        size = 0
    last = 0.0

    def tell(read: int) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= _EVERY_S:
            last = now
            share = f" of {size / 1e6:,.0f} MB ({read / size:.0%})" if size else " MB"
            print(f"\r  read {read / 1e6:,.0f}{share} ", end="", file=sys.stderr, flush=True)

    return tell


def _check_page(options: argparse.Namespace) -> None:
    """Refuse before a long log is read what cannot be written after it, and the log itself."""
    page: Path | None = options.html
    if page is None:
        return
    if page.is_dir() or not page.parent.is_dir():
        problem = "is a directory" if page.is_dir() else "cannot be written (its directory does not exist)"
        raise UnreadableLogError(str(page), problem, remedy=_ANOTHER_PAGE)
    if options.log != "-" and page.exists() and Path(options.log).exists() and page.samefile(options.log):
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
        description="Say why the requests of a log missed the prompt cache, where, and what it cost. "
        "Exit: 0 nothing breaks a prefix, 1 something does, 2 could not run.",
        epilog="Formats: " + "; ".join(f"{known.name} ({known.about})" for known in reversed(FORMATS)) + ".",
    )
    parser.add_argument(
        "log", metavar="LOG.jsonl", help="JSON lines or a JSON array, also gzipped; - for stdin"
    )
    parser.add_argument(
        "--format", choices=[known.name for known in FORMATS], help="default: seen from the log"
    )
    parser.add_argument("--output-format", choices=("text", "json"), default="text")
    parser.add_argument("--html", metavar="FILE", type=Path, help="also write the report as one HTML file")
    parser.add_argument("--templates", metavar="N", type=int, default=10, help="templates shown (default 10)")
    parser.add_argument("--quiet", action="store_true", help="no progress")
    return parser
