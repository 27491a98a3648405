"""Which files a run looks at: paths that were named, and what lies below folders, minus what git ignores."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pathspec import GitIgnoreSpec

from promptcache_lint.errors import MissingPathError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from promptcache_lint.settings import Settings

__all__ = ["Found", "discover", "tree_roots"]

_SKIPPED_FOLDERS = frozenset(
    {
        *(".git", ".hg", ".svn", ".venv", "venv", "node_modules", "site-packages", "__pycache__", ".eggs"),
        *(".mypy_cache", ".ruff_cache", ".pytest_cache", ".hypothesis", ".tox", ".nox", ".next", ".idea"),
        *(".vscode", "dist", "build"),
    }
)


@dataclass(frozen=True, slots=True)
class Found:
    """A file to look at; ``asked`` when it was named itself."""

    path: Path
    asked: bool


def tree_roots(paths: Sequence[str | Path]) -> tuple[Path, ...]:
    """The folders in which imports and includes are looked for: those named, and those of named files."""
    resolved = (Path(path).resolve() for path in paths)
    return tuple(dict.fromkeys(path if path.is_dir() else path.parent for path in resolved))


def discover(paths: Sequence[str | Path], settings: Settings) -> Iterator[Found]:
    """The files, each once: named ones first, in order, then by folder and name.

    Raises `MissingPathError` for a path that does not exist.
    """
    seen: set[Path] = set()
    for given in paths:
        path = Path(given)
        if not path.exists():
            raise MissingPathError(str(given))
        found = [Found(path.resolve(), asked=True)] if path.is_file() else _walk(path.resolve(), settings)
        for file in found:
            if file.path not in seen:
                seen.add(file.path)
                yield file


def _walk(root: Path, settings: Settings) -> Iterator[Found]:
    excluded = GitIgnoreSpec.from_lines(settings.exclude) if settings.exclude else None
    ignores = _ignores_above(root) if settings.respect_gitignore else []
    if any(_is_ignored(folder, is_folder=True, rules=ignores) for folder in (root, *root.parents)):
        ignores = []  # it was asked for by name
    yield from _below(root, root, ignores, excluded, settings)


def _below(
    folder: Path,
    root: Path,
    ignores: list[tuple[Path, GitIgnoreSpec]],
    excluded: GitIgnoreSpec | None,
    settings: Settings,
) -> Iterator[Found]:
    own = _read_ignore(folder) if settings.respect_gitignore and folder != root else None
    rules = [*ignores, (folder, own)] if own is not None else ignores
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError:
        return
    folders = []
    for entry in entries:
        path = Path(entry.path)
        is_folder = entry.is_dir(follow_symlinks=False)
        if is_folder and entry.name in _SKIPPED_FOLDERS:
            continue
        if _is_ignored(path, is_folder=is_folder, rules=rules) or (
            excluded is not None and excluded.match_file(_relative(path, root, is_folder))
        ):
            continue
        if is_folder:
            folders.append(path)
        elif entry.is_file():
            yield Found(path, asked=False)
    for inner in folders:
        yield from _below(inner, root, rules, excluded, settings)


def _relative(path: Path, base: Path, is_folder: bool) -> str:  # noqa: FBT001 - a fact about path
    return path.relative_to(base).as_posix() + ("/" if is_folder else "")


def _is_ignored(path: Path, *, is_folder: bool, rules: Iterable[tuple[Path, GitIgnoreSpec]]) -> bool:
    for base, spec in reversed(list(rules)):
        if path == base or not path.is_relative_to(base):
            continue
        verdict = spec.check_file(_relative(path, base, is_folder)).include
        if verdict is not None:
            return verdict
    return False


def _ignores_above(root: Path) -> list[tuple[Path, GitIgnoreSpec]]:
    """The ignore files of the repository the root lies in, outermost first."""
    folders = [root]
    while not (folders[-1] / ".git").exists():
        if folders[-1].parent == folders[-1]:
            folders = [root]
            break
        folders.append(folders[-1].parent)
    specs = ((folder, _read_ignore(folder)) for folder in reversed(folders))
    return [(folder, spec) for folder, spec in specs if spec is not None]


def _read_ignore(folder: Path) -> GitIgnoreSpec | None:
    try:
        lines = (folder / ".gitignore").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return None
    return GitIgnoreSpec.from_lines(lines)
