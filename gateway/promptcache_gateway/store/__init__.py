"""What was recorded, kept in SQLite: counts, codes and times, never a prompt."""

from promptcache_gateway.store.database import DatabaseUnusableError
from promptcache_gateway.store.learned import LearnedRow
from promptcache_gateway.store.store import Store

__all__ = ["DatabaseUnusableError", "LearnedRow", "Store"]
