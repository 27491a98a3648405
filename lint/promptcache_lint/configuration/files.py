"""Configuration files: which one holds for a folder, and the table in it that speaks to the linter."""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING, Any

from promptcache_lint.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

__all__ = ["TABLES", "find_table", "read_table"]

TABLES: Mapping[str, tuple[str, ...]] = {
    "promptcache.toml": ("lint",),
    "pyproject.toml": ("tool", "promptcache", "lint"),
}
"""The files by name, the stronger one first, and the path of the table in each."""


def find_table(folder: Path) -> tuple[Path, dict[str, Any]] | None:
    """The file in this very folder that has a table for the linter, and the table; None for none."""
    for name in TABLES:
        file = folder / name
        if file.is_file():
            table = read_table(file)
            if table is not None:
                return file, table
    return None


def read_table(file: Path) -> dict[str, Any] | None:
    """The linter's table in ``file``; None where the file has none.

    Raises `ConfigurationError` for a file that is no TOML or whose table is none.
    """
    path = TABLES.get(file.name, ("lint",))
    value: object = _read(file)
    done: list[str] = []
    for key in path:
        if not isinstance(value, dict):
            raise ConfigurationError(
                file,
                ".".join(done),
                "must be a table.",
                remedy=f"Write [{'.'.join(path)}] and its keys below.",
            )
        if key not in value:
            return None
        value = value[key]
        done.append(key)
    if not isinstance(value, dict):
        raise ConfigurationError(
            file, ".".join(done), "must be a table.", remedy=f"Write [{'.'.join(path)}] and its keys below."
        )
    return value


def _read(file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(file.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise ConfigurationError(
            file, "", f"cannot be read: {error.strerror}.", remedy="Check the path and its rights."
        ) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ConfigurationError(
            file, "", f"is not valid TOML: {error}.", remedy="Correct the file."
        ) from error
