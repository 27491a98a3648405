"""Tool calls read out of an answer's text while it comes, their arguments as the model wrote them.

A call's JSON is followed, not parsed: what has been written of its arguments is passed on at once. That the
text is well-formed is the grammar's business; a call that was cut off by the limit stays as far as it came.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from promptcache_gateway.upstreams.tool_formats import ToolFormat


@dataclass(frozen=True, slots=True)
class Content:
    """Text for the caller to read."""

    text: str


@dataclass(frozen=True, slots=True)
class CallBegun:
    """A call, from the moment its name is known; ``index`` counts them from 0."""

    index: int
    name: str


@dataclass(frozen=True, slots=True)
class CallArguments:
    """The next piece of a call's arguments, as JSON text."""

    index: int
    text: str


Part: TypeAlias = Content | CallBegun | CallArguments


class PlainReader:
    """Reads an answer in which nothing is called."""

    calls = 0
    in_call = False

    def push(self, text: str) -> list[Part]:
        """The text as it is."""
        return [Content(text)] if text else []

    def finish(self) -> list[Part]:
        """Nothing is held back."""
        return []


class WholeCallReader:
    """Reads an answer that a stop string may end within a call: each call is passed on once it is complete.

    Args:
        inner: reads the calls.
    """

    def __init__(self, inner: CallReader) -> None:
        self._inner = inner
        self._open: list[Part] = []

    @property
    def calls(self) -> int:
        """How many have begun."""
        return self._inner.calls

    @property
    def in_call(self) -> bool:
        """Whether the text ends within a call."""
        return self._inner.in_call

    def push(self, text: str) -> list[Part]:
        """What ``text`` adds, without what belongs to a call that is not complete."""
        parts: list[Part] = []
        for char in text:
            self._open += self._inner.push(char)
            if not self._inner.in_call:
                parts += self._open
                self._open.clear()
        return _joined(parts)

    def finish(self) -> list[Part]:
        """What was held back, when no more text comes: of a call too, as far as it came."""
        held, self._open = self._open, []
        return _joined(held + self._inner.finish())


class CallReader:
    """Reads an answer that may hold calls.

    Args:
        style: how the model writes them.
        forced: the answer is calls and nothing else, so that a mark cut off within is no text.

    Attributes:
        calls: how many have begun.
    """

    def __init__(self, style: ToolFormat, *, forced: bool = False) -> None:
        self._style = style
        self._forced = forced
        self._held = ""
        self._inside = False
        self._plain = False
        self._call: _Call | None = None
        self._told = False
        self.calls = 0

    @property
    def in_call(self) -> bool:
        """Whether the text ends within a call."""
        return self._call is not None

    def push(self, text: str) -> list[Part]:
        """What ``text`` adds."""
        parts: list[Part] = []
        for char in text:
            if self._call is not None:
                self._follow(self._call, char, parts)
            elif self._inside:
                self._between(char)
            else:
                self._outside(char, parts)
        return _joined(parts)

    def finish(self) -> list[Part]:
        """What was held back as a possible begin of a call, when no more text comes."""
        held, self._held = self._held, ""
        if self._forced or self._inside or (self.calls and held.isspace()):
            return []
        return [Content(held)] if held else []

    def _outside(self, char: str, parts: list[Part]) -> None:
        """Text: held back while it may be the mark of a call, or white space before one."""
        if self._plain:
            parts.append(Content(char))
            return
        self._held += char
        mark = self._style.begin
        if not mark:
            self._open_bare(parts)
        elif self._held.endswith(mark):
            before = self._held[: -len(mark)]
            if before.strip():
                parts.append(Content(before))
            self._held, self._inside = "", True
        else:
            keep = _overlap(self._held, mark)
            if keep == len(self._held) or not self._held.strip():
                return
            spaces = len(self._held) - keep - len(self._held[: len(self._held) - keep].rstrip())
            cut = len(self._held) - keep - spaces
            if cut:
                parts.append(Content(self._held[:cut]))
                self._held = self._held[cut:]

    def _open_bare(self, parts: list[Part]) -> None:
        """Where nothing marks a call, an answer that begins with a brace is one."""
        start = self._held.lstrip()
        if not start:
            return
        held, self._held = self._held, ""
        if start == "{":
            self._inside = True
            self._between("{")
        else:
            self._plain = True
            parts.append(Content(held))

    def _between(self, char: str) -> None:
        """Inside the marks, outside a call: brackets, separators, or the closing mark."""
        if char == "{":
            self._call, self._told, self._held = _Call(self._style.arguments), False, ""
            self._call.feed(char)
            return
        self._held += char
        if self._style.end and self._held.endswith(self._style.end):
            self._held, self._inside = "", False

    def _follow(self, call: _Call, char: str, parts: list[Part]) -> None:
        call.feed(char)
        if call.name is not None:
            if not self._told:
                parts.append(CallBegun(self.calls, call.name))
                self.calls += 1
                self._told = True
            if call.pending:
                parts.append(CallArguments(self.calls - 1, call.pending))
                call.pending = ""
        if call.closed:
            self._call = None


def _overlap(text: str, mark: str) -> int:
    """Characters at the end of ``text`` with which ``mark`` begins."""
    return next((n for n in range(min(len(text), len(mark) - 1), 0, -1) if mark.startswith(text[-n:])), 0)


def _joined(parts: list[Part]) -> list[Part]:
    """Neighbours of one kind as one."""
    made: list[Part] = []
    for part in parts:
        last = made[-1] if made else None
        match (last, part):
            case (Content(), Content()):
                made[-1] = Content(last.text + part.text)
            case (CallArguments(), CallArguments()) if last.index == part.index:
                made[-1] = CallArguments(last.index, last.text + part.text)
            case _:
                made.append(part)
    return made


@dataclass(slots=True)
class _Call:
    """One ``{"name": …, "arguments": …}`` on its way.

    Attributes:
        arguments: the key whose value is passed on.
        name: once its string is closed.
        pending: what was read of the arguments and not yet passed on.
        closed: whether the object's last brace was read.
    """

    arguments: str
    name: str | None = None
    pending: str = ""
    closed: bool = False
    _depth: int = 0
    _in_string: bool = False
    _escaped: bool = False
    _key: str | None = None
    _raw: str = ""
    _spaces: str = field(default="")

    def feed(self, char: str) -> None:
        """Take the next character."""
        starts_value = self._depth == 1 and not self._in_string
        if self._in_string:
            self._in_string = self._escaped or char != '"'
            self._escaped = char == "\\" and not self._escaped
        elif char == '"':
            self._in_string = True
        elif char in "{[":
            self._depth += 1
            if self._depth == 1:
                return
        elif char in "}]":
            self._depth -= 1
        if starts_value and char in ",}" and self._depth <= 1:
            self._end_of_value()
            self.closed = self._depth == 0
        elif starts_value and char == ":" and self._key is None:
            self._key, self._raw = _string(self._raw), ""
        else:
            self._take(char)

    def _take(self, char: str) -> None:
        """A character of a key or a value; white space around them is none of theirs."""
        if not self._in_string and char.isspace() and self._depth == 1:
            self._spaces += char
            return
        text = (self._spaces if self._raw else "") + char
        self._spaces = ""
        self._raw += text
        if self._key == self.arguments:
            self.pending += text

    def _end_of_value(self) -> None:
        if self._key == "name":
            self.name = _string(self._raw)
        self._key, self._raw, self._spaces = None, "", ""


def _string(raw: str) -> str:
    try:
        value = json.loads(raw)
    except ValueError:
        return raw
    return value if isinstance(value, str) else raw
