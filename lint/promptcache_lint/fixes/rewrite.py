"""Carrying fixes out: file by file, one fix at a time, each on the text that the one before left.

Nothing is written where only the difference is asked for. Line ends and a byte order mark stay as they were.
"""

from __future__ import annotations

import codecs
import difflib
import os
from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from promptcache_lint.fixes.edits import apply_edits
from promptcache_lint.readers.reading import InputFile
from promptcache_lint.run_file import FileLinter, encoding_of

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from promptcache_lint.baseline import Baseline
    from promptcache_lint.discovery import Found
    from promptcache_lint.findings import Finding
    from promptcache_lint.places import Source

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
    found: Iterable[Found],
    texts: dict[str, Source],
    roots: tuple[Path, ...],
    base: Path,
    *,
    unsafe: bool,
    baseline: Baseline | None = None,
) -> list[Rewritten]:
    """Fix what can be fixed in the files that have findings (``texts``, by the path shown).

    What ``baseline`` accepts stays as it is.
    """
    done = []
    for file in found:
        settings = replace(file.settings, fixes=True)
        linter = FileLinter(settings, roots, base)
        shown = linter.workspace.display(file.path)
        if shown not in texts:
            continue
        before = texts[shown].text
        input_file = InputFile(file.path, texts[shown], file.asked)
        after, count = _fixed(input_file, linter, _Wanted(baseline), unsafe=unsafe)
        if count:
            done.append(Rewritten(file.path, shown, before, after, count))
    return done


class _Wanted:
    """Leaves out the findings that a baseline accepts, also when a fix beside them changes their lines."""

    def __init__(self, baseline: Baseline | None) -> None:
        self._baseline = baseline
        self._accepted: Counter[tuple[str, str | None, str]] | None = None

    def of(self, findings: list[Finding], source: Source) -> list[Finding]:
        """Those that may be fixed."""
        if self._baseline is None:
            return findings
        fresh = self._baseline.fresh(findings, {source.path: source})
        kept = {id(finding) for finding in fresh}
        known = Counter(_alike(finding) for finding in findings if id(finding) not in kept)
        if self._accepted is None:
            self._accepted = known
        missing = self._accepted - known
        wanted = []
        for finding in fresh:
            if missing[_alike(finding)] > 0:
                missing[_alike(finding)] -= 1
            else:
                wanted.append(finding)
        return wanted


def _alike(finding: Finding) -> tuple[str, str | None, str]:
    return finding.code, finding.segment, finding.subject


def _fixed(file: InputFile, linter: FileLinter, wanted: _Wanted, *, unsafe: bool) -> tuple[str, int]:
    count = 0
    while count < _MOST_FIXES:
        findings = wanted.of(linter.lint_source(file), file.source)
        fixes = (finding.fix for finding in findings)
        fix = next((fix for fix in fixes if fix is not None and (fix.safe or unsafe)), None)
        text = apply_edits(file.source, fix.edits) if fix is not None else None
        if text is None:
            break
        count += 1
        file = replace(file, source=replace(file.source, text=text))
        linter = linter.again()
    return file.source.text, count


def write(changed: Rewritten) -> str:
    """Write a file back, through links to where it really stands; what hindered it, empty if nothing did.

    Nothing is written where line ends are of both kinds, or where the file was changed since it was read.
    """
    try:
        path = changed.path.resolve(strict=True)
        data = path.read_bytes()
        mark = codecs.BOM_UTF8 if data.startswith(codecs.BOM_UTF8) else b""
        text = changed.after
        encoding = encoding_of(path, data).removesuffix("-sig")
        if data.removeprefix(mark).replace(b"\r\n", b"\n") != changed.before.encode(
            encoding, "surrogatepass"
        ):
            return "it was changed meanwhile"
        if b"\r\n" in data:
            if data.count(b"\r\n") != data.count(b"\n"):
                return "its line ends are of both kinds"
            text = text.replace("\n", "\r\n")
        _replace(path, mark + text.encode(encoding, "surrogatepass"))
    except FileNotFoundError:
        return "it is gone"
    except UnicodeError:
        return "its encoding lacks a character"
    except OSError as error:
        return f"it cannot be written ({error.strerror})"
    return ""


def _replace(path: Path, data: bytes) -> None:
    """Put ``data`` in the place of a file: written beside it and renamed, so that it is never half there."""
    beside = path.with_name(f".promptcache.{os.getpid()}")
    try:
        beside.write_bytes(data)
        beside.chmod(path.stat().st_mode)
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)


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
