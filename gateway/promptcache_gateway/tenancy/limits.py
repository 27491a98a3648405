"""How much a tenant may use: requests and tokens a minute.

A bucket holds a minute's worth and fills evenly. A request is charged when it comes; its tokens are known
only once it has ended and are charged then, so that a tenant may go into debt by the requests under way, and
waits until it is paid.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from promptcache_gateway.errors import ApiError, SettingsError
from promptcache_gateway.tenancy.budgets import Budget

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


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
                raise SettingsError(f"tenants: {name}", "must be at least 1.")
        _ = self.budget

    @property
    def budget(self) -> Budget | None:
        """The budget in money, None where there is none; raises `SettingsError` where it is none."""
        if self.budget_usd is None:
            return None
        return Budget.checked("tenants: ", self.budget_usd, self.budget_period)


class _Bucket:
    __slots__ = ("_at", "_clock", "_left", "_size")

    def __init__(self, a_minute: int, clock: Callable[[], float]) -> None:
        self._size = float(a_minute)
        self._left = self._size
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


class Limits:
    """The buckets of all tenants that have limits.

    Args:
        tenants: limits by tenant.
        clock: seconds of a clock that only runs forward.

    Attributes:
        refused: how many requests were refused, by tenant and limit.
    """

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
        if tokens is not None and (wait := tokens.wait_s(1.0)):
            self.refused[tenant, "tokens"] += 1
            raise _too_many("tokens", wait)
        requests = self._requests.get(tenant)
        if requests is not None:
            if wait := requests.wait_s(1.0):
                self.refused[tenant, "requests"] += 1
                raise _too_many("requests", wait)
            requests.take(1.0)

    def charge(self, tenant: str, tokens: int) -> None:
        """Charge what a request has used."""
        bucket = self._tokens.get(tenant)
        if bucket is not None:
            bucket.wait_s(0.0)
            bucket.take(tokens)


def _too_many(what: str, wait_s: float) -> ApiError:
    seconds = max(1, math.ceil(wait_s))
    return ApiError(
        429,
        f"The limit of {what} a minute is used up. Try again in {seconds} s.",
        kind="rate_limit_error",
        code="rate_limit_exceeded",
        retry_after=seconds,
    )
