"""What a key or a tenant may spend in a day or a month of UTC, and how a request beyond it is refused.

Costs are known once a request has ended. Until then an estimate of what its prompt costs is set aside, so
that those under way carry a budget beyond its end by their answers and one prompt at most. What was spent is
`ledger`'s.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Literal

from promptcache_gateway.errors import ApiError, SettingsError

if TYPE_CHECKING:
    from collections.abc import Mapping

Period = Literal["day", "month"]
PERIODS: tuple[Period, ...] = ("day", "month")
DAY_S = 86_400


@dataclass(frozen=True, slots=True)
class Budget:
    """An amount for a period.

    Attributes:
        usd: the amount.
        period: ``day`` or ``month``, each of UTC.
    """

    usd: float
    period: Period = "month"

    @classmethod
    def checked(cls, where: str, usd: float, period: str) -> Budget:
        """A budget of values that a person wrote; raises `SettingsError`."""
        if not 0 < usd < math.inf:
            raise SettingsError(f"{where}budget_usd", "must be more than 0.", remedy="Leave it out for none.")
        for known in PERIODS:
            if period == known:
                return cls(float(usd), known)
        raise SettingsError(
            f"{where}budget_period", f"{period!r} is no period.", remedy=f"Known: {', '.join(PERIODS)}."
        )

    def days(self, now: float) -> range:
        """The days of the period that ``now`` is in, up to now, counted from 1970-01-01."""
        today = int(now // DAY_S)
        return range(self.first_day(now), today + 1)

    def first_day(self, now: float) -> int:
        """The day on which the period began."""
        today = int(now // DAY_S)
        return today if self.period == "day" else today - _utc(now).day + 1

    def resets_at(self, now: float) -> float:
        """Unix time at which the next period begins."""
        if self.period == "day":
            return (now // DAY_S + 1) * DAY_S
        day = _utc(now).replace(day=1, hour=0, minute=0, second=0, microsecond=0)
        return (day + timedelta(days=32)).replace(day=1).timestamp()

    def __str__(self) -> str:
        return f"{dollars(self.usd)} a {self.period}"


def dollars(usd: float) -> str:
    """An amount as people read it: in cents, or of less than a dollar its first three digits.

    >>> dollars(4.012), dollars(0.5), dollars(0.00125), dollars(0.0)
    ('$4.01', '$0.50', '$0.00125', '$0.00')
    """
    if not 0 < abs(usd) < 1:
        return f"${usd:.2f}"
    whole, _, digits = f"{usd:.{2 - math.floor(math.log10(abs(usd)))}f}".partition(".")
    return f"${whole}.{digits.rstrip('0'):0<2}"


def _utc(now: float) -> datetime:
    return datetime.fromtimestamp(now, UTC)


class BudgetError(ApiError):
    """429: a budget is used up. Sending again does not help, and the answer says so to clients that retry.

    Attributes:
        owner: whose budget it is, as the caller reads it: ``this key`` or ``this tenant``.
    """

    def __init__(self, budget: Budget, owner: str, now: float) -> None:
        until = budget.resets_at(now)
        super().__init__(
            429,
            f"You exceeded your current quota: the budget of {owner}, {budget}, is used up until "
            f"{_utc(until):%Y-%m-%d %H:%M} UTC.",
            kind="insufficient_quota",
            code="insufficient_quota",
            retry_after=max(1, math.ceil(until - now)),
        )
        self.owner = owner

    def headers(self) -> list[tuple[bytes, bytes]]:
        """``retry-after`` of the next period, and the header by which both providers' clients know not to."""
        return [*super().headers(), (b"x-should-retry", b"false")]


def held_error(budget: Budget, owner: str) -> ApiError:
    """429: what requests under way may cost uses up a budget. Sending again helps, once they have ended."""
    return ApiError(
        429,
        f"The requests under way may use up the budget of {owner}, {budget}. Try again when they have ended.",
        kind="rate_limit_error",
        code="rate_limit_exceeded",
        retry_after=1,
    )


def budgets_of(
    tenants: Mapping[str, Budget | None], tenant: str, own: Budget | None, key_id: str | None
) -> list[tuple[Budget, str | None]]:
    """The budgets a caller is bound by, each with the key it is of; None: it is the tenant's."""
    found: list[tuple[Budget, str | None]] = []
    if own is not None and key_id is not None:
        found.append((own, key_id))
    shared = tenants.get(tenant)
    if shared is not None:
        found.append((shared, None))
    return found
