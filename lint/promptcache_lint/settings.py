"""What a run is asked to do: which codes, which severities, which files, and what a project declares.

Settings are values, checked when they are made. Where they are written down is `configuration`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pathspec import GitIgnoreSpec

from promptcache.causes import CAUSES
from promptcache_lint.errors import UnknownSelectorError
from promptcache_lint.findings import Severity

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["Settings", "SettingsOf", "same_everywhere"]


@dataclass(frozen=True)
class Settings:
    """Selectors are codes or beginnings of codes (``PC1``, ``PC101``); ``ignore`` wins over ``select``.

    ``severity`` is the least severity to report. ``exclude`` holds patterns as in ``.gitignore``;
    ``respect_gitignore`` says whether the tree's own are obeyed. ``per_file_ignores`` pairs such patterns
    with selectors. Patterns are relative to ``root``, where there is one, else to the folder that is walked.

    What a project declares: ``sources``, dotted names of calls with the code of the fault their results
    bring; ``sinks``, dotted names of calls that send a prompt; ``volatile_names``, names (or regular
    expressions for them) with a code; ``static_names``, names and calls that are never volatile.

    ``fixes``: whether to work out fixes. Raises `UnknownSelectorError`.
    """

    select: tuple[str, ...] = ("PC",)
    ignore: tuple[str, ...] = ()
    severity: Severity = Severity.WARNING
    exclude: tuple[str, ...] = ()
    respect_gitignore: bool = True
    per_file_ignores: tuple[tuple[str, tuple[str, ...]], ...] = ()
    sources: tuple[tuple[str, str], ...] = ()
    sinks: tuple[str, ...] = ()
    volatile_names: tuple[tuple[str, str], ...] = ()
    static_names: tuple[str, ...] = ()
    root: Path | None = None
    baseline: Path | None = None
    fixes: bool = False

    def __post_init__(self) -> None:
        ignored = (code for _, codes in self.per_file_ignores for code in codes)
        for selector in (*self.select, *self.ignore, *ignored):
            if not selector or not any(code.startswith(selector.upper()) for code in CAUSES):
                raise UnknownSelectorError(selector)

    def selects(self, code: str) -> bool:
        """Whether findings with ``code`` are wanted."""
        wanted = any(code.startswith(selector.upper()) for selector in self.select)
        return wanted and not any(code.startswith(selector.upper()) for selector in self.ignore)

    def in_file(self, path: Path) -> Settings:
        """The settings for one file: with what is ignored in it."""
        if not self.per_file_ignores:
            return self
        inside = self.root is not None and path.is_relative_to(self.root)
        name = path.relative_to(self.root).as_posix() if inside and self.root else path.as_posix().lstrip("/")
        ignored = [
            code
            for pattern, codes in self.per_file_ignores
            for code in codes
            if GitIgnoreSpec.from_lines([pattern]).match_file(name)
        ]
        return replace(self, ignore=(*self.ignore, *ignored)) if ignored else self

    def fingerprint(self) -> str:
        """What of the settings decides about the findings in a file, as text."""
        decisive = replace(self, severity=Severity.INFO, exclude=(), respect_gitignore=True, baseline=None)
        return repr(decisive)


class SettingsOf:
    """The settings that hold in a folder; this one, everywhere the same."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def folder(self, folder: Path) -> Settings:  # noqa: ARG002 - the same everywhere
        """The settings for what lies in ``folder``, an absolute path."""
        return self._settings


def same_everywhere(settings: Settings | SettingsOf | None) -> SettingsOf:
    """Settings, or none, as settings of every folder."""
    if isinstance(settings, SettingsOf):
        return settings
    return SettingsOf(settings or Settings())
