"""Where the modules of a dotted name lie in the folders of the linted tree; each folder is listed once.

What the modules hold, and which of them are read, is `program`'s business.
"""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["Folders"]


class Folders:
    """The folders of a tree whose ``roots`` imports may start from."""

    def __init__(self, roots: tuple[Path, ...]) -> None:
        self._roots = roots
        self._starts: dict[Path, tuple[str, ...]] = {}
        self._listed: dict[str, tuple[frozenset[str], frozenset[str]]] = {}

    def forget(self) -> None:
        """Let go of all listings."""
        self._starts.clear()
        self._listed.clear()

    def starts(self, folder: Path) -> tuple[str, ...]:
        """Where an absolute import in a file of ``folder`` may start: there, and above up to a root."""
        known = self._starts.get(folder)
        if known is None:
            found = [folder]
            for root in self._roots:
                if folder.is_relative_to(root):
                    for above in folder.parents:
                        if not above.is_relative_to(root.parent):
                            break
                        found += [above, above / "src"]
            known = self._starts[folder] = tuple(map(str, dict.fromkeys(found)))
        return known

    def find(self, start: str, parts: list[str]) -> tuple[Path, int] | None:
        """The file of the longest beginning of ``parts`` that is a module, and how many parts that is."""
        found = None
        place = start
        for count, name in enumerate(parts, 1):
            files, folders = self._list(place)
            inner = f"{place}/{name}"
            if f"{name}.py" in files:
                found = (f"{inner}.py", count)
            elif name in folders and "__init__.py" in self._list(inner)[0]:
                found = (f"{inner}/__init__.py", count)
            if name not in folders:
                break
            place = inner
        return (Path(found[0]), found[1]) if found is not None else None

    def package(self, folder: Path) -> Path:
        """The outermost package of the tree that a folder is in; the folder itself where it is in none."""
        package = folder
        for above in (folder, *folder.parents):
            if "__init__.py" in self._list(str(above))[0]:
                package = above
            if above in self._roots:
                break
        return package

    def _list(self, folder: str) -> tuple[frozenset[str], frozenset[str]]:
        """The names of the files and of the folders in a folder; none where it cannot be listed."""
        known = self._listed.get(folder)
        if known is None:
            files: set[str] = set()
            folders: set[str] = set()
            try:
                with os.scandir(folder) as entries:
                    for entry in entries:
                        (folders if entry.is_dir() else files).add(entry.name)
            except OSError:
                pass
            known = self._listed[folder] = (frozenset(files), frozenset(folders))
        return known
