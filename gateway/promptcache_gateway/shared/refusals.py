"""What a store refuses although it is there: said once, with the key and what helps.

A command error (a key of another kind, no memory, no permission, a replica that cannot be written) is not the
store's absence: what was refused is passed over, and everything else goes on. What that is, `through_redis`
knows.
"""

from __future__ import annotations

import logging
import re

_log = logging.getLogger("promptcache.gateway")

_MOST = 100
_CODE = re.compile(r"\b(WRONGTYPE|OOM|NOPERM|READONLY|MISCONF)\b")
_CLASSES = {"OutOfMemoryError": "OOM", "NoPermissionError": "NOPERM", "ReadOnlyError": "READONLY"}
_REMEDIES = {
    "WRONGTYPE": "Something else lies under that name: delete the key, or set another shared.name.",
    "OOM": "Give the store more memory, or set its maxmemory-policy to one that evicts.",
    "NOPERM": "Let its user read and write the keys of shared.name, with streams, hashes and scripts.",
    "READONLY": "Name the primary in shared.url: this is a replica.",
    "MISCONF": "The store cannot save to its disk: its own log says why.",
}
_OTHERWISE = "The store's own log may say more."


class Refusals:
    """Says each refusal once: of a key of the wrong kind for each key, of others once for all.

    Attributes:
        counted: how many there have been.
    """

    def __init__(self) -> None:
        self._said: set[tuple[str, str]] = set()
        self.counted = 0

    def note(self, key: str, error: Exception) -> None:
        """Note that the store refused what was to be done with ``key``."""
        self.counted += 1
        code = _code(error)
        about = (code, key if code == "WRONGTYPE" else "")
        if about in self._said or len(self._said) >= _MOST:
            return
        self._said.add(about)
        remedy = _REMEDIES.get(code, _OTHERWISE)
        _log.error("the shared store refuses %s (%s): it is passed over. %s", key, code, remedy)


def _code(error: Exception) -> str:
    """A short name, without the error's own words: those may hold a name or a value."""
    name = type(error).__name__
    found = _CODE.search(str(error))
    return _CLASSES.get(name) or (found[1] if found else name)
