"""``[shared]``: what several machines know together, and where it is kept."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlsplit

from promptcache_gateway.errors import SettingsError
from promptcache_gateway.setting_places import VARIABLES

if TYPE_CHECKING:
    from collections.abc import Mapping

KEYS: dict[str, type] = {"url": str, "name": str, "patience_ms": int}
VARIABLE = VARIABLES["shared.url"]

_SCHEMES = {"redis", "rediss", "valkey", "valkeys", "unix"}
_SECURE = {"rediss", "valkeys"}
_OPTIONS = {
    "db": re.compile(r"\d{1,5}"),
    "protocol": re.compile("[23]"),
    "ssl_ca_certs": re.compile(".+"),
    "ssl_certfile": re.compile(".+"),
    "ssl_keyfile": re.compile(".+"),
    "ssl_cert_reqs": re.compile("none|optional|required"),
}
_REMEDY = "Write redis://HOST:6379/0."


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedSettings:
    """What is told of the store in common.

    Attributes:
        url: ``redis://HOST:PORT/DB``, ``rediss://`` or ``unix://PATH``; None: nothing is shared. It may hold
            a password and is never shown.
        name: what all keys begin with: gateways that share are called alike.
        patience_ms: milliseconds that a request waits for an answer at most.
    """

    url: str | None = field(default=None, repr=False)
    name: str = "promptcache"
    patience_ms: int = 50

    def __post_init__(self) -> None:
        fault = None if self.url is None else _fault(self.url)
        if fault is not None:
            raise SettingsError("shared.url", fault, remedy=_REMEDY)
        if not self.name or not self.name.isprintable() or len(self.name) > 64:
            raise SettingsError("shared.name", "must be a printable name of 1 to 64 characters.")
        if not 1 <= self.patience_ms <= 5_000:
            raise SettingsError("shared.patience_ms", "must be from 1 to 5000.")

    @property
    def address(self) -> str:
        """The address as clients of Redis write it; Valkey speaks the same."""
        assert self.url is not None
        scheme, _, rest = self.url.partition("://")
        return f"{scheme.replace('valkeys', 'rediss').replace('valkey', 'redis')}://{rest}"


def read_shared(table: Mapping[str, Any], environ: Mapping[str, str]) -> SharedSettings:
    """The settings of a table; the environment's address holds where the table has none.

    Args:
        table: ``[shared]``, types of its values checked.
        environ: the environment.

    Raises:
        SettingsError: a value cannot work; it never says an address.
    """
    return SharedSettings(**{**table, "url": table.get("url") or environ.get(VARIABLE, "").strip() or None})


def _fault(url: str) -> str | None:
    """What is wrong with an address, without a word of it: it may hold a password."""
    try:
        parts = urlsplit(url)
        port, host = parts.port, parts.hostname
    except ValueError:
        return "has a port that is none, or brackets that do not match."
    if parts.scheme not in _SCHEMES or not url.startswith(f"{parts.scheme}://"):
        return "is no address of a Redis or Valkey."
    if parts.scheme == "unix":
        if not parts.path.strip("/"):
            return "names no socket: write unix:///PATH."
    elif not host or port == 0:
        return "names no host." if not host else "has a port that is none."
    elif re.fullmatch(r"/?|/\d{1,5}", parts.path) is None:
        return "names a database that is no number."
    for name, value in parse_qsl(parts.query, keep_blank_values=True):
        known = _OPTIONS.get(name) if parts.scheme in _SECURE or not name.startswith("ssl_") else None
        if known is None or not known.fullmatch(value):
            return f"has an option that is unknown or has no such value: {name[:20]!r}."
    return "must have no part behind '#'." if parts.fragment else None
