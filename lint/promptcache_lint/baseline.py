"""A baseline: findings a project has accepted, so that only new ones are reported.

A finding is known by its code, its file, the text of its lines and what it speaks of, not by its row; of
several that are alike as many are accepted as were there. Only digests are written down. A run speaks for
the files it looked at and for those that are gone from its folders; what is accepted elsewhere stays.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from promptcache_lint.errors import BaselineError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from promptcache_lint.findings import Finding
    from promptcache_lint.places import Source
    from promptcache_lint.run import LintReport

__all__ = ["Baseline", "fingerprint"]

_VERSION = 1


def fingerprint(finding: Finding, sources: Mapping[str, Source], name: str) -> str:
    """What stays the same of a finding while lines above it come and go; ``name`` is its file's."""
    source = sources.get(finding.place.path)
    rows = range(finding.place.row, finding.place.end_row + 1)
    text = "\n".join(" ".join(source.line(row).split()) for row in rows) if source is not None else ""
    identity = "\0".join((finding.code, name, finding.segment or "", finding.subject, text))
    return sha256(identity.encode("utf-8", "surrogatepass")).hexdigest()[:32]


@dataclass(frozen=True)
class Baseline:
    """Accepted findings as they are written down: each with its fingerprint, its file and its code."""

    entries: tuple[Mapping[str, str], ...]
    file: Path

    @property
    def accepted(self) -> Counter[str]:
        """How many of each fingerprint."""
        return Counter(entry["fingerprint"] for entry in self.entries)

    @classmethod
    def read(cls, file: Path) -> Baseline:
        """Read a baseline. Raises `BaselineError` for one that is missing or no baseline."""
        remedy = "Write it anew with --update-baseline."
        try:
            data = json.loads(file.read_text(encoding="utf-8"))
        except FileNotFoundError as error:
            raise BaselineError(file, "there is no such baseline.", remedy=remedy) from error
        except OSError as error:
            raise BaselineError(file, f"cannot be read: {error.strerror}.", remedy=remedy) from error
        except (ValueError, RecursionError) as error:
            raise BaselineError(file, f"is no baseline: {error}.", remedy=remedy) from error
        if not isinstance(data, dict) or data.get("promptcache_baseline") != _VERSION:
            raise BaselineError(file, f"is no baseline of version {_VERSION}.", remedy=remedy)
        entries = data.get("findings")
        if not isinstance(entries, list) or not all(_is_entry(entry) for entry in entries):
            raise BaselineError(file, "holds entries that are no findings.", remedy=remedy)
        return cls(tuple(entries), file)

    def compared(self, report: LintReport) -> LintReport:
        """The report without what is accepted."""
        kept = self.fresh(report.findings, report.sources)
        accepted = len(report.findings) - len(kept)
        gone = len(self.entries) - len(self.elsewhere(report)) - accepted
        return replace(report, findings=tuple(kept), accepted=accepted, gone=gone)

    def elsewhere(self, report: LintReport) -> list[Mapping[str, str]]:
        """The entries of files that a run did not look at, unless they are gone from its folders."""
        looked_at = {_name(shown, self.file) for shown in report.looked_at}
        folders = tuple(path.resolve() for path in report.paths)
        names = {entry["file"] for entry in self.entries if "file" in entry} - looked_at
        kept = {name for name in names if not _is_gone(self.file.resolve().parent / name, folders)}
        return [entry for entry in self.entries if entry.get("file") in kept]

    def fresh(self, findings: Iterable[Finding], sources: Mapping[str, Source]) -> list[Finding]:
        """The findings that are not accepted."""
        left = self.accepted
        kept = []
        for finding in findings:
            print_ = fingerprint(finding, sources, _name(finding.place.path, self.file))
            if left[print_] > 0:
                left[print_] -= 1
            else:
                kept.append(finding)
        return kept

    @staticmethod
    def write(report: LintReport, file: Path) -> None:
        """Accept the findings of a report, beside what is accepted of files that it says nothing of.

        Raises `BaselineError` when the file cannot be written.
        """
        entries: list[Mapping[str, str]] = [
            {
                "code": finding.code,
                "file": (name := _name(finding.place.path, file)),
                "fingerprint": fingerprint(finding, report.sources, name),
            }
            for finding in report.findings
        ]
        with suppress(BaselineError):  # what is no baseline accepts nothing
            entries += Baseline.read(file).elsewhere(report)
        entries.sort(key=lambda entry: entry["file"])
        text = json.dumps(
            {"promptcache_baseline": _VERSION, "findings": entries}, indent=1, ensure_ascii=False
        )
        try:
            file.write_text(f"{text}\n", encoding="utf-8")
        except OSError as error:
            problem = f"cannot be written: {error.strerror}."
            raise BaselineError(file, problem, remedy="Check the folder and its rights.") from error


def _is_entry(entry: object) -> bool:
    return (
        isinstance(entry, dict)
        and isinstance(entry.get("fingerprint"), str)
        and isinstance(entry.get("file", ""), str)
    )


def _is_gone(path: Path, folders: tuple[Path, ...]) -> bool:
    path = Path(os.path.normpath(path))
    return not path.exists() and any(path.is_relative_to(folder) for folder in folders)


def _name(shown: str, baseline: Path) -> str:
    """A file's path from the baseline's folder, so that both may be called from anywhere."""
    return os.path.relpath(os.path.abspath(shown), baseline.resolve().parent).replace(os.sep, "/")  # noqa: PTH100
