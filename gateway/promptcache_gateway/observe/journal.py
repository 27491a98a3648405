"""Where every record goes: memory, database, metrics, listeners. One place, so that none is forgotten."""

from __future__ import annotations

import asyncio
import os
import time
from functools import partial
from typing import TYPE_CHECKING, Any

from promptcache.causes import get_cause
from promptcache_gateway.metrics import Metrics
from promptcache_gateway.observe.events import EventRing
from promptcache_gateway.observe.recent import Recent
from promptcache_gateway.observe.regressions import Regressions
from promptcache_gateway.observe.signatures import Signature
from promptcache_gateway.observe.templates import LearnedTemplate
from promptcache_gateway.observe.webhook import VARIABLE, Webhook
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

    def __init__(self, database: Store | Path | str) -> None:
        """``database``: a store, or the address of one with its ordinary bounds."""
        self.store = database if isinstance(database, Store) else Store(database)
        self.recent = Recent()
        self.events = EventRing()
        self.metrics = Metrics(dropped=lambda: self.store.dropped)
        self._regressions = Regressions()
        url = os.environ.get(VARIABLE)
        self._webhook = Webhook(url) if url else None
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
        templates.renames.recall(await asyncio.to_thread(self.store.renames))
        self._known = await asyncio.to_thread(self.store.read.known_causes)
        if self._webhook is not None:
            self._webhook.start()

    async def stop(self) -> None:
        """Write what is queued and close the database."""
        await asyncio.to_thread(self.store.close)
        if self._webhook is not None:
            await asyncio.to_thread(self._webhook.stop)

    def forget(self, tenant: str) -> None:
        """Forget the records in memory that are a tenant's."""
        self.recent.forget(tenant)
        self.events.forget(tenant)
        self._known = {key for key in self._known if key[0] != tenant}

    def rename(self, tenant: str, template: str, to: str) -> None:
        """Show what is in memory of a template under another name."""
        self.recent.rename(tenant, template, to)
        codes = [key[2] for key in self._known if key[:2] == (tenant, template)]
        self._known |= {(tenant, to, code) for code in codes}

    def record(self, record: RequestRecord) -> None:
        """Take a record; never waits."""
        self.recent.add(record)
        self.metrics.count(record)
        for template in self._templates.take_learned() if self._templates is not None else ():
            self.store.keep_learned(_row(template))
        self.store.record(record)
        self.events.publish("request", partial(record.to_dict, excerpts=False))
        self.events.publish("template", {"name": record.template, "tenant": record.tenant})
        self._note_new_cause(record)
        self._note_regression(record)

    def _alert(self, kind: str, record: RequestRecord, message: str, **more: Any) -> None:
        alert = {
            "kind": kind,
            "time": time.time(),
            "template": record.template,
            "tenant": record.tenant,
            "request": record.id,
            "message": f"{record.template}: {message}",
            **more,
        }
        self.metrics.count_alert(record.template, kind)
        self.events.publish("alert", alert)
        if self._webhook is not None:
            self._webhook.post(alert)

    def _note_regression(self, record: RequestRecord) -> None:
        """Tell that a template reads less of what it could than it used to."""
        fell = self._regressions.watch(record)
        if fell is None:
            return
        why = "" if fell.cause is None else f" ({get_cause(fell.cause).title})"
        self._alert(
            "regression",
            record,
            f"reads {fell.after:.0%} of what could be read, after {fell.before:.0%}{why}",
            before=fell.before,
            after=fell.after,
            cause=fell.cause,
            lost_tokens=fell.lost_tokens,
        )

    def _note_new_cause(self, record: RequestRecord) -> None:
        """Tell of a fault that a template shows for the first time."""
        diagnosis = record.diagnosis
        if diagnosis.attribution != "caller" or diagnosis.cause is None:
            return
        key = (record.tenant, record.template, diagnosis.cause)
        if key in self._known or len(self._known) >= _MAX_KNOWN:
            return
        self._known.add(key)
        self._alert(
            "new_cause",
            record,
            get_cause(diagnosis.cause).title,
            cause=diagnosis.cause,
            path=diagnosis.path,
            lost_tokens=diagnosis.lost_tokens,
        )


def _row(template: LearnedTemplate) -> LearnedRow:
    signature = template.signature
    return LearnedRow(template.tenant, template.name, signature.key, signature.openings, signature.chunks)


def _template(row: LearnedRow) -> LearnedTemplate:
    return LearnedTemplate(row.tenant, row.name, Signature(row.key, row.openings, row.chunks))
