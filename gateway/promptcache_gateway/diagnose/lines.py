"""Reads a log of any size, an object at a time: JSON lines, JSON over several lines, or either with gzip.

What is no JSON is told by its line and passed over; one bad line must not cost the report. Nothing is held
but the line being read. Values that spread over lines are `spanning`'s business, what they mean `formats`'.
"""

from __future__ import annotations

import codecs
import gzip
import io
import json
import sys
import zlib
from pathlib import Path
from typing import IO, TYPE_CHECKING

import orjson

from promptcache.errors import PromptCacheError
from promptcache_gateway.diagnose.spanning import LONGEST, Line, Spanning

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from _typeshed import WriteableBuffer

_GZIP = b"\x1f\x8b"
_BOM = codecs.BOM_UTF8
_OTHERS = {b"\x28\xb5\x2f\xfd": "zstd", b"BZh": "bzip2", b"\xfd7zXZ": "xz", b"PK\x03\x04": "zip"}
_START = 6
_MOST_PACKED = 3  # times that a log may have been compressed: exports are, and then their transport's
_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_OPEN = (b"{", b"[", b",")
"""What the first line of an object ends with that goes on in the next."""


class UnreadableLogError(PromptCacheError):
    """A log that cannot be opened or read; ``path`` is the file, ``problem`` what is wrong with it."""

    def __init__(
        self, path: str, problem: str, remedy: str = "Name a file of JSON lines, or - for standard input."
    ) -> None:
        super().__init__(f"{path}: {problem}.", remedy=remedy)
        self.path = path
        self.problem = problem


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


class _Recoding(io.RawIOBase):
    """A log of UTF-16 as one of UTF-8."""

    def __init__(self, raw: IO[bytes] | _Unpacking) -> None:
        super().__init__()
        self._raw = raw
        self._decoder = codecs.getincrementaldecoder("utf-16")("replace")
        self._held = b""

    def readable(self) -> bool:
        """It is."""
        return True

    def read(self, size: int = -1) -> bytes:
        """Up to so many bytes, none at the end."""
        ended = False
        while not self._held and not ended:
            more = self._raw.read(1 << 16)
            ended = not more
            self._held = self._decoder.decode(more, final=ended).encode("utf-8", "surrogatepass")
        size = len(self._held) if size < 0 else size
        given, self._held = self._held[:size], self._held[size:]
        return given

    def readinto(self, buffer: WriteableBuffer) -> int:
        """As of any file."""
        view = memoryview(buffer)
        given = self.read(len(view))
        view[: len(given)] = given
        return len(given)


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
        stream: IO[bytes] | _Unpacking = raw
        unpacking: list[_Unpacking] = []
        while (start := _start(stream)).startswith(_GZIP) and len(unpacking) < _MOST_PACKED:
            stream = _Unpacking(fileobj=stream, mode="rb")
            unpacking.append(stream)
        _refuse_others(path, start)
        number = 0
        text = io.BufferedReader(_Recoding(stream)) if start[:2] in _UTF16 else stream
        for line in _entries(text, raw, on_progress):
            number = line.number
            yield line
        damaged = any(one.damaged for one in unpacking)
        if damaged and not number:
            raise UnreadableLogError(path, "its compressed data are damaged")
        if damaged:
            yield Line(number + 1, problem="the compressed data are damaged or cut short here")
    except OSError as error:
        raise UnreadableLogError(path, str(error.strerror or error)) from error
    finally:
        if raw is not sys.stdin.buffer:
            raw.close()


def _start(stream: IO[bytes] | _Unpacking) -> bytes:
    """The first bytes, which stay to be read."""
    if not hasattr(stream, "peek"):
        return b""
    try:
        return bytes(stream.peek(_START)[:_START])
    except (EOFError, gzip.BadGzipFile, zlib.error):
        return b""  # said when it is read


def _refuse_others(path: str, start: bytes) -> None:
    for mark, name in _OTHERS.items():
        if start.startswith(mark):
            raise UnreadableLogError(
                path,
                f"it is compressed with {name}, and only gzip is unpacked here",
                remedy="Unpack it, and name the file or pipe it in: UNPACK LOG | promptcache diagnose -",
            )


def _entries(
    stream: IO[bytes] | _Unpacking, raw: IO[bytes], on_progress: Callable[[int], None]
) -> Iterator[Line]:
    def read(size: int) -> bytes:
        more = stream.read(size)
        on_progress(_position(raw))
        return more

    number, line, told = 1, stream.readline(LONGEST).removeprefix(_BOM), 0
    while line:
        text = line.strip()
        if text:
            found = _parse(number, text)
            if found.problem is not None and _goes_on(text):
                yield from _spanning(read, line.lstrip(), number)
                return
            yield from _unpacked(found)
        number += 1
        line = stream.readline(LONGEST)
        if number % 256 == 0 and (done := _position(raw)) > told:
            told = done
            on_progress(done)


def _spanning(read: Callable[[int], bytes], start: bytes, number: int) -> Spanning:
    """The rest of a log, from a line on that begins a value which the line does not end."""
    array = start.startswith(b"[")
    return Spanning(read, start[1:] if array else start, number, array=array)


def _unpacked(line: Line) -> Iterator[Line]:
    """A line that is itself a list holds an entry for each of its items."""
    if isinstance(line.value, list):
        for at, value in enumerate(line.value):
            size, mended = line.size // max(1, len(line.value)), line.mended and not at
            yield Line(line.number, value, size=size, mended=mended)
    else:
        yield line


def _parse(number: int, text: bytes) -> Line:
    try:
        return Line(number, orjson.loads(text), size=len(text))
    except orjson.JSONDecodeError:
        pass
    try:
        return _parse_loosely(number, text.removeprefix(_BOM))  # files with marks of order were joined
    except (ValueError, RecursionError):
        cut = " (the line is longer than what is read at once)" if len(text) >= LONGEST - 1 else ""
        return Line(number, problem=f"not JSON{cut}")


def _parse_loosely(number: int, text: bytes) -> Line:
    """What other writers let through: NaN, lone surrogates, and now and then a byte that is no UTF-8."""
    try:
        return Line(number, json.loads(text), size=len(text))
    except UnicodeDecodeError:
        return Line(number, json.loads(text.decode("utf-8", "replace")), size=len(text), mended=True)


def _goes_on(first: bytes) -> bool:
    """Whether a line may begin a value that spreads over several: `[12:00] started` does not."""
    if first.startswith(b"["):
        return first[1:].lstrip()[:1] in {b"", b"{", b"[", b"]"}
    return first.startswith(b"{") and first.endswith(_OPEN)


def _position(raw: IO[bytes]) -> int:
    try:
        return raw.tell()
    except OSError:
        return 0
