"""Where a setting was told: by which option, in which file, by which variable. Errors name that place.

Whoever judges a value knows its key only (`serve.port`). Where it came from is found out here, once something
is wrong with it.
"""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING, Any

from promptcache_gateway.errors import SettingsError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

VARIABLES = {
    "serve.diagnosis": "PROMPTCACHE_DIAGNOSIS",
    "storage.database": "PROMPTCACHE_DATABASE_URL",
    "shared.url": "PROMPTCACHE_SHARED_URL",
}
"""Settings that the environment tells where nothing else does."""


def located(
    error: SettingsError, options: Mapping[str, str], file: Path | None, environ: Mapping[str, str]
) -> SettingsError:
    """The error with the place where its setting was told; itself where that is said, or nothing told it.

    Args:
        error: what is wrong, its setting a key such as ``serve.port``.
        options: what the command line says: keys, and the option of each.
        file: promptcache.toml, or None.
        environ: the environment.
    """
    place = _place(error.setting, options, file, environ)
    return error if place == error.setting else SettingsError(place, error.problem, remedy=error.remedy)


def _place(setting: str, options: Mapping[str, str], file: Path | None, environ: Mapping[str, str]) -> str:
    if setting in options:
        return options[setting]
    table, _, key = setting.partition(".")
    tables = {} if file is None or setting.startswith(f"{file}: ") else _tables(file)
    told = tables.get(table)
    variable = VARIABLES.get(setting)
    value = told.get(key) if isinstance(told, dict) else None
    in_file = value is not None and value != ""
    if variable is not None and variable in environ and not in_file:
        return variable
    return setting if told is None else f"{file}: {setting}"


def _tables(file: Path) -> dict[str, Any]:
    """The file's tables; none where it cannot be read, which is another error."""
    try:
        return tomllib.loads(file.read_text(encoding="utf-8-sig"))
    except (OSError, ValueError):
        return {}
