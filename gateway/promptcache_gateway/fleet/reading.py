"""Replicas as promptcache.toml, or a file of replicas, writes them.

A replica is an address, or a table with ``url`` and whatever else is to be said of it. A key stands in the
environment or in a file of its own.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from promptcache_gateway.errors import SettingsError
from promptcache_gateway.fleet.settings import FleetSettings, ReplicaSettings

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    ReadKey = Callable[[str, str | None, str | None], str | None]

_TYPES: dict[str, tuple[type, ...]] = {
    "url": (str,),
    "name": (str,),
    "weight": (int, float),
    "max_concurrency": (int,),
    "account": (str,),
    "region": (str,),
    "api_key_env": (str,),
    "api_key_file": (str,),
    "kv_events": (str,),
    "kv_replay": (str,),
}
_KNOBS: dict[str, tuple[type, ...]] = {
    "max_concurrency": (int,),
    "health_path": (str,),
    "health_interval_s": (int, float),
    "unhealthy_after": (int,),
    "lookup_s": (int, float),
    "hold_s": (int, float),
    "hold_tokens": (int,),
    "queue_s": (int, float),
    "cache_tokens": (int,),
    "kv_events": (str,),
    "kv_replay": (str,),
}
OWN = ("replicas", "replicas_dns", "replicas_file", "routing", "fleet")
"""The settings of an upstream that are a fleet's."""


def read_fleet(table: Mapping[str, Any], where: str, read_key: ReadKey) -> FleetSettings | None:
    """The fleet of an upstream's table; None where it has no replicas. Raises `SettingsError`.

    Args:
        table: the upstream's, types of its own values checked.
        where: what messages call it.
        read_key: the key that ``api_key_env`` or ``api_key_file`` of a replica name.
    """
    if not any(name in table for name in OWN[:3]):
        for name in OWN[3:]:
            if name in table:
                raise SettingsError(f"{where}.{name}", "there are no replicas.", remedy="List them.")
        return None
    knobs = dict(_checked(table.get("fleet", {}), _KNOBS, f"{where}.fleet"))
    replicas = read_replicas(table.get("replicas", []), f"{where}.replicas", table.get("url"), read_key)
    file = table.get("replicas_file")
    if "routing" in table:
        knobs["routing"] = table["routing"]
    try:
        return FleetSettings(
            replicas=replicas,
            dns=table.get("replicas_dns", ""),
            file=None if file is None else Path(file).expanduser(),
            **knobs,
        )
    except SettingsError as error:
        raise SettingsError(f"{where}.{error.setting}", error.problem, remedy=error.remedy) from None


def read_replicas(
    listed: Sequence[Any], where: str, url: str | None, read_key: ReadKey
) -> tuple[ReplicaSettings, ...]:
    """A list of replicas; ``url`` is what those without one of their own get. Raises `SettingsError`."""
    return tuple(_replica(one, f"{where}[{number}]", url, read_key) for number, one in enumerate(listed))


def read_file(path: Path, read_key: ReadKey) -> tuple[ReplicaSettings, ...]:
    """The replicas in a file; raises `SettingsError` where it cannot be used."""
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError) as error:
        raise SettingsError(
            str(path), f"cannot be read: {error}.", remedy="Mend it, or name another in replicas_file."
        ) from error
    unknown = [name for name in tables if name != "replicas"]
    if unknown:
        raise SettingsError(
            f"{path}: {unknown[0]}", "there is no such setting.", remedy="The file holds replicas = […] only."
        )
    listed = tables.get("replicas")
    if not isinstance(listed, list):
        raise SettingsError(str(path), "has no list of replicas.", remedy='Write replicas = ["http://…"].')
    if not listed:
        raise SettingsError(
            str(path), "lists no replica.", remedy="List one at least; drain those that are to get nothing."
        )
    found = read_replicas(listed, f"{path}: replicas", None, read_key)
    if len({one.label for one in found}) < len(found):
        raise SettingsError(str(path), "two replicas have the same name.", remedy="Name them apart.")
    return found


def _replica(value: object, where: str, url: str | None, read_key: ReadKey) -> ReplicaSettings:
    table = {"url": value} if isinstance(value, str) else value
    if not isinstance(table, dict):
        raise SettingsError(
            where,
            f"must be an address or a table with url, not {value!r:.60}.",
            remedy='Write "http://HOST:PORT".',
        )
    known = dict(_checked(table, _TYPES, where))
    if "url" not in known:
        if not url:
            raise SettingsError(f"{where}.url", "is missing.", remedy="Name the replica's address.")
        known["url"] = url
    key = read_key(where, known.pop("api_key_env", None), known.pop("api_key_file", None))
    try:
        return ReplicaSettings(**known, api_key=key)
    except SettingsError as error:
        raise SettingsError(f"{where}.{error.setting}", error.problem, remedy=error.remedy) from None


def _checked(table: object, types: Mapping[str, tuple[type, ...]], where: str) -> Mapping[str, Any]:
    if not isinstance(table, dict):
        raise SettingsError(where, "must be a table.", remedy="Write { name = value, … }.")
    for name, value in table.items():
        if name not in types:
            raise SettingsError(
                f"{where}.{name}", "there is no such setting.", remedy=f"Known: {', '.join(types)}."
            )
        if not isinstance(value, types[name]) or isinstance(value, bool):
            raise SettingsError(f"{where}.{name}", f"must be {_wanted(types[name])}, not {value!r:.60}.")
    return table


def _wanted(types: tuple[type, ...]) -> str:
    return "a string" if str in types else "a number" if float in types else "a whole number"
