"""Tells of budgets that are nearly used up, where records come from other processes that let callers in.

Each of those counts what its own callers spend, and reads the rest late; whoever sees every record tells of
each budget once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from promptcache_gateway.tenancy.caller import Caller
from promptcache_gateway.tenancy.key_file import KeyFile
from promptcache_gateway.tenancy.key_ring import KeyRing
from promptcache_gateway.tenancy.ledger import Ledger

if TYPE_CHECKING:
    from promptcache_gateway.observe import Journal, RequestRecord
    from promptcache_gateway.settings import Settings


class BudgetWatch:
    """Watches a journal's records. Use it from one event loop.

    Args:
        journal: sees every record, and has the alerts and the database.
    """

    def __init__(self, journal: Journal) -> None:
        alerts = journal.alerts
        self._ledger = Ledger(
            journal.store.spending, {}, tell=alerts.budget, warn_at=lambda: alerts.budget_used
        )
        self._ring: KeyRing | None = None
        self._journal = journal

    async def start(self, settings: Settings) -> None:
        """Read what was spent before, and watch from now on; raises `StartupError`."""
        self._ring = KeyRing(KeyFile(settings.key_file))
        self.renew(settings)
        await self._ledger.read()
        self._journal.watchers.append(self.watch)

    def renew(self, settings: Settings) -> None:
        """Go by other budgets of tenants."""
        self._ledger.renew({name: limits.budget for name, limits in settings.tenants.items()})

    def watch(self, record: RequestRecord) -> None:
        """Count what a request cost."""
        known = self._ring.by_id(record.key_id) if self._ring is not None else None
        self._ledger.charge(Caller(record.tenant, key_id=record.key_id) if known is None else known, record)
