"""Settings by folder: the nearest configuration file above decides, and the command line goes before it.

Files are not merged: a nested one replaces the outer one for what lies below it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from promptcache_lint.configuration.files import find_table, read_table
from promptcache_lint.configuration.keys import settings_from
from promptcache_lint.errors import ConfigurationError
from promptcache_lint.settings import Settings, SettingsOf

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

__all__ = ["SettingsTree"]


class SettingsTree(SettingsOf):
    """Reads configuration files as folders are met.

    ``overrides`` are fields of `Settings` from the command line; an ``exclude`` among them adds to the
    file's. ``config`` names one file that holds everywhere; ``isolated`` reads none at all.
    """

    def __init__(
        self,
        overrides: Mapping[str, Any] | None = None,
        *,
        config: Path | None = None,
        isolated: bool = False,
    ) -> None:
        self._overrides = dict(overrides or {})
        self._known: dict[Path, Settings] = {}
        self._fixed: Settings | None = None
        if isolated:
            self._fixed = self._made({})
        elif config is not None:
            self._fixed = self._made(settings_from(config, _asked_table(config)))
        self._without = self._fixed or self._made({})

    def folder(self, folder: Path) -> Settings:
        """The settings for what lies in ``folder``. Raises `ConfigurationError`, `UnknownSelectorError`."""
        if self._fixed is not None:
            return self._fixed
        if folder not in self._known:
            found = find_table(folder)
            if found is not None:
                self._known[folder] = self._made(settings_from(*found))
            elif folder.parent == folder:
                self._known[folder] = self._without
            else:
                self._known[folder] = self.folder(folder.parent)
        return self._known[folder]

    def _made(self, fields: dict[str, Any]) -> Settings:
        merged = {**fields, **self._overrides}
        if "exclude" in self._overrides:
            merged["exclude"] = (*fields.get("exclude", ()), *self._overrides["exclude"])
        return Settings(**merged)


def _asked_table(config: Path) -> dict[str, Any]:
    table = read_table(config)
    if table is None:
        raise ConfigurationError(
            config,
            "",
            "has no table for the linter.",
            remedy="Write [lint], or [tool.promptcache.lint] in a pyproject.toml.",
        )
    return table
