"""Reads a log of any size, an object at a time: JSON lines, a JSON array, or either compressed with gzip.

What is no JSON is told by its line and passed over; one bad line must not cost the report. Nothing is held
but the line being read. What an object means is `formats`' business.
"""

from __future__ import annotations

import codecs
import gzip
import json
import sys
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import orjson

from promptcache.errors import PromptCacheError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_CHUNK = 1 << 20
_LONGEST_LINE = 256 << 20
_GZIP = b"\x1f\x8b"
_BOM = codecs.BOM_UTF8
_SPACE = " \t\r\n,"


class UnreadableLogError(PromptCacheError):
    """A log that cannot be opened or read; ``path`` is the file."""

    def __init__(self, path: str, problem: str) -> None:
        super().__init__(f"{path}: {problem}.", remedy="Name a file of JSON lines, or - for standard input.")
        self.path = path


@dataclass(frozen=True, slots=True)
class Line:
    """One entry of a log: where it stands (from 1), what it holds or what is wrong with it, and its bytes."""

    number: int
    value: Any = None
    problem: str | None = None
    size: int = 0


class _Unpacking(gzip.GzipFile):
    """A compressed log, which ends where its data are damaged or cut short.

    Attributes:
        damaged: whether it ended so.
    """

    damaged = False

    def readline(self, size: int | None = -1) -> bytes:
        """As of any file."""
        try:
            return super().readline(size)
        except (EOFError, gzip.BadGzipFile, zlib.error):
            self.damaged = True
            return b""

    def read(self, size: int | None = -1) -> bytes:
        """As of any file."""
        try:
            return super().read(size)
        except (EOFError, gzip.BadGzipFile, zlib.error):
            self.damaged = True
            return b""


def read_log(path: str, on_progress: Callable[[int], None] = lambda _: None) -> Iterator[Line]:
    """Yield a log's entries.

    Args:
        path: a file, or ``-`` for standard input.
        on_progress: called now and then with the bytes read so far (of the file as it lies on disk).

    Raises:
        UnreadableLogError: the file cannot be opened or read.
    """
    try:
        raw: IO[bytes] = sys.stdin.buffer if path == "-" else Path(path).open("rb")  # noqa: SIM115 - closed below
    except OSError as error:
        raise UnreadableLogError(path, error.strerror or "cannot be opened") from error
    try:
        start = raw.peek(2)[:2] if hasattr(raw, "peek") else b""
        if start != _GZIP:
            yield from _entries(raw, raw, on_progress)
            return
        unpacking, number = _Unpacking(fileobj=raw), 0
        for line in _entries(unpacking, raw, on_progress):
            number = line.number
            yield line
        if unpacking.damaged and not number:
            raise UnreadableLogError(path, "its compressed data are damaged")
        if unpacking.damaged:
            yield Line(number + 1, problem="the compressed data are damaged or cut short here")
    except OSError as error:
        raise UnreadableLogError(path, str(error.strerror or error)) from error
    finally:
        if raw is not sys.stdin.buffer:
            raw.close()


def _entries(
    stream: IO[bytes] | _Unpacking, raw: IO[bytes], on_progress: Callable[[int], None]
) -> Iterator[Line]:
    first = stream.readline(_LONGEST_LINE)
    first = first.removeprefix(_BOM)
    if first.lstrip().startswith(b"[") and not _is_json(first):
        yield from _array(first, stream, raw, on_progress)
        return
    number, line, told = 1, first, 0
    while line:
        text = line.strip()
        if text:
            yield from _unpacked(_parse(number, text))
        number += 1
        line = stream.readline(_LONGEST_LINE)
        if number % 256 == 0 and (read := _position(raw)) > told:
            told = read
            on_progress(read)


def _unpacked(line: Line) -> Iterator[Line]:
    """A line that is itself a list holds an entry for each of its items."""
    if isinstance(line.value, list):
        for value in line.value:
            yield Line(line.number, value, size=line.size // max(1, len(line.value)))
    else:
        yield line


def _parse(number: int, text: bytes) -> Line:
    try:
        return Line(number, orjson.loads(text), size=len(text))
    except orjson.JSONDecodeError:
        pass
    try:
        return Line(
            number, json.loads(text), size=len(text)
        )  # NaN, lone surrogates: what other writers let through
    except (ValueError, RecursionError):
        cut = " (the line is longer than what is read at once)" if len(text) >= _LONGEST_LINE - 1 else ""
        return Line(number, problem=f"not JSON{cut}")


def _is_json(text: bytes) -> bool:
    return _parse(1, text.strip()).problem is None


def _array(
    first: bytes, stream: IO[bytes] | _Unpacking, raw: IO[bytes], on_progress: Callable[[int], None]
) -> Iterator[Line]:
    """The items of an array that spreads over many lines; each is numbered by the line it begins on."""
    decoder = json.JSONDecoder()
    utf8 = codecs.getincrementaldecoder("utf-8")("replace")
    text = utf8.decode(first.lstrip()[1:])
    number = 1 + first[: first.find(b"[")].count(b"\n")
    while True:
        stripped = text.lstrip(_SPACE)
        number += text[: len(text) - len(stripped)].count("\n")
        text = stripped
        if text.startswith("]"):
            return
        try:
            value, end = decoder.raw_decode(text) if text else (None, 0)
        except (ValueError, RecursionError):
            end = 0
        if end and end < len(text):
            yield Line(number, value, size=end)
            number += text[:end].count("\n")
            text = text[end:]
            continue
        more = stream.read(max(_CHUNK, len(text)))
        on_progress(_position(raw))
        if not more:
            if text:
                yield Line(number, problem="not JSON (the array does not end)")
            return
        text += utf8.decode(more)


def _position(raw: IO[bytes]) -> int:
    try:
        return raw.tell()
    except OSError:
        return 0
