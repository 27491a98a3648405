"""What a file is called in its project, wherever the linter was started: the path its names are judged by.

That is its path below the project's root: the nearest repository, or else the outermost folder with a
project's file. A home or the top of a file system is no project. Where there is none, the name of the folder
that was given comes first. What a name means is said elsewhere.
"""

from __future__ import annotations

from pathlib import Path

__all__ = ["ProjectNames"]

_FILES = ("pyproject.toml", "package.json", "promptcache.toml", "setup.py")


class ProjectNames:
    """Names of files; ``roots`` are the resolved folders that were given, or those of given files."""

    def __init__(self, roots: tuple[Path, ...]) -> None:
        self._roots = sorted(roots, key=lambda root: len(root.parts))
        self._home = _home()
        self._projects: dict[Path, tuple[Path | None, Path | None]] = {}

    def of(self, path: Path) -> str:
        """The name of the file at ``path`` (absolute), with slashes."""
        folder = path.parent
        repository, outermost = self._above(folder)
        project = repository or outermost
        if project is None:
            given = next((root for root in self._roots if path.is_relative_to(root)), folder)
            project = given.parent
        return path.relative_to(project).as_posix()

    def _above(self, folder: Path) -> tuple[Path | None, Path | None]:
        """The nearest repository that ``folder`` lies in, and the outermost folder with a project's file."""
        if folder not in self._projects:
            self._projects[folder] = self._look(folder)
        return self._projects[folder]

    def _look(self, folder: Path) -> tuple[Path | None, Path | None]:
        if folder in {self._home, folder.parent}:
            return None, None
        repository, outermost = self._above(folder.parent)
        if (folder / ".git").exists():
            repository = folder
        if outermost is None and any((folder / name).is_file() for name in _FILES):
            outermost = folder
        return repository, outermost


def _home() -> Path | None:
    try:
        return Path.home().resolve()
    except (RuntimeError, OSError):
        return None
