"""Finds replicas that are not listed: by a name that has several addresses, or in a file that is watched.

What cannot be looked up or read leaves everything as it was: a name server's bad minute removes no replica.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
from dataclasses import replace
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from promptcache_gateway.errors import SettingsError
from promptcache_gateway.fleet.reading import read_file
from promptcache_gateway.fleet.settings import ReplicaSettings
from promptcache_gateway.named_keys import read_key

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from promptcache_gateway.fleet.settings import FleetSettings

_log = logging.getLogger("promptcache.gateway")

_FILE_S = 1.0


class Discovery:
    """All replicas of one fleet: those that are listed, and those that are found.

    Args:
        settings: where to look.
        found: called with all of them whenever they have changed.
    """

    def __init__(self, settings: FleetSettings, found: Callable[[tuple[ReplicaSettings, ...]], None]) -> None:
        self._settings = settings
        self._found = found
        self._named: tuple[ReplicaSettings, ...] = ()
        self._filed: tuple[ReplicaSettings, ...] = ()
        self._stamp: tuple[int, int] | None = None
        self._told: tuple[ReplicaSettings, ...] | None = None
        self._silenced = False
        self._missed = False

    async def first(self) -> None:
        """Look once; raises `SettingsError` where the file of replicas cannot be used."""
        file = self._settings.file
        if file is not None:
            self._stamp = _stamp(file)
            self._filed = await self._read(file)
        await self._look_up()
        self._tell()

    async def run(self) -> None:
        """Look again and again until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            if self._settings.dns:
                tasks.create_task(self._follow_name())
            if self._settings.file is not None:
                tasks.create_task(self._follow_file(self._settings.file))

    async def _follow_name(self) -> None:
        while True:
            await asyncio.sleep(self._settings.lookup_s)
            await self._look_up()
            self._tell()

    async def _follow_file(self, file: Path) -> None:
        while True:
            await asyncio.sleep(min(_FILE_S, self._settings.lookup_s))
            stamp = _stamp(file)
            if stamp is None and not self._missed:
                _log.error("%s is gone; the replicas are as they were", file)
            self._missed = stamp is None
            if stamp in {None, self._stamp}:
                continue
            self._stamp = stamp
            try:
                self._filed = await self._read(file)
            except SettingsError as error:
                _log.error("the replicas are as they were: %s", error)
            else:
                self._tell()

    async def _read(self, file: Path) -> tuple[ReplicaSettings, ...]:
        return await asyncio.to_thread(_read_beside, file, self._settings.replicas)

    async def _look_up(self) -> None:
        if not self._settings.dns:
            return
        parts = urlsplit(self._settings.dns)
        assert parts.hostname is not None
        try:
            answers = await asyncio.get_running_loop().getaddrinfo(
                parts.hostname, parts.port or 80, type=socket.SOCK_STREAM
            )
        except OSError as error:
            if not self._silenced:
                _log.error("cannot look up %s: %s; the replicas are as they were", parts.hostname, error)
            self._silenced = True
            return
        self._silenced = False
        hosts = sorted({str(answer[4][0]) for answer in answers})
        netlocs = [f"[{host}]" if ":" in host else host for host in hosts]
        port = "" if parts.port is None else f":{parts.port}"
        self._named = tuple(
            ReplicaSettings(url=parts._replace(netloc=f"{netloc}{port}").geturl()) for netloc in netlocs
        )

    def _tell(self) -> None:
        every = {one.label: one for one in (*self._named, *self._filed, *self._settings.replicas)}
        found = tuple(_with_events(one, self._settings) for one in every.values())
        if found != self._told:
            self._told = found
            self._found(found)


def check_file(file: Path, setting: str, listed: tuple[ReplicaSettings, ...] = ()) -> None:
    """Judge a file of replicas, taking none of them; raises `SettingsError`, which names the setting.

    ``listed``: those that the settings name themselves.
    """
    try:
        _read_beside(file, listed)
    except SettingsError as error:
        raise SettingsError(
            setting, error.message, remedy=error.remedy or "Name a file that holds some."
        ) from error


def _read_beside(file: Path, listed: tuple[ReplicaSettings, ...]) -> tuple[ReplicaSettings, ...]:
    """The replicas of a file; raises `SettingsError`, also where one is listed under the same name."""
    found = read_file(file, _read_key)
    twice = sorted({one.label for one in found} & {one.label for one in listed})
    if twice:
        raise SettingsError(
            str(file), f"names {twice[0]}, which replicas lists, too.", remedy="Name it at one place."
        )
    return found


def _with_events(replica: ReplicaSettings, settings: FleetSettings) -> ReplicaSettings:
    """A replica with the fleet's addresses of events where it has none of its own."""
    host = urlsplit(replica.url).hostname or ""
    host = f"[{host}]" if ":" in host else host
    return replace(
        replica,
        kv_events=replica.kv_events or settings.kv_events.replace("{host}", host),
        kv_replay=replica.kv_replay or settings.kv_replay.replace("{host}", host),
    )


def _stamp(file: Path) -> tuple[int, int] | None:
    try:
        known = file.stat()
    except OSError:
        return None
    return known.st_mtime_ns, known.st_size


def _read_key(where: str, variable: str | None, file: str | None) -> str | None:
    return read_key(where, variable, file, os.environ)
