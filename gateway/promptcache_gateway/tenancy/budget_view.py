"""What is left of each budget, for the admin API and for ``promptcache keys list``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from promptcache_gateway.store.spending import Spent
    from promptcache_gateway.tenancy.budgets import Budget
    from promptcache_gateway.tenancy.key_file import StoredKey


def budget_rows(
    keys: Iterable[StoredKey], tenants: Mapping[str, Budget | None], spent: Sequence[Spent], now: float
) -> list[dict[str, Any]]:
    """Every budget there is, tenants' first.

    Args:
        keys: the keys of the file; one that is revoked has no budget any more.
        tenants: budgets by tenant.
        spent: what was spent from the first day of this month on.
        now: Unix time in seconds.

    Returns:
        ``[{tenant, key_id, key, budget_usd, period, spent_usd, left_usd, requests, unpriced_requests,
        resets_at}]``; a tenant's own has no key.
    """
    rows = [_row(name, None, budget, spent, now) for name, budget in sorted(tenants.items()) if budget]
    own = [key for key in keys if key.revoked_at is None]
    return rows + [_row(key.tenant, key, key.budget, spent, now) for key in own if key.budget is not None]


def _row(
    tenant: str, key: StoredKey | None, budget: Budget, spent: Sequence[Spent], now: float
) -> dict[str, Any]:
    days = budget.days(now)
    own = [
        one
        for one in spent
        if one.tenant == tenant and one.day in days and (key is None or one.key == key.id)
    ]
    usd = sum(one.usd for one in own)
    return {
        "tenant": tenant,
        "key_id": None if key is None else key.id,
        "key": None if key is None else key.name,
        "budget_usd": budget.usd,
        "period": budget.period,
        "spent_usd": usd,
        "left_usd": max(0.0, budget.usd - usd),
        "requests": sum(one.requests for one in own),
        "unpriced_requests": sum(one.unpriced for one in own),
        "resets_at": budget.resets_at(now),
    }
