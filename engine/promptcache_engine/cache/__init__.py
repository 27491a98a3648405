"""Prefix-cache bookkeeping: a radix tree over token ids with page-backed storage. Loads no torch."""

from promptcache_engine.cache.errors import (
    CacheConfigError,
    CacheError,
    InvalidTokensError,
    InvariantError,
    LeaseError,
    WindowRoomError,
)
from promptcache_engine.cache.events import CacheCleared, CacheEvent, PagesRemoved, PagesStored
from promptcache_engine.cache.hints import Hints
from promptcache_engine.cache.lease import NO_PAGE, AdmissionReason, Lease, PageCopy
from promptcache_engine.cache.namespaces import Namespace
from promptcache_engine.cache.policies import POLICIES
from promptcache_engine.cache.prefix_cache import PrefixCache
from promptcache_engine.cache.stats import CacheStats
from promptcache_engine.cache.window_pool import WindowPool

__all__ = [
    "NO_PAGE",
    "POLICIES",
    "AdmissionReason",
    "CacheCleared",
    "CacheConfigError",
    "CacheError",
    "CacheEvent",
    "CacheStats",
    "Hints",
    "InvalidTokensError",
    "InvariantError",
    "Lease",
    "LeaseError",
    "Namespace",
    "PageCopy",
    "PagesRemoved",
    "PagesStored",
    "PrefixCache",
    "WindowPool",
    "WindowRoomError",
]
