"""How much of what is recorded is kept: by number, by age, by size. The deleting is `store.trimming`'s."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from promptcache_gateway.errors import SettingsError

if TYPE_CHECKING:
    from collections.abc import Mapping

_LEAST_MIB = 8


@dataclass(frozen=True, slots=True)
class Bounds:
    """What is kept at most.

    Attributes:
        requests: requests, newest first.
        days: age of a request in days; None: any.
        mib: used size of the database in MiB, of SQLite only; None: any.
        hours: hours of hourly totals.
    """

    requests: int = 200_000
    days: float | None = None
    mib: int | None = None
    hours: int = 24 * 400

    def __post_init__(self) -> None:
        if self.requests < 1:
            raise SettingsError("storage.keep_requests", "must be at least 1.")
        if self.days is not None and not self.days > 0:
            raise SettingsError("storage.keep_days", "must be more than 0.")
        if self.mib is not None and self.mib < _LEAST_MIB:
            raise SettingsError("storage.max_mib", f"must be at least {_LEAST_MIB}.")


def read_bounds(table: Mapping[str, Any]) -> Bounds:
    """The bounds in ``[storage]``, its keys and types checked; raises `SettingsError`."""
    named = {"keep_requests": "requests", "keep_days": "days", "max_mib": "mib"}
    return Bounds(**{to: table[key] for key, to in named.items() if key in table})
