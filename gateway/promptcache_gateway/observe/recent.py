"""The last records in memory, with the excerpts that are never written to disk."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import replace
from threading import Lock
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from promptcache_gateway.observe.record import RequestRecord


class Recent:
    """A bounded memory of records by id. Safe to share between threads."""

    def __init__(self, capacity: int = 2_000) -> None:
        self._capacity = capacity
        self._records: OrderedDict[str, RequestRecord] = OrderedDict()
        self._lock = Lock()

    def add(self, record: RequestRecord) -> None:
        """Remember a record, forgetting the oldest where the memory is full."""
        with self._lock:
            self._records[record.id] = record
            while len(self._records) > self._capacity:
                self._records.popitem(last=False)

    def get(self, request_id: str) -> RequestRecord | None:
        """The record, or None where it has been forgotten."""
        with self._lock:
            return self._records.get(request_id)

    def template_of(self, request_id: str) -> str | None:
        """The template of a record, or None where it has been forgotten."""
        record = self.get(request_id)
        return None if record is None else record.template

    def samples(self, template: str, tenant: str | None = None) -> dict[tuple[str, str], dict[str, str]]:
        """The newest excerpts of a template by cause and path: ``{id, before, after}``."""
        found: dict[tuple[str, str], dict[str, str]] = {}
        with self._lock:
            records = list(self._records.values())
        for record in reversed(records):
            told = record.diagnosis
            if record.template != template or tenant not in {None, record.tenant}:
                continue
            if told.cause and told.path and told.before is not None and told.after is not None:
                sample = {"id": record.id, "before": told.before, "after": told.after}
                found.setdefault((told.cause, told.path), sample)
        return found

    def rename(self, tenant: str, template: str, to: str) -> None:
        """Show a template's records under another name."""
        with self._lock:
            for key, record in self._records.items():
                if record.template == template and record.tenant == tenant:
                    self._records[key] = replace(record, template=to)

    def forget(self, tenant: str) -> None:
        """Forget everything of a tenant's."""
        with self._lock:
            for request_id in [key for key, record in self._records.items() if record.tenant == tenant]:
                del self._records[request_id]

    def __len__(self) -> int:
        return len(self._records)
