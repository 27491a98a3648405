"""The keys of a running gateway: those of the file, read again when it changes."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from promptcache_gateway.errors import StartupError
from promptcache_gateway.failures import log_failure
from promptcache_gateway.tenancy.caller import Caller
from promptcache_gateway.tenancy.key_file import digest_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from promptcache_gateway.tenancy.key_file import KeyFile

_LOOK_S = 1.0


class KeyRing:
    """Knows the callers by their keys.

    A file that becomes unreadable opens nothing new and closes nothing: what was read last holds, and the
    log says so.

    Args:
        file: the file of keys.
        clock: seconds of a clock that only runs forward.

    Raises:
        StartupError: the file is there and cannot be read.
    """

    def __init__(self, file: KeyFile, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._file = file
        self._clock = clock
        self._looked_at = clock()
        self._version = self._stamp()
        self._callers: dict[str, Caller] = {}
        self._by_id: dict[str | None, Caller] = {}
        self._ever = False
        self._read()

    @property
    def empty(self) -> bool:
        """Whether there has never been a key. Once there was one, a gateway does not open again."""
        self._look()
        return not self._ever

    def caller(self, shown: bytes) -> Caller | None:
        """Whose key this is, or None."""
        self._look()
        return self._callers.get(digest_of(shown))

    def by_id(self, key_id: str | None) -> Caller | None:
        """Whose key has this id, or None."""
        self._look()
        return self._by_id.get(key_id)

    def _look(self) -> None:
        now = self._clock()
        if now - self._looked_at < _LOOK_S:
            return
        self._looked_at = now
        stamp = self._stamp()
        if stamp == self._version:
            return
        self._version = stamp
        try:
            self._read()
        except StartupError as error:
            log_failure("reading the file of keys", error)

    def _read(self) -> None:
        keys = self._file.read()
        self._ever = self._ever or bool(keys)
        self._callers = {
            key.digest: Caller(key.tenant, key.admin, key.id, key.budget)
            for key in keys
            if key.revoked_at is None
        }
        self._by_id = {caller.key_id: caller for caller in self._callers.values()}

    def _stamp(self) -> tuple[int, int] | None:
        try:
            found = self._file.path.stat()
        except OSError:
            return None
        return found.st_mtime_ns, found.st_ino
