"""Results kept between runs: a file that did not change, nor anything it imports, is not read again.

An entry's key covers the linter's own code, the settings, the file and the files its result may depend on, so
nothing is ever out of date; old entries are thrown away when there are too many. Each entry is a file of its
own, written beside and renamed, so that processes do not disturb each other.
"""

from __future__ import annotations

import json
import os
import sys
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from promptcache._version import __version__
from promptcache_lint.dependencies import dependencies_of
from promptcache_lint.finding_json import finding_from, finding_to

if TYPE_CHECKING:
    from promptcache_lint.findings import Finding
    from promptcache_lint.readers.reading import InputFile, Reader, Workspace
    from promptcache_lint.settings import Settings

__all__ = ["CACHE_FOLDER", "Cached", "ResultCache"]

CACHE_FOLDER = ".promptcache_cache"
_MOST_ENTRIES = 20_000
_KEPT_ENTRIES = 15_000


@dataclass(frozen=True, slots=True)
class Cached:
    """A place in the cache: its ``key``, and the ``findings`` there, None where none are yet."""

    key: str
    findings: list[Finding] | None


class ResultCache:
    """The findings of files, in ``folder``; it is made, with a note for git to leave it out, when needed."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder / "lint"
        self._top = folder
        self._ready = False

    def look_up(
        self, file: InputFile, reader: Reader, settings: Settings, workspace: Workspace
    ) -> Cached | None:
        """The place of a file's findings; None where the result depends on more than can be told."""
        others = dependencies_of(file, reader, workspace)
        if others is None:
            return None
        digest = sha256(f"{_own_version()}\0{settings.fingerprint()}\0{file.asked}\0{file.path}\0".encode())
        digest.update(f"{file.source.path}\0{file.source.called}\0{workspace.roots}\0{others}\0".encode())
        digest.update(file.source.text.encode("utf-8", "surrogatepass"))
        key = digest.hexdigest()
        return Cached(key, self._read(key))

    def keep(self, place: Cached, findings: list[Finding]) -> None:
        """Keep the findings of a file. A folder that cannot be written to keeps nothing."""
        path = self._path(place.key)
        written = path.with_suffix(f".{os.getpid()}")
        try:
            self._prepare()
            path.parent.mkdir(parents=True, exist_ok=True)
            written.write_text(json.dumps([finding_to(finding) for finding in findings]), encoding="utf-8")
            written.replace(path)
        except OSError:
            return

    def prune(self) -> None:
        """Throw the oldest entries away when there are too many."""
        entries = [entry for folder in _folders(self._folder) for entry in os.scandir(folder)]
        if len(entries) <= _MOST_ENTRIES:
            return
        entries.sort(key=lambda entry: entry.stat().st_mtime_ns)
        for entry in entries[: len(entries) - _KEPT_ENTRIES]:
            Path(entry.path).unlink(missing_ok=True)

    def _read(self, key: str) -> list[Finding] | None:
        path = self._path(key)
        try:
            found = [finding_from(item) for item in json.loads(path.read_bytes())]
            os.utime(path)
        except (OSError, ValueError, KeyError, TypeError):
            return None  # not there, or damaged: it is read anew
        return found

    def _path(self, key: str) -> Path:
        return self._folder / key[:2] / key[2:]

    def _prepare(self) -> None:
        if not self._ready:
            self._top.mkdir(parents=True, exist_ok=True)
            (self._top / ".gitignore").write_text("*\n", encoding="utf-8")
            tag = "Signature: 8a477f597d28d172789f06886806bc55\n# Made by promptcache lint.\n"
            (self._top / "CACHEDIR.TAG").write_text(tag, encoding="utf-8")
            self._ready = True


def _folders(top: Path) -> list[str]:
    try:
        return [entry.path for entry in os.scandir(top) if entry.is_dir()]
    except OSError:
        return []


@cache
def _own_version() -> str:
    """The version of the linter and of the running Python; in a working copy, of its every file."""
    import promptcache  # noqa: PLC0415 - its place matters, not its content
    import promptcache_lint  # noqa: PLC0415

    digest = sha256(f"{__version__} {sys.version_info}".encode())
    for package in (promptcache, promptcache_lint):
        for path in sorted(Path(str(package.__file__)).parent.rglob("*.py")):
            status = path.stat()
            digest.update(f"{path}{status.st_size}{status.st_mtime_ns}".encode())
    return digest.hexdigest()
