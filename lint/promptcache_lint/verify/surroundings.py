"""Another host, user, process id, locale and order of directories."""

from __future__ import annotations

import locale
import os
import platform
import socket
import time
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from collections.abc import Iterator

    from promptcache_lint.verify.worlds import World

__all__ = ["Surroundings"]


class Surroundings:
    """Holds what may still change while the process runs, and puts itself in place of the system."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.reverse_listings = world.reverse_listings

    def install(self) -> None:
        """Replace the system's answers, for the rest of the process."""
        self._install_names()
        self._install_listings()
        self._install_locale()

    def _install_names(self) -> None:
        world = self._world
        put: list[tuple[Any, str, Any]] = [
            (socket, "gethostname", lambda: world.host),
            (socket, "getfqdn", lambda name="": name or world.host),
            (platform, "node", lambda: world.host),
            (os, "getpid", lambda: world.process_id),
            (os, "getppid", lambda: world.process_id - 1),
            (os, "getlogin", lambda: world.user),
        ]
        for place, name, function in put:
            setattr(place, name, function)
        for name in ("USER", "LOGNAME", "USERNAME"):
            os.environ[name] = world.user
        os.environ["HOSTNAME"] = world.host
        if hasattr(os, "uname"):
            real = os.uname()
            answer = os.uname_result((real.sysname, world.host, real.release, real.version, real.machine))
            os.uname = lambda: answer

    def _install_listings(self) -> None:
        real_list, real_scan = os.listdir, os.scandir

        def listdir(path: Any = ".") -> list[Any]:
            return sorted(real_list(path), reverse=self.reverse_listings)

        def scandir(path: Any = ".") -> _Entries:
            with real_scan(path) as entries:
                found = sorted(entries, key=lambda entry: entry.name, reverse=self.reverse_listings)
            return _Entries(found)

        put: list[tuple[str, Any]] = [("listdir", listdir), ("scandir", scandir)]
        for name, function in put:
            setattr(os, name, function)

    def _install_locale(self) -> None:
        os.environ["TZ"] = self._world.zone
        if hasattr(time, "tzset"):
            time.tzset()
        for language in self._world.languages:
            try:
                locale.setlocale(locale.LC_ALL, language)
            except locale.Error:
                continue
            os.environ["LC_ALL"] = os.environ["LANG"] = language
            return


class _Entries:
    """What `os.scandir` gives, in a given order."""

    def __init__(self, entries: list[Any]) -> None:
        self._entries = iter(entries)

    def __iter__(self) -> Iterator[Any]:
        return self._entries

    def __next__(self) -> Any:
        return next(self._entries)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Nothing is open."""
