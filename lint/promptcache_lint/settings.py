"""What a run is asked to do: which codes, which severities, which files. Checked when it is made."""

from __future__ import annotations

from dataclasses import dataclass

from promptcache.causes import CAUSES
from promptcache_lint.errors import UnknownSelectorError
from promptcache_lint.findings import Severity

__all__ = ["Settings"]


@dataclass(frozen=True)
class Settings:
    """Selectors are codes or beginnings of codes (``PC1``, ``PC101``); ``ignore`` wins over ``select``.

    ``severity`` is the least severity to report. ``exclude`` holds patterns as in ``.gitignore``;
    ``respect_gitignore`` says whether the tree's own are obeyed. Raises `UnknownSelectorError`.
    """

    select: tuple[str, ...] = ("PC",)
    ignore: tuple[str, ...] = ()
    severity: Severity = Severity.WARNING
    exclude: tuple[str, ...] = ()
    respect_gitignore: bool = True

    def __post_init__(self) -> None:
        for selector in (*self.select, *self.ignore):
            if not selector or not any(code.startswith(selector.upper()) for code in CAUSES):
                raise UnknownSelectorError(selector)

    def selects(self, code: str) -> bool:
        """Whether findings with ``code`` are wanted."""
        wanted = any(code.startswith(selector.upper()) for selector in self.select)
        return wanted and not any(code.startswith(selector.upper()) for selector in self.ignore)
