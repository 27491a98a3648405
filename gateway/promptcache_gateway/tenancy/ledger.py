"""What was spent in this month so far, by tenant and key: read from the database, and what has ended since.

It is read again every few seconds while budgets are asked for, so that a restart, other workers and other
gateways on the same database are all counted; those that share more tell each other at once. A database that
is away stops nobody: what this process saw and heard goes on to count.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
import time
from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Any

from promptcache_gateway.failures import log_failure
from promptcache_gateway.logs import short_name
from promptcache_gateway.tenancy.budgets import DAY_S, Budget, BudgetError, budgets_of, held_error

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from promptcache_gateway.observe.record import RequestRecord
    from promptcache_gateway.shared.base import Common
    from promptcache_gateway.store.spending import Spent
    from promptcache_gateway.tenancy.caller import Caller

    Read = Callable[[int], Sequence[Spent]]
    Written = Callable[[Sequence[str]], set[str]]
    Tell = Callable[..., None]

_log = logging.getLogger("promptcache.gateway")

_AGAIN_S = 5.0
_FIRST_S = 2.0  # how long the first request with a budget waits for the database
_ON_ITS_WAY_S = 1.0  # what ended so lately may not be in the database yet
_MOST_RECENT = 50_000
_MOST_NAMED = 1_000
_TOPIC = "spent"

Owner = tuple[str, str | None]
"""A tenant and a key of it, or None: all of its keys."""
_Recent = tuple[float, str, str, int, float, str]
"""When a request ended, its tenant, key, day and cost in USD, and its id; empty where it is several."""


class Ledger:
    """The sums. Use it from one event loop.

    Args:
        read: everything spent from a day on (days since 1970-01-01), out of the database. Called in a thread.
        budgets: budgets of tenants.
        written: which of some requests, by id, the database holds. Called in a thread, before ``read``.
        tell: told of budgets that are nearly used up: tenant, what it is about, a sentence, figures.
        warn_at: share of a budget from which on it is told.
        clock: Unix time in seconds.

    Attributes:
        refused: how many requests were refused, by tenant.
    """

    def __init__(
        self,
        read: Read,
        budgets: Mapping[str, Budget | None],
        *,
        written: Written = lambda _: set(),
        tell: Tell = lambda *_, **__: None,
        warn_at: Callable[[], float] = lambda: 0.8,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._read = read
        self._written = written
        self._budgets = budgets
        self._tell = tell
        self._warn_at = warn_at
        self._clock = clock
        self._recent: list[_Recent] = []
        self._sums: dict[Owner, dict[int, float]] = {}
        self._held: dict[Owner, list[float]] = {}
        self._read_at: float | None = None
        self._reading: asyncio.Task[None] | None = None
        self._waited = False
        self._named: set[tuple[str, str]] = set()
        self._common: Common | None = None
        self.refused: Counter[str] = Counter()

    def share(self, common: Common) -> None:
        """Tell others what is spent here, and count what they tell. Call it before ``common`` starts."""
        self._common = common
        common.on(_TOPIC, self._hear)

    def renew(self, budgets: Mapping[str, Budget | None]) -> None:
        """Take other budgets of tenants; what was spent stays spent."""
        self._budgets = budgets

    def forget(self, tenant: str) -> None:
        """Forget what a tenant spent."""
        self._recent = [one for one in self._recent if one[1] != tenant]
        self._sums = {owner: days for owner, days in self._sums.items() if owner[0] != tenant}

    async def admit(self, caller: Caller) -> None:
        """Let a caller in whose budgets are not used up; raises `BudgetError`."""
        bound = budgets_of(self._budgets, caller.tenant, caller.budget, caller.key_id)
        if not bound:
            return
        await self._keep_up()
        now = self._clock()
        for budget, key in bound:
            if self.spent(caller.tenant, key, budget, now) >= budget.usd:
                self.refused[caller.tenant] += 1
                raise BudgetError(budget, "this tenant" if key is None else "this key", now)

    @contextlib.contextmanager
    def holding(self, caller: Caller, usd: float) -> Iterator[None]:
        """Set aside what a request of a caller is thought to cost, until the block ends.

        Raises:
            ApiError: 429 where what is set aside for others has used up a budget.
        """
        bound = budgets_of(self._budgets, caller.tenant, caller.budget, caller.key_id)
        now = self._clock()
        for budget, key in bound:
            held = sum(self._held.get((caller.tenant, key), ()))
            if held and self.spent(caller.tenant, key, budget, now) + held >= budget.usd:
                self.refused[caller.tenant] += 1
                raise held_error(budget, "this tenant" if key is None else "this key")
        owners = [(caller.tenant, key) for _, key in bound] if usd else []
        for owner in owners:
            self._held.setdefault(owner, []).append(usd)
        try:
            yield
        finally:
            for owner in owners:
                self._held[owner].remove(usd)
                if not self._held[owner]:
                    del self._held[owner]

    def binds(self, caller: Caller) -> bool:
        """Whether a caller has a budget."""
        if caller.budget is None and not self._budgets:
            return False
        return bool(budgets_of(self._budgets, caller.tenant, caller.budget, caller.key_id))

    def charge(self, caller: Caller, record: RequestRecord) -> None:
        """Count what a request of a caller cost, and tell where that brings a budget near its end."""
        if caller.budget is None and not self._budgets:
            return
        bound = budgets_of(self._budgets, caller.tenant, caller.budget, caller.key_id)
        if not bound:
            return
        usd = record.charged_usd
        if usd is None:
            if not record.free:
                self._say_unpriced(record)
            return
        now = self._clock()
        before = [self.spent(caller.tenant, key, budget, now) for budget, key in bound]
        day, key_id = int(record.time // DAY_S), record.key_id or ""
        self._count(record.tenant, key_id, day, usd, record.id)
        if self._common is not None:
            self._common.publish(_TOPIC, (record.tenant, key_id, day, usd, record.id))
        for (budget, key), had in zip(bound, before, strict=True):
            self._warn(caller.tenant, key, budget, had, now)

    def _count(self, tenant: str, key: str, day: int, usd: float, request: str) -> None:
        """Count a request that has ended just now."""
        now = self._clock()
        self._recent.append((now, tenant, key, day, usd, request))
        _add(self._sums, tenant, key, day, usd)
        if len(self._recent) > _MOST_RECENT:
            self._recent = _condensed(self._recent, now)

    def _hear(self, value: Any) -> None:
        """Another process's request; what cannot be read raises TypeError or ValueError."""
        tenant, key, day, usd, request = value
        if isinstance(usd, float | int) and 0 <= usd < math.inf:
            self._count(str(tenant), str(key), int(day), float(usd), str(request))

    def spent(self, tenant: str, key: str | None, budget: Budget, now: float) -> float:
        """What was spent of a budget in its period so far, in USD."""
        days = self._sums.get((tenant, key), {})
        return sum(days.get(day, 0.0) for day in budget.days(now))

    async def read(self) -> None:
        """Read the database now; a failure is logged and changes nothing."""
        begun = self._clock()
        month = Budget(1.0, "month").first_day(begun)
        recent = [one for one in self._recent if one[0] >= begun - _ON_ITS_WAY_S]
        try:
            written, rows = await asyncio.to_thread(self._look, [one[-1] for one in recent if one[-1]], month)
        except Exception as error:  # noqa: BLE001 - whatever it is, requests are served all the same
            log_failure("reading what was spent", error)
            return
        finally:
            self._read_at = begun
        self._recent = [
            one for one in self._recent if one[0] >= begun - _ON_ITS_WAY_S and one[-1] not in written
        ]
        sums: dict[Owner, dict[int, float]] = {}
        for row in rows:
            _add(sums, row.tenant, row.key, row.day, row.usd)
        for _, tenant, key, day, usd, _ in self._recent:
            _add(sums, tenant, key, day, usd)
        self._sums = sums

    def _look(self, ids: Sequence[str], since_day: int) -> tuple[set[str], Sequence[Spent]]:
        """Which requests the database holds, then what was spent: what is written in between counts twice,
        until it is read again, and never not at all."""
        return (self._written(ids) if ids else set()), self._read(since_day)

    async def _keep_up(self) -> None:
        """Have the database read again where that was long ago; the first time, wait for it a little."""
        now = self._clock()
        if self._reading is None or self._reading.done():
            if self._read_at is not None and 0 <= now - self._read_at < _AGAIN_S:
                return
            self._reading = asyncio.create_task(self.read())
        if self._read_at is None and not self._waited:
            self._waited = True
            await asyncio.wait({self._reading}, timeout=_FIRST_S)

    def _warn(self, tenant: str, key: str | None, budget: Budget, had: float, now: float) -> None:
        has, mark = self.spent(tenant, key, budget, now), budget.usd * self._warn_at()
        for level, passed in ((budget.usd, had < budget.usd <= has), (mark, had < mark <= has)):
            if passed:
                whose = f"tenant {tenant}" if key is None else f"key {key} of tenant {tenant}"
                share = has / budget.usd
                self._tell(
                    tenant,
                    f"{key or ''} {budget.period} {budget.first_day(now)} {level == budget.usd}",
                    f"{whose} has used {share:.0%} of {budget}",
                    key_id=key,
                    spent_usd=has,
                    budget_usd=budget.usd,
                    period=budget.period,
                )
                return

    def _say_unpriced(self, record: RequestRecord) -> None:
        """Say once that a model's requests do not count, because nobody knows what they cost."""
        used = record.prompt_tokens or record.output_tokens or record.estimated_tokens
        model = short_name(record.model)
        name = (record.tenant, model)
        if not used or name in self._named or len(self._named) >= _MOST_NAMED:
            return
        self._named.add(name)
        _log.warning(
            "the cost of requests to %s is not known, so they do not count against the budget of tenant %s: "
            'give the model a price in [prices.models."%s"]',
            model,
            record.tenant,
            model,
        )


def _add(sums: dict[Owner, dict[int, float]], tenant: str, key: str, day: int, usd: float) -> None:
    for owner in ((tenant, key), (tenant, None)):
        days = sums.setdefault(owner, {})
        days[day] = days.get(day, 0.0) + usd


def _condensed(recent: list[_Recent], now: float) -> list[_Recent]:
    """The same sums in fewer entries, for as long as the database does not answer."""
    sums: defaultdict[tuple[str, str, int], float] = defaultdict(float)
    for _, tenant, key, day, usd, _ in recent:
        sums[tenant, key, day] += usd
    return [(now, tenant, key, day, usd, "") for (tenant, key, day), usd in sums.items()]
