"""One cause of a cache miss, as a value. The causes themselves stand beside this file, by family."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Cause:
    """A reason why a prompt misses its cache.

    ``code`` is stable for ever (``"PC101"``); ``name`` is the same in kebab-case words; ``title`` one line
    for lists; ``explanation`` says what happens and why it costs; ``remedy`` says what to do instead.
    """

    code: str
    name: str
    title: str
    explanation: str
    remedy: str

    @property
    def family(self) -> str:
        """The first three characters of the code: ``"PC1"`` for ``"PC101"``."""
        return self.code[:3]
