"""A run of the linter: files → readers → prompts → rules → findings, one for each fault."""

from __future__ import annotations

import gc
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from promptcache_lint.discovery import discover, tree_roots
from promptcache_lint.errors import UnreadableFileError
from promptcache_lint.faults import one_for_each_fault
from promptcache_lint.findings import Finding, Severity
from promptcache_lint.places import Place, Source
from promptcache_lint.readers.choice import READ_SUFFIXES, choose_reader
from promptcache_lint.readers.reading import InputFile, Workspace
from promptcache_lint.rulebook import all_rules, vocabulary
from promptcache_lint.settings import Settings
from promptcache_lint.suppressions import MARKER, apply, find_suppressions

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from promptcache_lint.prompts import Prompt
    from promptcache_lint.readers.reading import Reader

__all__ = ["LintReport", "lint_paths", "lint_text"]


@dataclass(frozen=True)
class LintReport:
    """The findings of a run, in order of files and rows, and how many files were looked at.

    ``sources`` holds the text of the files that have findings, by the path shown, for excerpts.
    """

    findings: tuple[Finding, ...]
    files: int
    sources: dict[str, Source] = field(default_factory=dict, repr=False)

    @property
    def failed(self) -> bool:
        """Whether any finding is an error or a warning."""
        return any(finding.severity >= Severity.WARNING for finding in self.findings)


def lint_paths(paths: Sequence[str | Path], settings: Settings | None = None) -> LintReport:
    """Lint files and folders. Raises `MissingPathError`; an unreadable file becomes a PC900 finding."""
    settings = settings or Settings()
    workspace = Workspace(vocabulary(), tree_roots(paths), Path.cwd())
    findings: list[Finding] = []
    sources: dict[str, Source] = {}
    count = 0
    with _few_collections():
        for found in discover(paths, settings):
            if not found.asked and found.path.suffix.lower() not in READ_SUFFIXES:
                continue
            count += 1
            shown = workspace.display(found.path)
            new, source = _lint_file(found.path, shown, workspace, settings, asked=found.asked)
            if new:
                findings += new
                sources[shown] = source
    findings.sort(key=lambda finding: (finding.place, finding.code))
    return LintReport(tuple(findings), count, sources)


def lint_text(text: str, name: str, settings: Settings | None = None) -> LintReport:
    """Lint a text as if it were the content of a file called ``name``."""
    settings = settings or Settings()
    path = Path(name)
    workspace = Workspace(vocabulary(), (), Path.cwd())
    source = Source(name, text)
    findings = _lint_source(InputFile(path, source, asked=True), workspace, settings)
    findings.sort(key=lambda finding: (finding.place, finding.code))
    return LintReport(tuple(findings), 1, {name: source})


def _lint_file(
    path: Path, shown: str, workspace: Workspace, settings: Settings, *, asked: bool
) -> tuple[list[Finding], Source]:
    try:
        data = path.read_bytes()
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = error.object[: error.start]
        row = before.count(b"\n") + 1
        column = error.start - (before.rfind(b"\n") + 1) + 1
        return _unreadable(shown, f"Not UTF-8: {error.reason}.", row, column, settings), Source(shown, "")
    except OSError as error:
        return _unreadable(shown, f"Cannot be read: {error.strerror}.", 1, 1, settings), Source(shown, "")
    source = Source(shown, text.replace("\r\n", "\n"))
    return _lint_source(InputFile(path, source, asked), workspace, settings), source


def _unreadable(shown: str, problem: str, row: int, column: int, settings: Settings) -> list[Finding]:
    if not settings.selects("PC900"):
        return []
    return [Finding("PC900", Severity.WARNING, problem, Place(shown, row, column, row, column))]


def _lint_source(file: InputFile, workspace: Workspace, settings: Settings) -> list[Finding]:
    source = file.source
    reader = choose_reader(file.path, source.path, source.text, asked=file.asked)
    if reader is None:
        return []
    try:
        prompts = list(reader.read(file, workspace))
    except UnreadableFileError as error:
        return _unreadable(source.path, error.problem, error.row, error.column, settings)
    except RecursionError:
        return _unreadable(source.path, "The file is nested too deeply to be followed.", 1, 1, settings)
    findings = one_for_each_fault(_check(prompts, source.path, settings))
    if MARKER in source.text:
        findings = _suppressed(findings, reader, source, settings)
    return [finding for finding in findings if finding.severity >= settings.severity]


def _check(prompts: Iterable[Prompt], path: str, settings: Settings) -> list[tuple[Prompt, Finding]]:
    rules = [rule for rule in all_rules() if settings.selects(rule.code)]
    return [
        (prompt, finding)
        for prompt in prompts
        for rule in rules
        for finding in rule.check(prompt)
        if finding.place.path == path
    ]


def _suppressed(findings: list[Finding], reader: Reader, source: Source, settings: Settings) -> list[Finding]:
    suppressions = find_suppressions(source, reader.comments(source))
    known = [rule.code for rule in all_rules() if settings.selects(rule.code)]
    kept, unused = apply(findings, suppressions, source.path, known=known)
    return kept + (unused if settings.selects("PC901") else [])


@contextmanager
def _few_collections() -> Iterator[None]:
    """Let the garbage collector look less often: syntax trees are large and hold few cycles."""
    before = gc.get_threshold()
    gc.set_threshold(100_000, 20, 50)
    try:
        yield
    finally:
        gc.set_threshold(*before)
