"""``[shared]``: what several machines know together, and where it is kept."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from promptcache_gateway.errors import SettingsError

if TYPE_CHECKING:
    from collections.abc import Mapping

KEYS: dict[str, type] = {"url": str, "name": str, "patience_ms": int}
VARIABLE = "PROMPTCACHE_SHARED_URL"

_SCHEMES = {"redis", "rediss", "valkey", "valkeys", "unix"}


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
        if self.url is not None and urlsplit(self.url).scheme not in _SCHEMES:
            raise SettingsError(
                "shared.url", "is no address of a Redis or Valkey.", remedy="Write redis://HOST:6379/0."
            )
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
    """The settings of a table; the environment's address holds where the table has none."""
    url = table.get("url") or environ.get(VARIABLE, "").strip() or None
    return SharedSettings(**{**table, "url": url})
