"""``[upstream]``, ``[upstreams.NAME]`` and ``[models]`` of promptcache.toml as settings.

Keys are `named_keys`' business; what concerns several replicas is the fleet's (`fleet.reading`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from promptcache_gateway.errors import SettingsError
from promptcache_gateway.fleet.reading import OWN as FLEETS_OWN
from promptcache_gateway.fleet.reading import read_fleet
from promptcache_gateway.named_keys import common_key, read_key
from promptcache_gateway.upstream_settings import ModelSettings, Target, UpstreamSettings

if TYPE_CHECKING:
    from collections.abc import Mapping

# Kinds that stand for no server of their own, and how errors call them.
_WITHOUT_REPLICAS = {"engine": "the built-in engine", "litellm": "an upstream through LiteLLM"}


def read_upstream(table: Mapping[str, Any], environ: Mapping[str, str]) -> UpstreamSettings | None:
    """The only upstream, of ``[upstream]``; None: there is no such table. Raises `SettingsError`."""
    if not table:
        return None
    if table.get("kind") == "engine":
        raise SettingsError(
            "upstream.kind", "the built-in engine needs no [upstream].", remedy="Leave the table out."
        )
    if "url" not in table:
        raise SettingsError(
            "upstream.url", "is missing.", remedy="Name the server's address, or use --upstream."
        )
    return UpstreamSettings(**{**table, "apis": tuple(table.get("apis", ()))}, api_key=common_key(environ))


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
    where = f"upstreams.{name}"
    key = read_key(where, values.pop("api_key_env", None), values.pop("api_key_file", None), environ)
    fleet = read_fleet(values, where, lambda at, variable, file: read_key(at, variable, file, environ))
    for own in FLEETS_OWN:
        values.pop(own, None)
    if fleet is not None and (without := _WITHOUT_REPLICAS.get(values.get("kind", ""))):
        raise SettingsError(f"{where}.replicas", f"{without} has none.", remedy="Leave them out.")
    if values.get("kind") not in _WITHOUT_REPLICAS and "url" not in values and fleet is None:
        raise SettingsError(f"upstreams.{name}.url", "is missing.", remedy="Name the server's address.")
    for listed in ("apis", "models"):
        values[listed] = tuple(values.get(listed, ()))
    return UpstreamSettings(**values, name=name, api_key=key, fleet=fleet)
