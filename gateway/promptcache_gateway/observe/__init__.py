"""Watches requests: templates, predecessors, diagnoses, records."""

from promptcache_gateway.observe.diagnosis import Diagnosis
from promptcache_gateway.observe.journal import Journal
from promptcache_gateway.observe.observation import Observation
from promptcache_gateway.observe.observer import Observer
from promptcache_gateway.observe.record import RequestRecord

__all__ = ["Diagnosis", "Journal", "Observation", "Observer", "RequestRecord"]
