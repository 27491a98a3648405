"""Where every record goes: memory, database, metrics, listeners. One place, so that none is forgotten."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING, Any

from promptcache_gateway.alert_settings import read_alerts
from promptcache_gateway.metrics import Metrics
from promptcache_gateway.observe.alerts import Alerts
from promptcache_gateway.observe.events import EventRing
from promptcache_gateway.observe.recent import Recent
from promptcache_gateway.observe.signatures import Signature
from promptcache_gateway.observe.templates import LearnedTemplate
from promptcache_gateway.store import LearnedRow, Store
from promptcache_gateway.telemetry.spans import Spans

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from promptcache_gateway.alert_settings import AlertSettings
    from promptcache_gateway.observe.record import RequestRecord
    from promptcache_gateway.observe.templates import Templates
    from promptcache_gateway.telemetry.otel_settings import OtelSettings


class Journal:
    """The four places a record goes to.

    Attributes:
        store: the database.
        recent: the last records, with excerpts.
        events: what listeners are told.
        metrics: what Prometheus is told.
        alerts: what operators are told.
        lost_elsewhere: says how many records did not even come here.
        learners: called with every template that has been learned.
        watchers: called with every record.
        diagnosing: whether requests are looked at; where not, what a look tells is not known.
    """

    def __init__(
        self,
        database: Store | Path | str,
        alerts: AlertSettings | None = None,
        otel: OtelSettings | None = None,
        *,
        diagnosing: bool = True,
    ) -> None:
        """Make one over a store, or the address of one with its ordinary bounds.

        ``alerts``: what is told; None: what the environment says. ``otel``: where spans go; None: nowhere.
        """
        self.store = database if isinstance(database, Store) else Store(database)
        self.diagnosing = diagnosing
        self.recent = Recent()
        self.events = EventRing()
        self.lost_elsewhere: Callable[[], int] = lambda: 0
        self.learners: list[Callable[[LearnedTemplate], None]] = []
        self.watchers: list[Callable[[RequestRecord], None]] = []
        self.metrics = Metrics(
            dropped=lambda: self.store.dropped + self.lost_elsewhere(),
            alerts_dropped=lambda: self.alerts.dropped,
        )
        self._spans = Spans(otel) if otel is not None and otel.endpoint else None
        if self._spans is not None:
            self.metrics.registry.register(self._spans)
        self.alerts = Alerts(read_alerts({}, os.environ) if alerts is None else alerts, self._publish)
        self._templates: Templates | None = None

    async def start(self, templates: Templates) -> None:
        """Open the database and tell ``templates`` what earlier runs learned.

        Raises:
            DatabaseUnusableError: the file cannot be used.
        """
        self._templates = templates
        await asyncio.to_thread(self.store.open)
        rows = await asyncio.to_thread(self.store.learned_templates)
        templates.recall(_template(row) for row in rows)
        templates.renames.recall(await asyncio.to_thread(self.store.renames))
        await asyncio.to_thread(self.alerts.recall, self.store)
        self.alerts.start()
        if self._spans is not None:
            self._spans.start()

    async def stop(self) -> None:
        """Write what is queued and close the database."""
        await asyncio.to_thread(self.store.close)
        await asyncio.to_thread(self.alerts.stop)
        if self._spans is not None:
            await asyncio.to_thread(self._spans.stop)

    def keep(self, template: LearnedTemplate) -> None:
        """Have a learned template found again by the next run."""
        self.store.keep_learned(_row(template))
        for told in self.learners:
            told(template)

    def forget(self, tenant: str) -> None:
        """Forget the records in memory that are a tenant's."""
        self.recent.forget(tenant)
        self.events.forget(tenant)
        self.alerts.forget(tenant)

    def rename(self, tenant: str, template: str, to: str) -> None:
        """Show what is in memory of a template under another name."""
        self.recent.rename(tenant, template, to)
        self.alerts.rename(tenant, template, to)

    def record(self, record: RequestRecord) -> None:
        """Take a record; never waits."""
        self.recent.add(record)
        self.metrics.count(record)
        for template in self._templates.take_learned() if self._templates is not None else ():
            self.keep(template)
        self.store.record(record)
        self.events.publish("request", record.told)
        self.events.publish("template", record.names)
        self.alerts.watch(record)
        for watch in self.watchers:
            watch(record)
        if self._spans is not None:
            self._spans.put(record)

    def _publish(self, alert: Mapping[str, Any]) -> None:
        self.metrics.count_alert(str(alert["template"]), str(alert["kind"]))
        self.events.publish("alert", alert)


def _row(template: LearnedTemplate) -> LearnedRow:
    signature = template.signature
    return LearnedRow(template.tenant, template.name, signature.key, signature.openings, signature.chunks)


def _template(row: LearnedRow) -> LearnedTemplate:
    return LearnedTemplate(row.tenant, row.name, Signature(row.key, row.openings, row.chunks))
