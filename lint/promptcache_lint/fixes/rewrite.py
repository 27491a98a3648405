"""Carrying fixes out: file by file, one fix at a time, each on the text that the one before left.

Nothing is written where only the difference is asked for. Line ends and a byte order mark stay as they were.
"""

from __future__ import annotations

import difflib
import os
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from promptcache_lint.fixes.edits import apply_edits
from promptcache_lint.places import Source
from promptcache_lint.readers.reading import InputFile
from promptcache_lint.run_file import FileLinter

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from promptcache_lint.discovery import Found
    from promptcache_lint.fixes.fix import Fix

__all__ = ["Rewritten", "difference", "rewrite", "write"]

_MOST_FIXES = 100


@dataclass(frozen=True, slots=True)
class Rewritten:
    """A file with fixes in it: its ``path``, how it is ``shown``, the texts, and how many ``fixes``."""

    path: Path
    shown: str
    before: str
    after: str
    fixes: int


def rewrite(
    found: Iterable[Found], texts: dict[str, Source], roots: tuple[Path, ...], base: Path, *, unsafe: bool
) -> list[Rewritten]:
    """Fix what can be fixed in the files that have findings (``texts``, by the path shown)."""
    done = []
    for file in found:
        settings = replace(file.settings, fixes=True)
        linter = FileLinter(settings, roots, base)
        shown = linter.workspace.display(file.path)
        if shown not in texts:
            continue
        before = texts[shown].text
        after, count = _fixed(InputFile(file.path, texts[shown], file.asked), linter, unsafe=unsafe)
        if count:
            done.append(Rewritten(file.path, shown, before, after, count))
    return done


def _fixed(file: InputFile, linter: FileLinter, *, unsafe: bool) -> tuple[str, int]:
    count = 0
    while count < _MOST_FIXES:
        fix = _next_fix(file, linter, unsafe=unsafe)
        text = apply_edits(file.source, fix.edits) if fix is not None else None
        if text is None:
            break
        count += 1
        file = replace(file, source=Source(file.source.path, text))
        linter = linter.again()
    return file.source.text, count


def _next_fix(file: InputFile, linter: FileLinter, *, unsafe: bool) -> Fix | None:
    fixes = (finding.fix for finding in linter.lint_source(file))
    return next((fix for fix in fixes if fix is not None and (fix.safe or unsafe)), None)


def write(changed: Rewritten) -> bool:
    """Write a file back; False, and nothing written, where its line ends are of both kinds."""
    data = changed.path.read_bytes()
    mark = b"\xef\xbb\xbf" if data.startswith(b"\xef\xbb\xbf") else b""
    text = changed.after
    if b"\r\n" in data:
        if data.count(b"\r\n") != data.count(b"\n"):
            return False
        text = text.replace("\n", "\r\n")
    beside = changed.path.with_name(f".{changed.path.name}.{os.getpid()}")
    beside.write_bytes(mark + text.encode())
    beside.chmod(changed.path.stat().st_mode)
    beside.replace(changed.path)
    return True


def difference(changed: Rewritten) -> str:
    """The unified difference between a file and what it would become."""
    lines = difflib.unified_diff(
        changed.before.splitlines(keepends=True),
        changed.after.splitlines(keepends=True),
        f"a/{changed.shown}",
        f"b/{changed.shown}",
    )
    return "".join(
        line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines
    )
