"""A gateway's ledger, opened: with the budgets that are configured, and where its sums are read from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from promptcache_gateway.store.spending import SpendingReader
from promptcache_gateway.tenancy.ledger import Ledger

if TYPE_CHECKING:
    from collections.abc import Sequence

    from promptcache_gateway.observe import Observer
    from promptcache_gateway.settings import Settings
    from promptcache_gateway.store.spending import Spent
    from promptcache_gateway.tenancy.budgets import Budget


def budgets_in(settings: Settings) -> dict[str, Budget | None]:
    """The budgets of tenants, by name."""
    return {name: limits.budget for name, limits in settings.tenants.items()}


def open_ledger(settings: Settings, observer: Observer) -> Ledger:
    """What was spent: read from this process's own store, or from the database that another one writes."""
    journal = observer.journal
    if journal is None:
        reader = SpendingReader(settings.database_address)
        return Ledger(reader, budgets_in(settings), written=reader.written)

    def read(since_day: int) -> Sequence[Spent]:
        journal.store.flush()
        return journal.store.spending(since_day)

    alerts = journal.alerts
    return Ledger(
        read,
        budgets_in(settings),
        written=journal.store.written,
        tell=alerts.budget,
        warn_at=lambda: alerts.budget_used,
    )
