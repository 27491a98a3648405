"""Which files a run looks at: paths that were named, and what lies below folders, minus what git ignores."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pathspec import GitIgnoreSpec

from promptcache_lint.errors import MissingPathError
from promptcache_lint.settings import same_everywhere

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from promptcache_lint.settings import Settings, SettingsOf

__all__ = ["Found", "discover", "project_of", "tree_roots"]

_SKIPPED_FOLDERS = frozenset(
    {
        *(".git", ".hg", ".svn", ".venv", "venv", "node_modules", "site-packages", "__pycache__", ".eggs"),
        *(".mypy_cache", ".ruff_cache", ".pytest_cache", ".hypothesis", ".tox", ".nox", ".next", ".idea"),
        *(".vscode", "dist", "build", ".promptcache_cache"),
    }
)
_Rules = tuple[tuple[str, GitIgnoreSpec], ...]
"""Ignore files, outermost first: how the paths begin that each may ignore, and what it says."""
_PROJECT_MARKS = ("pyproject.toml", "promptcache.toml", "setup.py", ".git")


@dataclass(frozen=True, slots=True)
class Found:
    """A file to look at; ``asked`` when it was named itself; ``settings`` are those of its folder."""

    path: Path
    asked: bool
    settings: Settings


def tree_roots(paths: Sequence[str | Path]) -> tuple[Path, ...]:
    """Where imports and includes are looked for: in folders named, and in the projects of named files."""
    resolved = (Path(path).resolve() for path in paths)
    folders = (path if path.is_dir() else project_of(path.parent) or path.parent for path in resolved)
    return tuple(dict.fromkeys(folders))


def project_of(folder: Path) -> Path | None:
    """The folder of the project that ``folder`` lies in; None where nothing says so."""
    for above in (folder, *folder.parents):
        if any((above / name).exists() for name in _PROJECT_MARKS):
            return above
    return None


def discover(
    paths: Sequence[str | Path], settings: Settings | SettingsOf, *, force_exclude: bool = False
) -> Iterator[Found]:
    """The files, each once: named ones first, in order, then by folder and name.

    ``force_exclude`` treats named files as if a folder had been walked to them: excludes and ignore files
    hold for them too, and they are not ``asked`` for. Raises `MissingPathError` for a path that is not there.
    """
    walk = _Walk(same_everywhere(settings))
    seen: set[Path] = set()
    for given in paths:
        path = Path(given)
        if not path.exists():
            raise MissingPathError(str(given))
        for file in walk.named(path.resolve(), force_exclude=force_exclude):
            if file.path not in seen:
                seen.add(file.path)
                yield file


class _Walk:
    """A walk through folders, with the settings of each."""

    def __init__(self, settings: SettingsOf) -> None:
        self._settings = settings
        self._excludes: dict[tuple[str, ...], GitIgnoreSpec] = {}

    def named(self, path: Path, *, force_exclude: bool) -> Iterator[Found]:
        """What a path on the command line stands for."""
        if path.is_dir():
            ignores = self._ignores_above(path)
            if any(_is_ignored(str(each), is_folder=True, rules=ignores) for each in (path, *path.parents)):
                ignores = ()  # it was asked for by name
            yield from self._below(path, ignores)
            return
        settings = self._settings.folder(path.parent)
        if force_exclude and self._is_left_out(path, settings):
            return
        yield Found(path, asked=not force_exclude, settings=settings)

    def _is_left_out(self, path: Path, settings: Settings) -> bool:
        root = settings.root or Path.cwd()
        if self._is_excluded(path, root, settings, is_folder=False):
            return True
        rules = self._ignores_above(path.parent)
        return any(_is_ignored(str(p), is_folder=p != path, rules=rules) for p in (path, *path.parents))

    def _below(self, root: Path, ignores: _Rules) -> Iterator[Found]:
        """What lies below a folder: its files, then each folder in it likewise."""
        waiting = [(root, ignores)]
        while waiting:
            folder, rules = waiting.pop()
            settings = self._settings.folder(folder)
            own = _read_ignore(folder) if settings.respect_gitignore and folder != root else None
            if own is not None:
                rules = (*rules, (_within(folder), own))
            try:
                entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
            except OSError:
                continue
            folders = []
            for entry in entries:
                is_folder = entry.is_dir(follow_symlinks=False)
                if self._is_passed_by(entry, root, settings, rules, is_folder=is_folder):
                    continue
                if is_folder:
                    folders.append((Path(entry.path), rules))
                elif _is_file(entry):
                    yield Found(Path(entry.path), asked=False, settings=settings)
            waiting += reversed(folders)

    def _is_passed_by(
        self, entry: os.DirEntry[str], root: Path, settings: Settings, rules: _Rules, *, is_folder: bool
    ) -> bool:
        if is_folder and entry.name in _SKIPPED_FOLDERS:
            return True
        if _is_ignored(entry.path, is_folder=is_folder, rules=rules):
            return True
        return bool(settings.exclude) and self._is_excluded(
            Path(entry.path), root, settings, is_folder=is_folder
        )

    def _is_excluded(self, path: Path, root: Path, settings: Settings, *, is_folder: bool) -> bool:
        if not settings.exclude:
            return False
        base = settings.root if settings.root is not None and path.is_relative_to(settings.root) else root
        if not path.is_relative_to(base):
            return False
        spec = self._excludes.get(settings.exclude)
        if spec is None:
            spec = self._excludes[settings.exclude] = GitIgnoreSpec.from_lines(settings.exclude)
        name = _relative(path, base, is_folder)
        if spec.match_file(name):
            return True
        # A folder above the walked one may be what a pattern excludes.
        return any(spec.match_file(f"{above.as_posix()}/") for above in Path(name).parents if above.name)

    def _ignores_above(self, root: Path) -> _Rules:
        """The ignore files of the repository the root lies in, outermost first; none where not respected."""
        if not self._settings.folder(root).respect_gitignore:
            return ()
        folders = [root]
        while not (folders[-1] / ".git").exists():
            if folders[-1].parent == folders[-1]:
                folders = [root]
                break
            folders.append(folders[-1].parent)
        specs = ((folder, _read_ignore(folder)) for folder in reversed(folders))
        return tuple((_within(folder), spec) for folder, spec in specs if spec is not None)


def _is_file(entry: os.DirEntry[str]) -> bool:
    """Whether an entry is a file, or a link that leads to one; links that lead in a ring are none."""
    try:
        return entry.is_file()
    except OSError:
        return False


def _relative(path: Path, base: Path, is_folder: bool) -> str:  # noqa: FBT001 - a fact about path
    return path.relative_to(base).as_posix() + ("/" if is_folder else "")


def _within(folder: Path) -> str:
    """How every path below a folder begins: a root, and no other folder, has the separator already."""
    name = str(folder)
    return name if name.endswith(os.sep) else name + os.sep


def _is_ignored(path: str, *, is_folder: bool, rules: _Rules) -> bool:
    for within, spec in reversed(rules):
        if not path.startswith(within) or len(path) == len(within):
            continue
        name = path[len(within) :].replace(os.sep, "/") + ("/" if is_folder else "")
        verdict = spec.check_file(name).include
        if verdict is not None:
            return verdict
    return False


def _read_ignore(folder: Path) -> GitIgnoreSpec | None:
    try:
        lines = (folder / ".gitignore").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return None
    return GitIgnoreSpec.from_lines(lines)
