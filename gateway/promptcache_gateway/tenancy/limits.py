"""How much a tenant may use: requests and tokens a minute.

A bucket holds a minute's worth and fills evenly. A request is charged when it comes, and an estimate of its
prompt's tokens before it is sent; what it has used is known once it has ended and charged then, so that a
tenant may go into debt by the answers under way and by one prompt, and waits until it is paid.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from promptcache_gateway.errors import ApiError, SettingsError
from promptcache_gateway.shared.base import Take
from promptcache_gateway.tenancy.budgets import Budget

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from promptcache_gateway.shared.base import Common


@dataclass(frozen=True, slots=True)
class TenantLimits:
    """What one tenant may use; None: as much as it likes.

    Attributes:
        requests_per_minute: requests.
        tokens_per_minute: tokens of prompts and answers together, cached ones too.
        budget_usd: money in a period.
        budget_period: ``day`` or ``month``, of UTC.
    """

    requests_per_minute: int | None = None
    tokens_per_minute: int | None = None
    budget_usd: float | None = None
    budget_period: str = "month"

    def __post_init__(self) -> None:
        for name in ("requests_per_minute", "tokens_per_minute"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise SettingsError(name, "must be at least 1.", remedy="Leave it out for none.")
        _ = self.budget

    @property
    def budget(self) -> Budget | None:
        """The budget in money, None where there is none; raises `SettingsError` where it is none."""
        usd = 1.0 if self.budget_usd is None else self.budget_usd  # a period alone is judged, too
        budget = Budget.checked("", usd, self.budget_period)
        return None if self.budget_usd is None else budget


def read_tenants(tables: Mapping[str, Mapping[str, Any]]) -> dict[str, TenantLimits]:
    """The limits in ``[tenants.NAME]``, keys and types checked; raises `SettingsError`."""
    return {name: _limits(f"tenants.{name}", table) for name, table in tables.items()}


def _limits(where: str, table: Mapping[str, Any]) -> TenantLimits:
    try:
        return TenantLimits(**table)
    except SettingsError as error:
        raise SettingsError(f"{where}.{error.setting}", error.problem, remedy=error.remedy) from None


class _Bucket:
    __slots__ = ("_advanced", "_at", "_clock", "_left", "_size")

    def __init__(self, a_minute: int, clock: Callable[[], float]) -> None:
        self._size = float(a_minute)
        self._left = self._size
        self._advanced = 0.0
        self._clock = clock
        self._at = clock()

    @property
    def size(self) -> float:
        """What it holds when it is full."""
        return self._size

    def wait_s(self, needed: float) -> float:
        """Seconds until so much is there; 0 where it is."""
        now = self._clock()
        self._left = min(self._size, self._left + (now - self._at) * self._size / 60.0)
        self._at = now
        return max(0.0, (needed - self._left) * 60.0 / self._size)

    def take(self, amount: float) -> None:
        self._left -= amount

    def advance(self, amount: float) -> None:
        """Note that so much of what was taken was in advance."""
        self._advanced += amount

    def settle(self, amount: float, advanced: float) -> float:
        """Take what was used in place of what was charged in advance; how much of that was charged here."""
        given = min(advanced, self._advanced)
        self._advanced -= given
        self.take(amount - given)
        return given

    def debt_s(self, needed: float, advanced: float = 0.0) -> float:
        """Seconds until so much is there if requests under way use nothing of what they were charged.

        ``advanced``: what they were charged at least, as others know it.
        """
        there = self._left + max(self._advanced, advanced)
        return max(0.0, (needed - there) * 60.0 / self._size)

    def set_left(self, amount: float) -> None:
        """Know from elsewhere what is left."""
        self._left, self._at = min(self._size, amount), self._clock()


class Limits:
    """The buckets of all tenants that have limits.

    Args:
        tenants: limits by tenant.
        clock: seconds of a clock that only runs forward.

    Attributes:
        refused: how many requests were refused, by tenant and limit.
        common: what several processes hold in common; None: the buckets are this one's alone.
    """

    common: Common | None = None

    def __init__(
        self, tenants: Mapping[str, TenantLimits], *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._clock = clock
        self.refused: Counter[tuple[str, str]] = Counter()
        self._requests: dict[str, _Bucket] = {}
        self._tokens: dict[str, _Bucket] = {}
        self.renew(tenants)

    def renew(self, tenants: Mapping[str, TenantLimits]) -> None:
        """Take other limits. A bucket whose size stays keeps what is in it."""
        self._requests = self._buckets(
            self._requests, {name: limits.requests_per_minute for name, limits in tenants.items()}
        )
        self._tokens = self._buckets(
            self._tokens, {name: limits.tokens_per_minute for name, limits in tenants.items()}
        )

    def _buckets(self, old: dict[str, _Bucket], sizes: Mapping[str, int | None]) -> dict[str, _Bucket]:
        made = {}
        for name, size in sizes.items():
            if size is not None:
                known = old.get(name)
                made[name] = known if known and known.size == size else _Bucket(size, self._clock)
        return made

    def admit(self, tenant: str) -> None:
        """Charge one request; raises `ApiError` 429 with ``retry-after`` where there is none left."""
        tokens = self._tokens.get(tenant)
        if tokens is not None and tokens.wait_s(1.0):
            self.refused[tenant, "tokens"] += 1
            raise _too_many("tokens", tokens.debt_s(1.0))
        requests = self._requests.get(tenant)
        if requests is not None:
            if wait := requests.wait_s(1.0):
                self.refused[tenant, "requests"] += 1
                raise _too_many("requests", wait)
            requests.take(1.0)

    async def agree(self, tenant: str) -> None:
        """Charge one request to what all processes hold in common, or where nobody answers, as `admit` does.

        Raises:
            ApiError: 429 with ``retry-after`` where there is none left.
        """
        if tenant not in self._requests and tenant not in self._tokens:
            return
        asked = self._asked(tenant) if self.common is not None else []
        taken = await self.common.take([take for _, _, take in asked]) if self.common and asked else None
        if taken is None:
            self.admit(tenant)
            return
        for (_, bucket, _), left in zip(asked, taken.left, strict=True):
            bucket.set_left(left)
        for (what, bucket, take), left, advanced in zip(asked, taken.left, taken.advances(), strict=True):
            if not taken.granted and take.wait_s(left):
                self.refused[tenant, what] += 1
                raise _too_many(what, bucket.debt_s(take.needed, advanced))

    def _asked(self, tenant: str) -> list[tuple[str, _Bucket, Take]]:
        kinds = (("tokens", self._tokens.get(tenant), 0.0), ("requests", self._requests.get(tenant), 1.0))
        return [
            (what, bucket, Take(_name(tenant, what, bucket), bucket.size, 1.0, amount))
            for what, bucket, amount in kinds
            if bucket is not None
        ]

    def counts_tokens(self, tenant: str) -> bool:
        """Whether a tenant has a limit of tokens."""
        return tenant in self._tokens

    async def advance(self, tenant: str, tokens: int) -> int:
        """Charge what a request is thought to use.

        Returns:
            How much was charged, to be settled by `charge`; 0 where the tenant has no limit.

        Raises:
            ApiError: 429 where others use up the rest.
        """
        bucket = self._tokens.get(tenant)
        if bucket is None:
            return 0
        take = Take(_name(tenant, "tokens", bucket), bucket.size, 1.0, tokens, tokens)
        taken = None if self.common is None else await self.common.take([take])
        advanced = 0.0
        if taken is not None:
            bucket.set_left(taken.left[0])
            granted, (advanced,) = taken.granted, taken.advances()
        elif granted := not bucket.wait_s(1.0):
            bucket.take(tokens)
        if not granted:
            self.refused[tenant, "tokens"] += 1
            raise _too_many("tokens", bucket.debt_s(1.0, advanced))
        bucket.advance(tokens)
        return tokens

    def charge(self, tenant: str, tokens: int, *, advanced: int = 0) -> None:
        """Charge what a request has used, in place of what it was charged in advance."""
        bucket = self._tokens.get(tenant)
        if bucket is not None:
            bucket.wait_s(0.0)
            given = bucket.settle(tokens, advanced)
            if self.common is not None:
                name = _name(tenant, "tokens", bucket)
                self.common.charge(Take(name, bucket.size, 0.0, tokens - given, -given))


def _name(tenant: str, what: str, bucket: _Bucket) -> str:
    """A bucket's name in common: one of another size is another bucket."""
    return f"{what}:{bucket.size:g}:{tenant}"


def _too_many(what: str, debt_s: float) -> ApiError:
    """429: a limit is used up for so long, or where that is 0, only by what requests under way may use."""
    seconds = max(1, math.ceil(debt_s))
    said = f"The limit of {what} a minute is used up. Try again in {seconds} s."
    if not debt_s:
        said = (
            f"The requests under way may use up the limit of {what} a minute. Try again when they have ended."
        )
    return ApiError(429, said, kind="rate_limit_error", code="rate_limit_exceeded", retry_after=seconds)
