"""The linter's errors, in one tree below the SDK's root.

    LintError(PromptCacheError)
    ├── MissingPathError      a path that was asked for does not exist
    ├── UnknownSelectorError  --select or --ignore names no known code
    ├── ConfigurationError    a configuration file, or a key in it, is wrong
    ├── BaselineError         a baseline that is missing or no baseline
    ├── RenderError           `verify` could not render the request
    └── UnreadableFileError   a file that cannot be decoded or parsed (becomes a PC900 finding)
        ├── MissingExtraError it needs an extra that is not installed (a note, once in a run)
        └── InternalError     the linter itself failed on it

Every error carries the data it speaks of and a ``remedy``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from promptcache.errors import PromptCacheError

if TYPE_CHECKING:
    from pathlib import Path

__all__ = [
    "BaselineError",
    "ConfigurationError",
    "InternalError",
    "LintError",
    "MissingExtraError",
    "MissingPathError",
    "RenderError",
    "UnknownSelectorError",
    "UnreadableFileError",
]


class LintError(PromptCacheError):
    """Root of what the linter raises on purpose; ``remedy`` says what to do next."""


class MissingPathError(LintError):
    """A path that was asked for does not exist; ``path`` is how it was written."""

    def __init__(self, path: str) -> None:
        super().__init__(f"{path}: no such file or folder.", remedy="Check the spelling of the path.")
        self.path = path


class UnknownSelectorError(LintError):
    """A selector that no rule's code begins with; ``selector`` is how it was written."""

    def __init__(self, selector: str) -> None:
        super().__init__(
            f"{selector!r} selects no rule.", remedy="List the codes that exist with `promptcache rule`."
        )
        self.selector = selector


class ConfigurationError(LintError):
    """A configuration file is wrong: ``file``, the ``key`` in it ("" for the whole file), the ``problem``."""

    def __init__(self, file: Path, key: str, problem: str, *, remedy: str) -> None:
        where = f"{file}: {key}" if key else f"{file}"
        super().__init__(f"{where}: {problem}", remedy=remedy)
        self.file = file
        self.key = key
        self.problem = problem


class BaselineError(LintError):
    """A baseline that cannot be used; ``file`` is the one that was asked for."""

    def __init__(self, file: Path, problem: str, *, remedy: str) -> None:
        super().__init__(f"{file}: {problem}", remedy=remedy)
        self.file = file
        self.problem = problem


class RenderError(LintError):
    """The request of ``target`` (``module:function``) could not be rendered; ``problem`` says why."""

    def __init__(self, target: str, problem: str, *, remedy: str = "") -> None:
        super().__init__(f"{target}: {problem}", remedy=remedy)
        self.target = target
        self.problem = problem


class UnreadableFileError(LintError):
    """A file that cannot be decoded or parsed; ``row`` and ``column`` are from 1."""

    def __init__(self, problem: str, *, row: int = 1, column: int = 1) -> None:
        super().__init__(problem, remedy="Correct the file, or exclude it.")
        self.problem = problem
        self.row = row
        self.column = column


class MissingExtraError(UnreadableFileError):
    """A kind of file can be read only with an extra of the distribution; ``extra`` is its name."""

    def __init__(self, kind: str, extra: str) -> None:
        install = f"pip install 'promptcache[{extra}]'"
        super().__init__(f"{kind} files are skipped: their reader is not installed.")
        self.remedy = f"Install it with `{install}`."
        self.extra = extra


class InternalError(UnreadableFileError):
    """The linter met a fault of its own while it checked a file; ``kind`` is the exception's class.

    The exception's words are left out: they may quote the file.
    """

    def __init__(self, error: Exception) -> None:
        kind = type(error).__name__
        super().__init__(
            f"Could not be checked: internal error of kind {kind}; please report it. Other files are checked."
        )
        self.kind = kind
