"""Which files a command line means: logs by their names, folders with all the logs in them, standard input.

Agents keep a file for each session, in folders of folders. What a file holds is `lines`' business.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from promptcache_gateway.diagnose.lines import UnreadableLogError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

STDIN: Final = "-"
_LINES: Final = (".jsonl", ".ndjson", ".jsonl.gz", ".ndjson.gz")
_OTHERS: Final = (".json", ".json.gz")
"""Looked at in a folder that holds no file of lines: beside such files they are settings and indexes."""


@dataclass(frozen=True, slots=True)
class Source:
    """One log: its file (or ``-``), its bytes as it lies on disk (0: not known), and whether it was named.

    One that was only found in a folder costs no other when it cannot be read.
    """

    path: str
    size: int = 0
    named: bool = True


def find_sources(names: Sequence[str]) -> list[Source]:
    """The logs that some names mean, in their order; those of a folder by their paths. Each file once.

    Raises:
        UnreadableLogError: a name is of nothing, or of a folder without a log.
    """
    found: list[Source] = []
    known = set[tuple[int, int]]()
    for source in (one for name in names for one in _of_name(name)):
        same = _identity(source.path)
        if same is not None and same in known:
            continue
        if same is not None:
            known.add(same)
        found.append(source)
    return found


def _of_name(name: str) -> Iterator[Source]:
    if name == STDIN or not Path(name).is_dir():
        yield Source(name, 0 if name == STDIN else _size(name))
        return
    paths = _files(name, _LINES) or _files(name, _OTHERS)
    if not paths:
        raise UnreadableLogError(
            name,
            "the folder holds no log",
            remedy=f"In a folder, files that end with {', '.join((*_LINES, *_OTHERS))} are read.",
        )
    for path in paths:
        yield Source(path, _size(path), named=False)


def _files(folder: str, endings: tuple[str, ...]) -> list[str]:
    """Files with such a name in a folder and those in it, but not in hidden ones."""
    found = []
    for where, folders, names in os.walk(folder):
        folders[:] = [one for one in folders if not one.startswith(".")]
        found += [str(Path(where, name)) for name in names if name.lower().endswith(endings)]
    return sorted(found)


def _size(path: str) -> int:
    try:
        return Path(path).stat().st_size
    except OSError:
        return 0  # told when it is opened


def _identity(path: str) -> tuple[int, int] | None:
    try:
        status = Path(path).stat() if path != STDIN else None
    except OSError:
        return None
    return None if status is None else (status.st_dev, status.st_ino)
