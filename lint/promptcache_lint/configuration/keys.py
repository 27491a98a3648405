"""The keys of the table, each with what it may hold: from TOML values to the fields of `Settings`.

A key that is unknown or of the wrong kind is an error that names the file, the key and what to write instead:
a setting that is silently ignored is worse than none.
"""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from promptcache.causes import CAUSES
from promptcache_lint.configuration.files import TABLES
from promptcache_lint.declared import check_pattern, declarable_codes
from promptcache_lint.errors import ConfigurationError
from promptcache_lint.findings import Severity

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

__all__ = ["KEYS", "settings_from"]


@dataclass(frozen=True, slots=True)
class _Key:
    """A key in a file, for errors, and its value."""

    file: Path
    name: str
    value: Any

    def wrong(self, problem: str, remedy: str) -> ConfigurationError:
        """The error that says so."""
        return ConfigurationError(self.file, self.name, problem, remedy=remedy)

    def inner(self, name: str, value: object) -> _Key:
        """A key below this one."""
        return _Key(self.file, f'{self.name}."{name}"', value)


def settings_from(file: Path, table: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of `Settings` that a table sets. Raises `ConfigurationError`."""
    prefix = ".".join(TABLES.get(file.name, ("lint",)))
    fields: dict[str, Any] = {"root": file.parent.resolve()}
    for name, value in table.items():
        if name not in KEYS:
            near = difflib.get_close_matches(name, KEYS, 1)
            remedy = f"Did you mean {near[0]!r}?" if near else f"Known keys: {', '.join(sorted(KEYS))}."
            raise ConfigurationError(file, f"{prefix}.{name}", "there is no such key.", remedy=remedy)
        field, read = KEYS[name]
        fields[field] = read(_Key(file, f"{prefix}.{name}", value))
    return fields


# --- kinds of values ------------------------------------------------------------------------------------


def _strings(key: _Key) -> tuple[str, ...]:
    if not isinstance(key.value, list) or not all(isinstance(item, str) and item for item in key.value):
        raise key.wrong("must be a list of strings.", 'Write for example ["…", "…"].')
    return tuple(key.value)


def _codes(key: _Key) -> tuple[str, ...]:
    codes = tuple(code.strip().upper() for code in _strings(key))
    for code in codes:
        if not any(known.startswith(code) for known in CAUSES):
            raise key.wrong(f"{code!r} selects no rule.", "List the codes with `promptcache rule`.")
    return codes


def _severity(key: _Key) -> Severity:
    names = [str(severity) for severity in Severity]
    if key.value not in names:
        raise key.wrong(f"must be one of {', '.join(names)}.", 'Write for example "warning".')
    return Severity[str(key.value).upper()]


def _switch(key: _Key) -> bool:
    if not isinstance(key.value, bool):
        raise key.wrong("must be true or false.", "Write it without quotes.")
    return key.value


def _path(key: _Key) -> Path:
    if not isinstance(key.value, str) or not key.value:
        raise key.wrong("must be a path.", "Write it in quotes, relative to this file.")
    return (key.file.parent / key.value).resolve()


def _patterns_with_codes(key: _Key) -> tuple[tuple[str, tuple[str, ...]], ...]:
    table = _table(key, '"tests/**" = ["PC1"]')
    return tuple((pattern, _codes(key.inner(pattern, codes))) for pattern, codes in table.items())


def _names_with_code(key: _Key) -> tuple[tuple[str, str], ...]:
    table = _table(key, '"acme.clock.stamp" = "PC101"')
    return tuple((name, _code(key.inner(name, code))) for name, code in table.items())


def _volatile_names(key: _Key) -> tuple[tuple[str, str], ...]:
    pairs = _names_with_code(key)
    _check_names(key, [name for name, _ in pairs])
    return pairs


def _names(key: _Key) -> tuple[str, ...]:
    names = _strings(key)
    _check_names(key, list(names))
    return names


def _check_names(key: _Key, names: list[str]) -> None:
    for name in names:
        try:
            check_pattern(name)
        except re.error as error:
            problem = f"{name!r} is neither a name nor a regular expression ({error})."
            raise key.wrong(problem, "Correct the pattern.") from error


def _code(key: _Key) -> str:
    known = declarable_codes()
    code = str(key.value).strip().upper()
    if code not in known:
        raise key.wrong(f"{key.value!r} is no code of a kind of value.", f"Use one of {', '.join(known)}.")
    return code


def _table(key: _Key, example: str) -> dict[str, Any]:
    if not isinstance(key.value, dict):
        raise key.wrong("must be a table.", f"Write for example {example}.")
    return key.value


KEYS: Mapping[str, tuple[str, Callable[[_Key], Any]]] = {
    "select": ("select", _codes),
    "ignore": ("ignore", _codes),
    "severity": ("severity", _severity),
    "exclude": ("exclude", _strings),
    "respect-gitignore": ("respect_gitignore", _switch),
    "per-file-ignores": ("per_file_ignores", _patterns_with_codes),
    "sources": ("sources", _names_with_code),
    "sinks": ("sinks", _strings),
    "volatile-names": ("volatile_names", _volatile_names),
    "static-names": ("static_names", _names),
    "baseline": ("baseline", _path),
}
"""The keys, the field of `Settings` each sets, and how its value is read."""
