"""A text that comes in pieces, held in little more memory than the text itself takes."""

from __future__ import annotations

_MANY = 128


class Joined:
    """Gathers pieces of a text, of which many may be of a character: an object each would be most of it."""

    __slots__ = ("_few", "_runs")

    def __init__(self) -> None:
        self._runs: list[str] = []
        self._few: list[str] = []

    def add(self, piece: str) -> None:
        """One more piece."""
        self._few.append(piece)
        if len(self._few) >= _MANY:
            self._runs.append("".join(self._few))
            self._few.clear()

    @property
    def last(self) -> str:
        """The last piece, or the last that were joined; empty where none came."""
        pieces = self._few or self._runs
        return pieces[-1] if pieces else ""

    def text(self) -> str:
        """All of it."""
        return "".join([*self._runs, *self._few])

    def take(self) -> str:
        """All of it, which is no longer held."""
        if not self._runs and len(self._few) == 1:
            return self._few.pop()
        text = self.text()
        self._runs.clear()
        self._few.clear()
        return text

    def __bool__(self) -> bool:
        return bool(self._few or self._runs)
