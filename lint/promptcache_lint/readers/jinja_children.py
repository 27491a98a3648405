"""The templates of a tree that extend one, and the blocks in whose place each of them writes something else.

A block that every child writes anew is never rendered as its base has it. What ``super()`` calls is, and so
is a base that nobody extends.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from promptcache_lint.readers.reading import Workspace

__all__ = ["written_anew"]

_KEY = "templates that extend others"
_SUFFIXES = (".j2", ".jinja", ".jinja2", ".md", ".txt", ".prompt", ".html")
_PASSED_OVER = {"node_modules", "__pycache__", "site-packages"}
_LARGEST = 200_000
_MOST_FILES = 20_000
_DEEPEST = 4
_EXTENDS = re.compile(r"\{%[-+]?\s*extends\s+[\"']([^\"']+)[\"']")
_BLOCK = re.compile(r"\{%[-+]?\s*block\s+(\w+)")
_COMMENT = re.compile(r"\{#.*?#\}", re.DOTALL)


class _Child:
    """A template that extends another: which, and what it writes in its place."""

    def __init__(self, path: Path, base: str, text: str) -> None:
        self.path = path
        self.base = base
        self.blocks = frozenset() if "super(" in text else frozenset(_BLOCK.findall(text))


def written_anew(path: Path, text: str, workspace: Workspace) -> frozenset[str]:
    """The blocks of the template at ``path`` that each template of the tree that extends it writes anew."""
    if not workspace.roots or not _BLOCK.search(text):
        return frozenset()
    return _in_all(path, _children(workspace), 0) & frozenset(_BLOCK.findall(text))


def _in_all(path: Path, known: dict[str, list[_Child]], depth: int) -> frozenset[str]:
    """The blocks that all templates below one write anew, by themselves or by those below them."""
    told = [_written(child, known, depth) for child in known.get(path.name, ()) if _is_base(path, child)]
    return frozenset.intersection(*told) if told else frozenset()


def _written(child: _Child, known: dict[str, list[_Child]], depth: int) -> frozenset[str]:
    below = _in_all(child.path, known, depth + 1) if depth < _DEEPEST else frozenset()
    return child.blocks | below


def _is_base(path: Path, child: _Child) -> bool:
    """Whether a child extends this file: its name, as written, is the end of the file's path."""
    name = [part for part in child.base.split("/") if part not in {"", ".", ".."}]
    return path != child.path and path.parts[-len(name) :] == tuple(name)


def _children(workspace: Workspace) -> dict[str, list[_Child]]:
    """The templates of the tree that extend others, by the last part of the name of those."""
    known = workspace.shared.get(_KEY)
    if isinstance(known, dict):
        return known
    found: dict[str, list[_Child]] = {}
    for child in _found(workspace.roots):
        found.setdefault(child.base.rpartition("/")[2], []).append(child)
    workspace.shared[_KEY] = found
    return found


def _found(roots: tuple[Path, ...]) -> Iterator[_Child]:
    left = _MOST_FILES
    for root in roots:
        for folder, folders, files in os.walk(root):
            folders[:] = [name for name in folders if not name.startswith(".") and name not in _PASSED_OVER]
            for name in files:
                if left > 0 and name.lower().endswith(_SUFFIXES):
                    left -= 1
                    yield from _read(Path(folder, name))


def _read(path: Path) -> Iterator[_Child]:
    try:
        if path.stat().st_size > _LARGEST:
            return
        text = path.read_text(encoding="utf-8")
    except (OSError, ValueError):
        return
    last = text.rfind("#}") + len("#}")  # what opens behind it is not looked through for its end
    text = _COMMENT.sub("", text[:last]) + text[last:]
    match = _EXTENDS.search(text)
    if match is not None:
        yield _Child(path, match[1], text)
