"""``[responses]`` of promptcache.toml: where responses are kept to go on from, how many and how long."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from promptcache_gateway.errors import SettingsError

if TYPE_CHECKING:
    from collections.abc import Mapping

Place = Literal["memory", "database", "off"]
PLACES: tuple[Place, ...] = ("memory", "database", "off")
KEYS: dict[str, type] = {
    "keep": str,
    "keep_hours": float,
    "max_mib": int,
    "per_tenant": int,
    "under_way_mib": int,
}
_HOUR_S = 3_600.0
MIB = 1024 * 1024
_MOST_HOURS = 24 * 366


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptSettings:
    """What was configured.

    Attributes:
        keep: ``memory`` (gone with the process), ``database`` (prompts and answers go to disk) or ``off``.
        keep_hours: hours for which a response is kept that nobody goes on from.
        max_mib: MiB of all kept responses together.
        per_tenant: responses of one tenant.
        under_way_mib: MiB of the conversations that calls under way go on from, together.
    """

    keep: Place = "memory"
    keep_hours: float = 24.0
    max_mib: int = 64
    per_tenant: int = 10_000
    under_way_mib: int = 128

    def __post_init__(self) -> None:
        if self.keep not in PLACES:
            raise SettingsError(
                "responses.keep", f"{self.keep!r} is no choice.", remedy=f"Known: {', '.join(PLACES)}."
            )
        if not 0 < self.keep_hours <= _MOST_HOURS:
            raise SettingsError("responses.keep_hours", f"must be more than 0 and at most {_MOST_HOURS}.")
        for name in ("max_mib", "under_way_mib"):
            if not 1 <= getattr(self, name) <= MIB:
                raise SettingsError(f"responses.{name}", f"must be from 1 to {MIB}.")
        if self.per_tenant < 1:
            raise SettingsError("responses.per_tenant", "must be at least 1.")

    @property
    def keep_s(self) -> float:
        """Seconds for which a response is kept that nobody goes on from."""
        return self.keep_hours * _HOUR_S

    @property
    def max_bytes(self) -> int:
        """Bytes of all kept responses together."""
        return self.max_mib * MIB


def read_kept(table: Mapping[str, Any]) -> KeptSettings:
    """The settings in ``[responses]``, its keys and types checked; raises `SettingsError`."""
    return KeptSettings(**table)
