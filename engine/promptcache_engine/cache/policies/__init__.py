"""The eviction policies by name."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from promptcache_engine.cache.errors import CacheConfigError
from promptcache_engine.cache.policies.base import EvictionPolicy
from promptcache_engine.cache.policies.lru import LruPolicy

POLICIES: Mapping[str, Callable[[], EvictionPolicy]] = MappingProxyType({"lru": LruPolicy})
"""Name of a policy → what makes one."""


def create_policy(name: str) -> EvictionPolicy:
    """Return a new policy; raises CacheConfigError for an unknown name."""
    try:
        return POLICIES[name]()
    except KeyError:
        raise CacheConfigError("policy", name, f"Known policies: {', '.join(sorted(POLICIES))}.") from None


__all__ = ["POLICIES", "EvictionPolicy", "LruPolicy", "create_policy"]
