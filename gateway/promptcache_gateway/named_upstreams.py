"""``[upstreams.NAME]`` and ``[models]`` of promptcache.toml as settings.

Keys of upstreams stand in the environment or in a file of their own, never in promptcache.toml: what
is shared and checked in must hold no secret.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from promptcache_gateway.errors import SettingsError
from promptcache_gateway.upstream_settings import ModelSettings, Target, UpstreamSettings

if TYPE_CHECKING:
    from collections.abc import Mapping


def read_upstreams(tables: Mapping[str, Any], environ: Mapping[str, str]) -> tuple[UpstreamSettings, ...]:
    """The named upstreams in the file's order; raises `SettingsError` where one cannot be used."""
    return tuple(_upstream(name, table, environ) for name, table in tables.get("upstreams", {}).items())


def read_models(table: Mapping[str, list[str]]) -> tuple[ModelSettings, ...]:
    """The aliases; whether their upstreams exist is found out by who uses them. Raises `SettingsError`."""
    return tuple(
        ModelSettings(name, tuple(Target.parse(text, f"models.{name}") for text in texts))
        for name, texts in table.items()
    )


def _upstream(name: str, table: Mapping[str, Any], environ: Mapping[str, str]) -> UpstreamSettings:
    if not name or not name.isascii() or any(char in name for char in "/ \t\n"):
        raise SettingsError(
            f"upstreams.{name}", "is no name.", remedy="Use letters, digits, '-', '_' and '.', without '/'."
        )
    values = dict(table)
    key = _key(name, values.pop("api_key_env", None), values.pop("api_key_file", None), environ)
    if values.get("kind") != "engine" and "url" not in values:
        raise SettingsError(f"upstreams.{name}.url", "is missing.", remedy="Name the server's address.")
    for listed in ("apis", "models"):
        values[listed] = tuple(values.get(listed, ()))
    return UpstreamSettings(**values, name=name, api_key=key)


def _key(name: str, variable: str | None, file: str | None, environ: Mapping[str, str]) -> str | None:
    """The upstream's key; one that was named and is not there is an error, no unauthorized call."""
    if variable is not None and file is not None:
        raise SettingsError(f"upstreams.{name}", "has both api_key_env and api_key_file.", remedy="Keep one.")
    if variable is not None:
        key = environ.get(variable, "").strip()
        if not key:
            raise SettingsError(
                f"upstreams.{name}.api_key_env", f"{variable} is not set.", remedy="Set it, or drop the line."
            )
        return key
    return None if file is None else _key_in(name, Path(file).expanduser())


def _key_in(name: str, path: Path) -> str:
    where = f"upstreams.{name}.api_key_file"
    try:
        key = path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(where, f"cannot read {path}.") from error
    if not key or not key.isprintable():
        raise SettingsError(where, f"{path} does not hold one key.")
    return key
