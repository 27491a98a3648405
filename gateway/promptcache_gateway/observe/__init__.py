"""Watches requests: templates, predecessors, diagnoses, records."""

from typing import TYPE_CHECKING, Any

from promptcache_gateway.observe.bookkeeper import Bookkeeper
from promptcache_gateway.observe.diagnosis import Diagnosis
from promptcache_gateway.observe.observation import Observation
from promptcache_gateway.observe.observer import Observer
from promptcache_gateway.observe.record import RequestRecord

if TYPE_CHECKING:
    from promptcache_gateway.observe.journal import Journal

__all__ = ["Bookkeeper", "Diagnosis", "Journal", "Observation", "Observer", "RequestRecord"]


def __getattr__(name: str) -> Any:
    """Load the journal when it is asked for: a diagnosis of a log needs no database and no metrics."""
    if name != "Journal":
        raise AttributeError(name)
    from promptcache_gateway.observe.journal import Journal  # noqa: PLC0415

    return Journal
