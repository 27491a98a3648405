"""Where every record goes: memory, database, metrics, listeners. One place, so that none is forgotten."""

from __future__ import annotations

import asyncio
import time
from functools import partial
from typing import TYPE_CHECKING

from promptcache.causes import get_cause
from promptcache_gateway.metrics import Metrics
from promptcache_gateway.observe.events import EventRing
from promptcache_gateway.observe.recent import Recent
from promptcache_gateway.observe.signatures import Signature
from promptcache_gateway.observe.templates import LearnedTemplate
from promptcache_gateway.store import LearnedRow, Store

if TYPE_CHECKING:
    from pathlib import Path

    from promptcache_gateway.observe.record import RequestRecord
    from promptcache_gateway.observe.templates import Templates

_MAX_KNOWN = 50_000


class Journal:
    """The four places a record goes to.

    Attributes:
        store: the database.
        recent: the last records, with excerpts.
        events: what listeners are told.
        metrics: what Prometheus is told.
    """

    def __init__(self, database: Path | str, *, store: Store | None = None) -> None:
        """``store`` None: one over the file ``database`` with its ordinary bounds."""
        self.store = store if store is not None else Store(database)
        self.recent = Recent()
        self.events = EventRing()
        self.metrics = Metrics(dropped=lambda: self.store.dropped)
        self._known: set[tuple[str, str, str]] = set()
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
        self._known = await asyncio.to_thread(self.store.read.known_causes)

    async def stop(self) -> None:
        """Write what is queued and close the database."""
        await asyncio.to_thread(self.store.close)

    def record(self, record: RequestRecord) -> None:
        """Take a record; never waits."""
        self.recent.add(record)
        self.metrics.count(record)
        for template in self._templates.take_learned() if self._templates is not None else ():
            self.store.keep_learned(_row(template))
        self.store.record(record)
        self.events.publish("request", partial(record.to_dict, excerpts=False))
        self.events.publish("template", {"name": record.template, "tenant": record.tenant})
        self._alert(record)

    def _alert(self, record: RequestRecord) -> None:
        """Tell of a fault that a template shows for the first time."""
        diagnosis = record.diagnosis
        if diagnosis.attribution != "caller" or diagnosis.cause is None:
            return
        key = (record.tenant, record.template, diagnosis.cause)
        if key in self._known or len(self._known) >= _MAX_KNOWN:
            return
        self._known.add(key)
        title = get_cause(diagnosis.cause).title
        self.events.publish(
            "alert",
            {
                "kind": "new_cause",
                "time": time.time(),
                "template": record.template,
                "tenant": record.tenant,
                "cause": diagnosis.cause,
                "path": diagnosis.path,
                "lost_tokens": diagnosis.lost_tokens,
                "request": record.id,
                "message": f"{record.template}: {title}",
            },
        )


def _row(template: LearnedTemplate) -> LearnedRow:
    signature = template.signature
    return LearnedRow(template.tenant, template.name, signature.key, signature.openings, signature.chunks)


def _template(row: LearnedRow) -> LearnedTemplate:
    return LearnedTemplate(row.tenant, row.name, Signature(row.key, row.openings, row.chunks))
