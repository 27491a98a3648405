"""Where the Jinja2 templates lie that a program names: in the tree, by the folders its loaders say.

Only files below the roots of the linted tree are read. What is in them is `jinja_templates`' business.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from promptcache_lint.prompts import Text
from promptcache_lint.readers.python.values import Map, Seq, Str, Thing

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from promptcache_lint.readers.python.values import Value

__all__ = ["file_named", "file_read", "written_in"]

_QUOTED = re.compile(r"""["']([^"'\n]{1,120})["']""")
_FILE = re.compile(r"[\w./ -]+\.[A-Za-z]\w{0,8}")
_USUAL = ("", "templates", "prompts", "src")
_UPWARD = 3
_LARGEST = 1_000_000


def written_in(value: Value) -> Iterator[str]:
    """The texts that an argument is written with: a folder's name, as text or in an expression of paths."""
    match value:
        case Str(parts):
            yield from (part.text for part in parts if isinstance(part, Text))
        case Thing():
            yield from _QUOTED.findall(value.label)
        case Seq():
            for item in value.items:
                yield from written_in(item)
        case Map():
            return


def file_named(name: str, beside: Path, folders: Iterable[str], roots: Iterable[Path]) -> Path | None:
    """The file of the tree that a loader of a module beside which it lies finds under ``name``."""
    said = tuple(folder.strip("/") for folder in folders if ".." not in folder)
    below = dict.fromkeys((*said, "/".join(said), *_USUAL))
    inside = tuple(roots)
    for start in (beside, *beside.parents[:_UPWARD], *inside):
        if not any(start == root or start.is_relative_to(root) for root in inside):
            continue
        for folder in below:
            found = start / folder / name
            if _is_readable(found):
                return found
    return None


def file_read(label: str, beside: Path, roots: Iterable[Path]) -> Path | None:
    """The file of the tree that an expression reads: ``(HERE / "agent.j2").read_text()``."""
    written = _QUOTED.findall(label)
    named = next((text for text in reversed(written) if _FILE.fullmatch(text)), None)
    return file_named(named, beside, written[: written.index(named)], roots) if named is not None else None


def _is_readable(path: Path) -> bool:
    try:
        return path.is_file() and path.stat().st_size <= _LARGEST
    except (OSError, ValueError):
        return False
