"""``promptcache lint PATH…``: the linter on the command line.

Exit status: 0 clean, 1 errors or warnings found, 2 could not run.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from promptcache.causes import get_cause
from promptcache_lint.baseline import Baseline
from promptcache_lint.cli_options import overrides, parser
from promptcache_lint.configuration import SettingsTree
from promptcache_lint.costs import Costs
from promptcache_lint.discovery import discover, project_of, tree_roots
from promptcache_lint.errors import LintError
from promptcache_lint.fixes.rewrite import Rewritten, difference, rewrite, write
from promptcache_lint.formats import write_report
from promptcache_lint.result_cache import CACHE_FOLDER
from promptcache_lint.run import LintReport, lint_paths

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command with ``argv`` (without the program's name) and return the exit status."""
    options = parser().parse_args(argv)
    try:
        command = _Command(
            options, SettingsTree(overrides(options), config=options.config, isolated=options.isolated)
        )
        status = command.run()
    except LintError as error:
        print(f"promptcache lint: {error}", file=sys.stderr)
        return 2
    return 0 if options.exit_zero else status


@dataclass(frozen=True)
class _Command:
    """One run of the command, with its options and the settings of every folder."""

    options: argparse.Namespace
    settings: SettingsTree

    def run(self) -> int:
        """Lint, fix where asked, print; return 1 where something is left to report."""
        report = self._lint()
        if self.options.diff or self.options.fix:
            changed = self._rewritten(report)
            if self.options.diff:
                self._print("".join(difference(file) for file in changed))
                _say("\n".join([*report.notes, _would_fix(changed)]))
                accepted = self._accepted()
                return 1 if (accepted.compared(report) if accepted else report).failed else 0
            _say(_fixed(changed))
            report = self._lint() if changed else report
        report = self._without_accepted(report)
        if self.options.costs is not None:
            report = Costs.read(self.options.costs).told(report)
        _say("\n".join(report.notes))
        self._print(self._text(report))
        return 1 if report.failed else 0

    def _lint(self) -> LintReport:
        return lint_paths(
            self.options.paths,
            self.settings,
            jobs=self.options.jobs,
            cache=self._cache(),
            force_exclude=self.options.force_exclude,
        )

    def _cache(self) -> Path | None:
        """The folder of the cache: in the project's, and none where there is no project."""
        if self.options.no_cache:
            return None
        if self.options.cache_dir is not None:
            return Path(self.options.cache_dir)
        project = project_of(Path.cwd())
        return project / CACHE_FOLDER if project is not None else None

    def _rewritten(self, report: LintReport) -> list[Rewritten]:
        found = discover(self.options.paths, self.settings, force_exclude=self.options.force_exclude)
        changed = rewrite(
            found,
            report.sources,
            tree_roots(self.options.paths),
            Path.cwd(),
            unsafe=self.options.unsafe_fixes,
            baseline=self._accepted(),
        )
        if self.options.diff:
            return changed
        done = []
        for file in changed:
            hindrance = write(file)
            if hindrance:
                _say(f"{file.shown}: not fixed, {hindrance}.")
            else:
                done.append(file)
        return done

    def _baseline_file(self) -> Path | None:
        file: Path | None = self.options.baseline or self.settings.folder(Path.cwd()).baseline
        return file

    def _accepted(self) -> Baseline | None:
        """The baseline as it stands, if there is one."""
        file = self._baseline_file()
        return Baseline.read(file) if file is not None and file.exists() else None

    def _without_accepted(self, report: LintReport) -> LintReport:
        file = self._baseline_file()
        if file is None:
            if self.options.update_baseline:
                raise LintError("--update-baseline needs a baseline.", remedy="Name it with --baseline FILE.")
            return report
        asked_and_missing = self.options.baseline is not None and not file.exists()
        if self.options.update_baseline or asked_and_missing:
            Baseline.write(report, file)
            _say(f"{file}: accepted what is found now; only what is new will be reported from here on.")
        compared = Baseline.read(file).compared(report)
        if compared.gone:
            _say(f"{file}: no longer found: {compared.gone}. Write it anew with --update-baseline.")
        return compared

    def _text(self, report: LintReport) -> str:
        form = self.options.output_format
        if report.files == 0 and form in {"full", "concise"}:
            return "No files to lint: nothing under these paths holds prompts or code.\n"
        if self.options.statistics:
            return _statistics(report)
        colour = _colour(self.options.color) and self.options.output_file is None
        return write_report(report, form, colour=colour)

    def _print(self, text: str) -> None:
        if self.options.output_file is not None:
            try:
                self.options.output_file.write_bytes(_utf8(text))
            except OSError as error:
                problem = f"{self.options.output_file}: cannot be written: {error.strerror}."
                raise LintError(problem, remedy="Check the folder and its rights.") from error
            return
        try:
            self._to_stdout(text)
            sys.stdout.flush()
        except BrokenPipeError:
            # The reader (`head`) has had enough; the rest has nowhere to go.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())

    def _to_stdout(self, text: str) -> None:
        """Write; what the terminal's encoding lacks is spelt out for people, machines get UTF-8."""
        encoding = sys.stdout.encoding or "utf-8"
        try:
            text.encode(encoding)
        except UnicodeEncodeError:
            for_people = self.options.output_format in {"full", "concise"} or self.options.statistics
            if not for_people and not self.options.diff:
                sys.stdout.buffer.write(_utf8(text))
                return
            text = text.encode(encoding, "backslashreplace").decode(encoding)
        sys.stdout.write(text)


def _utf8(text: str) -> bytes:
    """The text as UTF-8; what is left of a file's name that is none is spelt out."""
    return text.encode("utf-8", "backslashreplace")


def _say(text: str) -> None:
    """Tell a person something that is no part of the report."""
    if text:
        print(text, file=sys.stderr)


def _fixed(changed: list[Rewritten]) -> str:
    count = sum(file.fixes for file in changed)
    return f"Fixed {count} in {_files(changed)}." if count else "Nothing could be fixed."


def _would_fix(changed: list[Rewritten]) -> str:
    count = sum(file.fixes for file in changed)
    return f"Would fix {count} in {_files(changed)}." if count else "Nothing could be fixed."


def _files(changed: list[Rewritten]) -> str:
    return f"{len(changed)} file" + ("" if len(changed) == 1 else "s")


def _statistics(report: LintReport) -> str:
    counts = Counter(finding.code for finding in report.findings)
    rows = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return (
        "".join(f"{count:5d}  {code}  {get_cause(code).title}\n" for code, count in rows)
        or "Nothing found.\n"
    )


def _colour(choice: str) -> bool:
    if choice != "auto":
        return choice == "always"
    return sys.stdout.isatty() and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"
