"""The linter: finds what breaks a prompt's prefix in source, before it ships.

Pipeline: files → readers → prompts (ordered segments, each with its stability) → rules → findings → formats.
Names are imported when they are first used: `verify` starts processes that must load next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from promptcache_lint.errors import LintError, MissingPathError, UnknownSelectorError
    from promptcache_lint.findings import Finding, Severity
    from promptcache_lint.places import Place
    from promptcache_lint.run import LintReport, lint_paths, lint_text
    from promptcache_lint.settings import Settings

__all__ = [
    "Finding",
    "LintError",
    "LintReport",
    "MissingPathError",
    "Place",
    "Settings",
    "Severity",
    "UnknownSelectorError",
    "lint_paths",
    "lint_text",
]

_HOMES = {
    **dict.fromkeys(("LintError", "MissingPathError", "UnknownSelectorError"), "errors"),
    **dict.fromkeys(("Finding", "Severity"), "findings"),
    **dict.fromkeys(("LintReport", "lint_paths", "lint_text"), "run"),
    "Place": "places",
    "Settings": "settings",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return __all__
