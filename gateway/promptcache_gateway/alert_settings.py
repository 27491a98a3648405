"""``[alerts]`` of promptcache.toml: what is told, from which threshold on, to whom, and how often."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from promptcache_gateway.errors import SettingsError

if TYPE_CHECKING:
    from collections.abc import Mapping

KINDS = ("new_cause", "regression", "loss", "budget")
"""A template's first miss by a fault; that it reads less than it did; money lost in an hour; a budget."""

VARIABLE = "PROMPTCACHE_ALERT_WEBHOOK"
"""The environment variable that names the address where promptcache.toml does not."""

KEYS: dict[str, type] = {
    "webhook": str,
    "webhook_env": str,
    "kinds": list,
    "quiet_s": float,
    "fall": float,
    "window": int,
    "least_requests": int,
    "lost_usd_per_hour": float,
    "budget_used": float,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class AlertSettings:
    """What was configured.

    Attributes:
        webhook: where alerts are posted as JSON; empty: nowhere. It may hold a secret.
        kinds: which are told.
        quiet_s: seconds in which no second alert of the same kind about the same thing is told.
        fall: by how much a template's share of what could be read must have fallen.
        window: how many of its last requests are held against those before.
        least_requests: how many requests there must have been before.
        lost_usd_per_hour: what a template must lose within one hour; None: never told.
        budget_used: share of a budget from which on its use is told.
    """

    webhook: str = field(default="", repr=False)
    kinds: tuple[str, ...] = KINDS
    quiet_s: float = 0.0
    fall: float = 0.2
    window: int = 20
    least_requests: int = 30
    lost_usd_per_hour: float | None = None
    budget_used: float = 0.8

    def __post_init__(self) -> None:
        for kind in self.kinds:
            if kind not in KINDS:
                raise SettingsError(
                    "alerts.kinds", f"{kind!r} is no kind.", remedy=f"Known: {', '.join(KINDS)}."
                )
        _within("fall", self.fall, 0.0, 1.0)
        _within("budget_used", self.budget_used, 0.0, 1.0)
        if not 0 <= self.quiet_s <= 31 * 86_400:
            raise SettingsError("alerts.quiet_s", "must be from 0 to 2678400 seconds.")
        if not 1 <= self.window <= 10_000:
            raise SettingsError("alerts.window", "must be from 1 to 10000 requests.")
        if not 1 <= self.least_requests <= 1_000_000:
            raise SettingsError("alerts.least_requests", "must be from 1 to 1000000.")
        if self.lost_usd_per_hour is not None and not 0 < self.lost_usd_per_hour < float("inf"):
            raise SettingsError("alerts.lost_usd_per_hour", "must be more than 0.")


def _within(name: str, value: float, low: float, high: float) -> None:
    if not low < value <= high:
        raise SettingsError(f"alerts.{name}", f"must be more than {low:g} and at most {high:g}.")


def read_alerts(table: Mapping[str, Any], environ: Mapping[str, str]) -> AlertSettings:
    """The settings in ``[alerts]``, its keys and types checked; raises `SettingsError`."""
    values = dict(table)
    variable = values.pop("webhook_env", None)
    if variable is not None and "webhook" in values:
        raise SettingsError("alerts", "has both webhook and webhook_env.", remedy="Keep one.")
    where, url = "alerts.webhook", values.pop("webhook", "")
    if variable is not None:
        where, url = "alerts.webhook_env", environ.get(variable, "").strip()
        if not url:
            raise SettingsError(where, f"{variable} is not set.", remedy="Set it, or drop the line.")
    elif not url:
        where, url = VARIABLE, environ.get(VARIABLE, "").strip()
    _check_address(where, url)
    if "kinds" in values:
        values["kinds"] = tuple(values["kinds"])
    return AlertSettings(**values, webhook=url)


def _check_address(where: str, url: str) -> None:
    """The address is not quoted: it may hold a secret."""
    try:
        parts = urlsplit(url)
        good = not url or (parts.scheme in {"http", "https"} and bool(parts.hostname))
    except ValueError:
        good = False
    if not good:
        raise SettingsError(
            where,
            "does not name an address that alerts can be posted to.",
            remedy="Give one that begins with http:// or https://.",
        )
