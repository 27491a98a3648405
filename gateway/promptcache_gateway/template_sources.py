"""Which file a template is written in, and what the linter found there.

``[templates.NAME] source = "prompts/support.j2"`` ties the two; the findings come from a report that
``promptcache lint --output-format json`` wrote. The linter itself is neither imported nor run: its report is
read again whenever it has changed.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

import orjson

from promptcache_gateway.errors import SettingsError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_MAX_REPORT = 64 * 1024 * 1024
_SHOWN = ("code", "severity", "message", "filename", "location", "end_location", "source", "flow", "url")


@dataclass(frozen=True, slots=True)
class SourceSettings:
    """What was configured.

    Attributes:
        files: the source of each template, as it was written.
        report: the linter's report, or None.
        folder: what relative paths start from: where promptcache.toml lies.
    """

    files: Mapping[str, str] = field(default_factory=dict)
    report: Path | None = None
    folder: Path = field(default_factory=Path)


def read_sources(tables: Mapping[str, Any], config: Path | None) -> SourceSettings:
    """``[templates.NAME]`` and ``[serve] lint_report``; raises `SettingsError` for a missing source."""
    folder = Path() if config is None else config.parent
    files = {
        name: table["source"] for name, table in tables.get("templates", {}).items() if "source" in table
    }
    for name, file in files.items():
        if not (folder / file).is_file():
            raise SettingsError(
                f"templates.{name}.source",
                f"there is no file {folder / file}.",
                remedy="Name the template's file, relative to promptcache.toml.",
            )
    report = tables.get("serve", {}).get("lint_report")
    return SourceSettings(files, None if report is None else folder / report, folder)


class TemplateSources:
    """The sources of templates and the linter's findings in them. Safe to share between threads."""

    def __init__(self, settings: SourceSettings | None = None) -> None:
        self._settings = SourceSettings() if settings is None else settings
        self._stamp: tuple[int, int] | None = None
        self._findings: list[tuple[frozenset[Path], dict[str, Any]]] = []
        self._problem: str | None = None
        self._lock = Lock()

    def file(self, template: str) -> str | None:
        """The template's file as it was configured, or None."""
        return self._settings.files.get(template)

    def about(self, template: str, causes: Iterable[str]) -> dict[str, Any] | None:
        """``{file, findings, problem}`` of a template, None where its source is not known.

        ``findings`` are those of these causes in its file, None where there is no report to read;
        ``problem`` says why a report cannot be read.
        """
        file = self.file(template)
        if file is None:
            return None
        wanted, path = frozenset(causes), (self._settings.folder / file).resolve()
        with self._lock:
            self._read()
            found = [shown for paths, shown in self._findings if shown["code"] in wanted and path in paths]
            readable = self._settings.report is not None and self._problem is None
            return {"file": file, "findings": found if readable else None, "problem": self._problem}

    def _read(self) -> None:
        report = self._settings.report
        if report is None:
            return
        try:
            stat = report.stat()
            stamp = (stat.st_mtime_ns, stat.st_size)
            if stamp == self._stamp:
                return
            self._findings, self._problem = self._load(report, stat.st_size), None
            self._stamp = stamp
        except OSError as error:
            self._forget(f"{report}: {(error.strerror or 'cannot be read').lower()}.")
        except (ValueError, TypeError, KeyError):
            self._forget(f"{report} is not what 'promptcache lint --output-format json' writes.")

    def _forget(self, problem: str) -> None:
        self._findings, self._problem, self._stamp = [], problem, None

    def _load(self, report: Path, size: int) -> list[tuple[frozenset[Path], dict[str, Any]]]:
        if size > _MAX_REPORT:
            raise ValueError(size)
        listed = orjson.loads(report.read_bytes())
        if not isinstance(listed, list):
            raise TypeError(listed)
        return [
            (self._places(finding, report.parent), {name: finding.get(name) for name in _SHOWN})
            for finding in listed
            if isinstance(finding["code"], str)
        ]

    def _places(self, finding: Mapping[str, Any], folder: Path) -> frozenset[Path]:
        """The files a finding runs through; its paths are relative to where the linter ran."""
        steps = [
            finding,
            *([finding["source"]] if finding.get("source") else []),
            *(finding.get("flow") or ()),
        ]
        names = {step["filename"] for step in steps}
        roots = {Path.cwd(), self._settings.folder, folder}
        return frozenset((root / name).resolve() for name in names for root in roots)
