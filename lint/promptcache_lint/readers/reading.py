"""What a reader gets and gives: a file's source and where it stands, and the prompts found in it."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from promptcache_lint.places import Source
from promptcache_lint.project_names import ProjectNames

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from promptcache_lint.places import Place
    from promptcache_lint.prompts import Prompt
    from promptcache_lint.rulebook import Vocabulary

__all__ = ["Forgetful", "InputFile", "Reader", "Workspace"]


@dataclass(frozen=True)
class InputFile:
    """A file to read. ``path`` is absolute; ``source`` carries the text and the path shown in reports.

    ``asked``: the user named this very file, so it is a prompt even where its name does not say so.
    """

    path: Path
    source: Source
    asked: bool = False


@dataclass
class Workspace:
    """What readers share in one run: the vocabulary, the roots of the trees, and modules read on the way.

    ``display`` turns an absolute path into the one shown in reports.
    """

    vocabulary: Vocabulary
    roots: tuple[Path, ...]
    base: Path
    shared: dict[str, object] = field(default_factory=dict)

    @cached_property
    def names(self) -> ProjectNames:
        """What files are called in their projects."""
        return ProjectNames(self.roots)

    def display(self, path: Path) -> str:
        """The path as reports show it: relative to the working directory where it lies below it."""
        try:
            return path.relative_to(self.base).as_posix()
        except ValueError:
            return path.as_posix()

    def source(self, path: Path, text: str) -> Source:
        """The text of the file at ``path``, under the path shown, and under its name in its project."""
        return Source(self.display(path), text, self.names.of(path))


@runtime_checkable
class Forgetful(Protocol):
    """What readers share, where its parts refer to each other, so that it does not free itself."""

    def forget(self) -> None:
        """Let go of everything."""
        ...


class Reader(Protocol):
    """Reads files of one kind. Raises `UnreadableFileError` for a file that is not what its name says."""

    def read(self, file: InputFile, workspace: Workspace) -> Iterable[Prompt]:
        """The prompts in ``file``."""
        ...

    def comments(self, source: Source) -> Iterable[tuple[Place, str]]:
        """The comments in ``source`` that may hold suppressions, with their places."""
        ...
