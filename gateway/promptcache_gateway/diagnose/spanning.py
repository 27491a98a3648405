"""Values of JSON that spread over lines: the items of arrays, or objects one after the other.

Only the value being read is held. One that is no JSON is told by the line on which it is wrong, and reading
goes on with the next that is indented like it. Files whose lines are values are `lines`' business.
"""

from __future__ import annotations

import codecs
import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from promptcache.quick_values import quick

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

LONGEST = 256 << 20
"""Bytes of a line, characters of a value over several, that are read at once."""
_CHUNK = 1 << 20
_SPACE = re.compile(r"[ \t\r\n,]*")
_OPENS = re.compile(r"\[[ \t\r\n]*(?:[\[{\]]|$)")
"""An array of values that may be entries: `[12:00] started` is none."""
_BAD_BYTE = re.compile("[\udc80-\udcff]")
_CUT_CHARS = 16  # so near the end of what was read, half a word or number looks like a mistake


@quick
@dataclass(frozen=True, slots=True)
class Line:
    """One entry of a log: where it stands (from 1), what it holds or what is wrong with it, and its bytes.

    ``mended``: some of those are no UTF-8, and stand in the value as U+FFFD.
    """

    number: int
    value: Any = None
    problem: str | None = None
    size: int = 0
    mended: bool = False


class Spanning:
    """Yields a `Line` for each value; its number is that of the line on which the value begins.

    Args:
        read: gives up to so many bytes more, none at the end.
        first: bytes that were read already.
        number: the line they begin on.
        array: they are items of an array, whose bracket is not in ``first`` any more.
    """

    def __init__(self, read: Callable[[int], bytes], first: bytes, number: int, *, array: bool) -> None:
        self._read = read
        self._decoder = json.JSONDecoder()
        # A byte that is no UTF-8 is held as one of U+DC80 to U+DCFF, which no text that is UTF-8 holds.
        self._utf8 = codecs.getincrementaldecoder("utf-8")("surrogateescape")
        self._text, self._at = self._utf8.decode(first), 0
        self._mends = _BAD_BYTE.search(self._text) is not None  # from the first such byte on
        self._number = number
        self._array = array
        self._indent = ""
        self._between = False  # all that was read ends in the space before a value
        self._ended = False

    def __iter__(self) -> Iterator[Line]:
        while True:
            self._skip_space()
            if self._array and self._text.startswith("]", self._at):
                self._go_to(self._at + 1)
                self._array = False  # what stands behind it is read as well
            elif not self._array and (opens := _OPENS.match(self._text, self._at)) is not None:
                if opens.end() == len(self._text) and not self._ended:
                    self._more()
                else:
                    self._go_to(self._at + 1)
                    self._array = True
            elif self._at < len(self._text):
                line = self._take()
                if line is not None:
                    yield line
            elif self._ended:
                if self._array:
                    yield Line(self._number, problem=self._cut())
                return
            else:
                self._more()

    def _take(self) -> Line | None:
        """The next value or what is wrong with it; None: more had to be read first."""
        try:
            value, end = self._decoder.raw_decode(self._text, self._at)
        except json.JSONDecodeError as error:
            if not self._is_cut(error):
                return self._pass_over(error.pos, "not JSON")
        except RecursionError:
            return self._pass_over(self._at, "not JSON (nested too deeply)")
        else:
            if end < len(self._text) or self._ended:
                line = self._line(value, end)
                self._go_to(end)
                return line
        if len(self._text) - self._at >= LONGEST:
            return self._pass_over(self._at, "not JSON (the value is longer than what is read at once)")
        if not self._ended:
            self._more()
            return None
        line = Line(self._number, problem=self._cut())
        self._go_to(len(self._text))
        self._array = False  # it has been said that it does not end
        return line

    def _line(self, value: object, end: int) -> Line:
        size = end - self._at
        if not self._mends or _BAD_BYTE.search(self._text, self._at, end) is None:
            return Line(self._number, value, size=size)
        mended, _ = self._decoder.raw_decode(_BAD_BYTE.sub("\ufffd", self._text[self._at : end]))
        return Line(self._number, mended, size=size, mended=True)

    def _cut(self) -> str:
        return f"not JSON (the {'array' if self._array else 'object'} does not end)"

    def _is_cut(self, error: json.JSONDecodeError) -> bool:
        """Whether only the end of the value is missing."""
        known = len(self._text.rstrip()) if self._ended else len(self._text) - _CUT_CHARS
        return error.msg.startswith("Unterminated string") or error.pos >= known

    def _pass_over(self, at: int, problem: str) -> Line:
        """The problem of the next value, which is wrong at some character; goes on behind the value."""
        begins, wrong = self._number, self._number + self._text.count("\n", self._at, at)
        mark, last = f"\n{self._indent}{{", ""
        while (found := self._text.find(mark, self._at)) < 0:
            last = self._text[self._at :].rstrip()[-1:] or last
            if self._ended:
                self._array = self._array and last != "]"
                self._go_to(len(self._text))
                return Line(wrong, problem=problem)
            self._go_to(max(self._at, len(self._text) - len(mark)))
            self._more()
        self._go_to(found + 1)
        return Line(wrong if wrong < self._number else begins, problem=problem)

    def _skip_space(self) -> None:
        space = _SPACE.match(self._text, self._at)
        if space is not None and "\n" in space[0]:
            self._indent = space[0].rpartition("\n")[2]
        elif space is not None and self._between:
            self._indent += space[0]
        self._between = space is not None and space.end() == len(self._text)
        self._go_to(self._at if space is None else space.end())

    def _go_to(self, at: int) -> None:
        self._number += self._text.count("\n", self._at, at)
        self._at = at

    def _more(self) -> None:
        """Read on, as much again as is held, so that a long value is not looked at too often."""
        held = self._text[self._at :]
        more = self._read(max(_CHUNK, len(held)))
        self._ended = not more
        text = self._utf8.decode(more, final=self._ended)
        self._mends = self._mends or _BAD_BYTE.search(text) is not None
        self._text, self._at = held + text, 0
