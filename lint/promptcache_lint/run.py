"""A run of the linter: files → readers → prompts → rules → findings, one for each fault.

One file is `run_file`'s business, several processes are `run_workers`'s.
"""

from __future__ import annotations

import gc
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from promptcache_lint.discovery import discover, tree_roots
from promptcache_lint.faults import without_echoes
from promptcache_lint.places import Source
from promptcache_lint.readers.choice import READ_SUFFIXES
from promptcache_lint.readers.reading import InputFile
from promptcache_lint.result_cache import ResultCache
from promptcache_lint.run_file import FileLinter, FileResult
from promptcache_lint.run_workers import run_in_processes, worker_count
from promptcache_lint.settings import Settings, same_everywhere
from promptcache_lint.standing import PROGRAMS, Standing

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from promptcache_lint.discovery import Found
    from promptcache_lint.findings import Finding, Severity
    from promptcache_lint.settings import SettingsOf

__all__ = ["LintReport", "lint_paths", "lint_text"]


@dataclass(frozen=True)
class LintReport:
    """The findings of a run, in order of files and rows, and how many files were looked at.

    ``sources`` holds the text of the files that have findings, by the path shown, for excerpts.
    ``accepted`` counts findings that a baseline knows and that are left out, ``gone`` those it knows and
    that are no longer there. ``notes`` is what a person should know of the run and is no finding: that an
    extra is missing. ``looked_at`` are those files, as shown, and ``paths`` what was asked for.
    """

    findings: tuple[Finding, ...]
    files: int
    sources: dict[str, Source] = field(default_factory=dict, repr=False)
    accepted: int = 0
    gone: int = 0
    notes: tuple[str, ...] = ()
    looked_at: frozenset[str] = field(default=frozenset(), repr=False)
    paths: tuple[Path, ...] = field(default=(), repr=False)

    @property
    def failed(self) -> bool:
        """Whether any finding is an error or a warning."""
        return any(finding.severity > 0 for finding in self.findings)


def lint_paths(
    paths: Sequence[str | Path],
    settings: Settings | SettingsOf | None = None,
    *,
    jobs: int = 1,
    cache: Path | None = None,
    force_exclude: bool = False,
) -> LintReport:
    """Lint files and folders.

    ``jobs`` is the number of processes, 0 for as many as are worth it. ``cache`` is the folder in which
    results are kept between runs, None for none. ``force_exclude``: see `discover`.
    Raises `MissingPathError`; an unreadable file becomes a PC900 finding.
    """
    found = _wanted(discover(paths, same_everywhere(settings), force_exclude=force_exclude))
    roots, base = tree_roots(paths), Path.cwd()
    jobs = worker_count(jobs, len(found))
    if jobs > 1:
        results: Iterable[FileResult] = run_in_processes(found, roots, base, cache, jobs)
    else:
        results = lint_in_order(found, roots, base, cache)
    walked = {Path(path).resolve() for path in paths}
    report = _report(results, found, tuple(root for root in roots if root not in walked), settings)
    if cache is not None:
        ResultCache(cache).prune()
    return replace(report, paths=tuple(map(Path, paths)))


def lint_in_order(
    found: Iterable[Found], roots: tuple[Path, ...], base: Path, cache: Path | None
) -> list[FileResult]:
    """Lint files one after another; those under the same settings share what their readers learn."""
    linters: dict[Settings, FileLinter] = {}
    kept = ResultCache(cache) if cache is not None else None
    results = []
    with _few_collections():
        for file in found:
            linter = linters.get(file.settings)
            if linter is None:
                linter = linters[file.settings] = FileLinter(file.settings, roots, base, kept)
            results.append(linter.lint(file.path, asked=file.asked))
        for linter in linters.values():
            linter.forget()  # before the collector looks again: it would go through all of it
    return results


def lint_text(text: str, name: str, settings: Settings | None = None) -> LintReport:
    """Lint a text as if it were the content of a file called ``name``."""
    source = Source(name, text)
    linter = FileLinter(settings or Settings(), (), Path.cwd())
    findings = linter.lint_source(InputFile(Path(name), source, asked=True))
    return LintReport(tuple(findings), 1, {name: source}, notes=tuple(linter.notes))


def _wanted(found: Iterable[Found]) -> list[Found]:
    return [file for file in found if file.asked or file.path.suffix.lower() in READ_SUFFIXES]


def _programs(
    found: list[Found], unwalked: tuple[Path, ...], settings: Settings | SettingsOf | None
) -> Iterator[str]:
    """The texts of the programs that are linted; of the whole tree, if only files of prompts are."""
    paths = [file.path for file in found if file.path.suffix.lower() in PROGRAMS]
    if not paths:
        below = _wanted(discover(unwalked, same_everywhere(settings)))
        paths = [file.path for file in below if file.path.suffix.lower() in PROGRAMS]
    for path in paths:
        with suppress(OSError):
            if path.is_file():  # named, it may be a pipe
                yield path.read_text(encoding="utf-8", errors="replace")


def _report(
    results: Iterable[FileResult],
    found: list[Found],
    unwalked: tuple[Path, ...],
    settings: Settings | SettingsOf | None,
) -> LintReport:
    """What was found, weighed by the tree; ``unwalked``: folders of it that ``found`` does not hold whole."""
    standing = Standing(lambda: _programs(found, unwalked, settings))
    findings: list[Finding] = []
    sources: dict[str, Source] = {}
    notes: dict[str, None] = {}
    least: dict[str, Severity] = {}
    named: set[str] = set()
    for result, file in zip(results, found, strict=True):
        notes |= dict.fromkeys(result.notes)
        findings += result.findings
        least[result.shown] = file.settings.severity
        if file.asked:
            named.add(result.shown)
        if result.source is not None:
            sources[result.shown] = result.source
    judged = (
        standing.judged(each, sources.get(each.place.path), asked=each.place.path in named)
        for each in without_echoes(findings)
    )
    findings = [each for each in judged if each.severity >= least[each.place.path]]
    findings.sort(key=lambda finding: (finding.place, finding.code))
    return LintReport(tuple(findings), len(found), sources, notes=tuple(notes), looked_at=frozenset(least))


@contextmanager
def _few_collections() -> Iterator[None]:
    """Let the garbage collector look less often: syntax trees are large and hold few cycles."""
    before = gc.get_threshold()
    gc.set_threshold(5_000_000, 1_000, 1_000)
    try:
        yield
    finally:
        gc.set_threshold(*before)
