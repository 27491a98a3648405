"""The linter: finds what breaks a prompt's prefix in source, before it ships.

Pipeline: files → readers → prompts (ordered segments, each with its stability) → rules → findings → formats.
"""

from __future__ import annotations

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
