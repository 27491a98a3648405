"""Linting one file: its reader, the rules, one finding for one fault, suppressions, fixes.

A `FileLinter` holds what the files of one run share. Which files there are, and in how many processes, is
`run`'s business.
"""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass, replace
from stat import S_ISREG
from typing import TYPE_CHECKING

from promptcache_lint.aside import is_beside_the_product
from promptcache_lint.declared import vocabulary_of
from promptcache_lint.declared_python import prepare_python
from promptcache_lint.errors import InternalError, MissingExtraError, UnreadableFileError
from promptcache_lint.faults import one_for_each_fault
from promptcache_lint.findings import Finding, Severity
from promptcache_lint.fixes.trial import Trial
from promptcache_lint.places import Place, Source
from promptcache_lint.prompts import Hole, flatten
from promptcache_lint.proof import (
    as_proven,
    behind_steady_tools,
    behind_what_is_steady,
    where_it_is_cached,
    where_more_follows,
)
from promptcache_lint.readers.choice import choose_reader
from promptcache_lint.readers.reading import Forgetful, InputFile, Workspace
from promptcache_lint.rule import PracticeRule, SignRule
from promptcache_lint.rulebook import all_rules
from promptcache_lint.suppressions import MARKER, apply, find_suppressions

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from promptcache_lint.prompts import Prompt
    from promptcache_lint.readers.reading import Reader
    from promptcache_lint.result_cache import ResultCache
    from promptcache_lint.settings import Settings

__all__ = ["FileLinter", "FileResult", "encoding_of", "read_text"]


@dataclass(frozen=True)
class FileResult:
    """The findings in one file, and its text where it has some.

    Warnings are among them whatever is wanted: one may be the place of an error that another file reports.
    """

    shown: str
    findings: tuple[Finding, ...]
    source: Source | None = None
    notes: tuple[str, ...] = ()


class FileLinter:
    """Lints files one by one, under the same settings, with what their readers share.

    ``roots`` are the folders in which imports are followed, ``base`` the one that paths are shown from.
    """

    def __init__(
        self, settings: Settings, roots: tuple[Path, ...], base: Path, cache: ResultCache | None = None
    ) -> None:
        self._settings = settings
        self._cache = cache
        self.workspace = Workspace(vocabulary_of(settings), roots, base)
        self.notes: list[str] = []
        self._read_elsewhere: dict[Path, tuple[list[Prompt], Source]] = {}

    def lint(self, path: Path, *, asked: bool) -> FileResult:
        """Lint the file at ``path``; what cannot be read becomes a PC900."""
        shown = self.workspace.display(path)
        settings = self._settings.in_file(path)
        try:
            source = self.workspace.source(path, read_text(path))
        except UnreadableFileError as error:
            found = _unreadable(shown, error, settings)
            return FileResult(shown, tuple(found), Source(shown, "") if found else None)
        self.notes.clear()
        least = min(settings.severity, Severity.WARNING)
        findings = self._graver(InputFile(path, source, asked), settings, least)
        return FileResult(shown, tuple(findings), source if findings else None, tuple(self.notes))

    def lint_source(self, file: InputFile) -> list[Finding]:
        """The findings in a text, in order of place and code; a fault of the linter's own is a PC900."""
        settings = self._settings.in_file(file.path)
        return self._graver(file, settings, settings.severity)

    def _graver(self, file: InputFile, settings: Settings, least: Severity) -> list[Finding]:
        try:
            findings = self._looked_up(file, settings)
        except Exception as error:  # noqa: BLE001 - one file that trips a reader or rule must not end the run
            self.workspace.shared.clear()  # what the readers share may be half done
            findings = _unreadable(file.source.path, InternalError(error), settings)
        return [finding for finding in findings if finding.severity >= least]

    def _looked_up(self, file: InputFile, settings: Settings) -> list[Finding]:
        """What the cache knows of a text, or else what is found in it."""
        source = file.source
        reader = choose_reader(file.path, source.called, source.text, asked=file.asked)
        if reader is None:
            return []
        cached = self._cache.look_up(file, reader, settings, self.workspace) if self._cache else None
        if cached is not None and cached.findings is not None:
            findings = list(cached.findings)
        else:
            findings = self._found(file, reader, settings)
            if cached is not None and self._cache is not None:
                self._cache.keep(cached, findings)
        return findings

    def forget(self) -> None:
        """Let go of what the readers share."""
        for known in self.workspace.shared.values():
            if isinstance(known, Forgetful):
                known.forget()
        self.workspace.shared.clear()

    def again(self) -> FileLinter:
        """A linter under the same settings that has read nothing yet, for a file that changed."""
        return FileLinter(self._settings, self.workspace.roots, self.workspace.base)

    def _found(self, file: InputFile, reader: Reader, settings: Settings) -> list[Finding]:
        source = file.source
        prepare_python(file, self.workspace)
        try:
            prompts = list(reader.read(file, self.workspace))
        except MissingExtraError as error:
            self.notes.append(str(error))
            return []
        except UnreadableFileError as error:
            return _unreadable(source.path, error, settings)
        except RecursionError:
            too_deep = UnreadableFileError("The file is nested too deeply to be followed.")
            return _unreadable(source.path, too_deep, settings)
        findings = one_for_each_fault(self._checked(prompts, source, settings))
        findings += _unchecked(prompts, settings)
        if MARKER in source.text:
            findings = _suppressed(findings, reader, source, settings)
        findings.sort(key=lambda finding: (finding.place, finding.code))
        if settings.fixes:
            trial = Trial(file, prompts, findings, self.retried)
            findings = [replace(finding, fix=trial.fix_for(finding)) for finding in findings]
        return findings

    def _checked(
        self, prompts: list[Prompt], source: Source, settings: Settings
    ) -> list[tuple[Prompt, Finding]]:
        rules = [rule for rule in all_rules() if settings.selects(rule.code)] if prompts else []
        aside = is_beside_the_product(source.called)
        found = []
        for prompt in prompts:
            codes = _codes_in(prompt)
            concerned = (rule for rule in rules if rule.concerns(codes))
            for rule in concerned:
                most = Severity.WARNING if aside and isinstance(rule, PracticeRule) else Severity.ERROR
                most = Severity.INFO if aside and rule.code == _DATE else most  # each run has its own day
                for finding in rule.check(prompt):
                    if finding.place.path == source.path:
                        told = replace(finding, severity=min(finding.severity, most))
                        if isinstance(rule, SignRule):
                            told = as_proven(told, prompt, self.workspace)
                        told = behind_what_is_steady(told, prompts, source)
                        told = self._also_where_it_is_cut(told)
                        told = behind_steady_tools(told, prompt, prompts)
                        told = where_more_follows(told, prompts)
                        found.append((prompt, where_it_is_cached(told, prompt, source)))
        return found

    def _also_where_it_is_cut(self, finding: Finding) -> Finding:
        """The finding of a cut that another file makes: what stands in front of it there counts, too."""
        cut = finding.source
        elsewhere = cut is not None and cut.path != finding.place.path
        if cut is None or not elsewhere or finding.code != _CUT or finding.severity < Severity.ERROR:
            return finding
        path = self.workspace.base / cut.path
        read = self._read_elsewhere.get(path)
        if read is None:
            try:
                source = self.workspace.source(path, read_text(path))
                read = self.again().prompts_in(InputFile(path, source, asked=False)), source
            except (UnreadableFileError, MissingExtraError, RecursionError):
                return finding
            self._read_elsewhere[path] = read
        return behind_what_is_steady(finding, *read)

    def prompts_in(self, file: InputFile) -> list[Prompt]:
        """What its reader finds in a file; raises what that raises."""
        reader = choose_reader(file.path, file.source.called, file.source.text, asked=file.asked)
        prepare_python(file, self.workspace)
        return [] if reader is None else list(reader.read(file, self.workspace))

    def retried(self, file: InputFile) -> list[Finding]:
        """What there is to find in a changed text, of any severity, without a word of the first reading."""
        settings = replace(
            self._settings,
            select=("PC",),
            ignore=(),
            per_file_ignores=(),
            severity=Severity.INFO,
            fixes=False,
        )
        fresh = FileLinter(settings, self.workspace.roots, self.workspace.base)
        return fresh.lint_source(file)


LARGEST_FILE = 8 << 20
"""Bytes beyond which a file is data, not a prompt."""
_PYTHON = {".py", ".pyi"}
_CUT = "PC501"
_DATE = "PC109"
_CODING = re.compile(rb"^[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)")
_BLANK = re.compile(rb"^[ \t\f]*(?:[#\r].*)?$")


def read_text(path: Path) -> str:
    """The text of a file. Raises `UnreadableFileError`: no file, too large, or where it is not UTF-8."""
    try:
        status = path.stat()
        if not S_ISREG(status.st_mode):  # a device may never end, a pipe never begin
            raise UnreadableFileError("Not read: not a regular file.")
        size = status.st_size
        if size > LARGEST_FILE:
            limit = f"{LARGEST_FILE >> 20} MiB"
            raise UnreadableFileError(
                f"Not read: {size / 2**20:.1f} MiB, and no prompt is larger than {limit}."
            )
        data = path.read_bytes()
        text = data.decode(encoding_of(path, data))
    except LookupError as error:
        raise UnreadableFileError(f"Cannot be read: {error}.") from error
    except UnicodeDecodeError as error:
        before = error.object[: error.start]
        row = before.count(b"\n") + 1
        column = error.start - (before.rfind(b"\n") + 1) + 1
        raise UnreadableFileError(
            f"Not {error.encoding.upper()}: {error.reason}.", row=row, column=column
        ) from error
    except OSError as error:
        raise UnreadableFileError(f"Cannot be read: {error.strerror}.") from error
    return text.replace("\r\n", "\n")


def encoding_of(path: Path, data: bytes) -> str:
    """UTF-8, or what a Python file says in one of its first two lines (PEP 263)."""
    if path.suffix.lower() not in _PYTHON or data.startswith(codecs.BOM_UTF8):
        return "utf-8-sig"
    for line in data.split(b"\n", 2)[:2]:
        match = _CODING.match(line)
        if match is not None:
            return match[1].decode("ascii")
        if not _BLANK.match(line):
            break
    return "utf-8-sig"


def _unreadable(shown: str, error: UnreadableFileError, settings: Settings) -> list[Finding]:
    if not settings.selects("PC900"):
        return []
    place = Place(shown, error.row, error.column, error.row, error.column)
    return [Finding("PC900", Severity.WARNING, error.problem, place)]


def _codes_in(prompt: Prompt) -> set[str]:
    """The codes of the faults that values in a prompt may bring along."""
    parts = (part for segment in prompt.segments for part in flatten(segment.parts))
    return {trait.mark.code for part in parts if isinstance(part, Hole) for trait in part.traits}


def _unchecked(prompts: Iterable[Prompt], settings: Settings) -> list[Finding]:
    """What a reader says it could not judge, beside what it could."""
    practices = (practice for prompt in prompts for practice in prompt.practices)
    return [
        Finding("PC900", practice.severity, practice.says, practice.place)
        for practice in practices
        if practice.code == "PC900" and settings.selects("PC900")
    ]


def _suppressed(findings: list[Finding], reader: Reader, source: Source, settings: Settings) -> list[Finding]:
    suppressions = find_suppressions(source, reader.comments(source))
    known = [rule.code for rule in all_rules() if settings.selects(rule.code)]
    kept, unused = apply(findings, suppressions, source.path, known=known)
    return kept + (unused if settings.selects("PC901") else [])
