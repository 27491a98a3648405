"""Colour for people, none for programs: the few styles the commands use."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TextIO


@dataclass(frozen=True, slots=True)
class Style:
    """Wraps text in terminal codes, or leaves it as it is when ``enabled`` is false."""

    enabled: bool

    @classmethod
    def for_stream(cls, stream: TextIO) -> Style:
        """Colour only a terminal, and not one that asked for none (NO_COLOR, TERM=dumb)."""
        plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
        return cls(stream.isatty() and not plain)

    def bold(self, text: str) -> str:
        """Set ``text`` in bold."""
        return self._wrap("1", text)

    def dim(self, text: str) -> str:
        """Set ``text`` back."""
        return self._wrap("2", text)

    def red(self, text: str) -> str:
        """Colour what is wrong or went away."""
        return self._wrap("31", text)

    def green(self, text: str) -> str:
        """Colour what is right or came in."""
        return self._wrap("32", text)

    def cyan(self, text: str) -> str:
        """Colour codes and paths."""
        return self._wrap("36", text)

    def _wrap(self, code: str, text: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self.enabled else text
