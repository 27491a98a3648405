"""The value types of detection: a volatile span, and a candidate on its way to becoming one."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple


@dataclass(frozen=True, slots=True)
class VolatileSpan:
    """A stretch of text that will be different next time.

    ``text[start:end]`` in code points; ``code`` is the cause; ``kind`` names the shape (``"uuid"``);
    ``labelled`` is true when the words around say that the value is the current one ("now", "today's date").
    """

    start: int
    end: int
    code: str
    kind: str
    text: str
    labelled: bool = False


class Grade(IntEnum):
    """How much a shape proves by itself."""

    PLAIN = 0
    """Enough alone, unless the words around call it an example or a fact."""
    HINT = 1
    """Found only beside a label; masked, and believed when it differs between two texts."""
    WEAK = 2
    """Masked or believed only beside a label: a bare ``18:05`` may be an opening hour."""


class Candidate(NamedTuple):
    """A shape in a text, before the words around it were weighed."""

    start: int
    end: int
    code: str
    kind: str
    grade: Grade
