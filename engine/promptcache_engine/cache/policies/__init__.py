"""The eviction policies by name."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from promptcache_engine.cache.errors import CacheConfigError
from promptcache_engine.cache.policies.base import EvictionPolicy
from promptcache_engine.cache.policies.learned import LearnedPolicy
from promptcache_engine.cache.policies.lru import LruPolicy
from promptcache_engine.cache.policies.ranked import LfuPolicy, PriorityPolicy
from promptcache_engine.cache.policies.ttl import TtlPolicy

PolicyMaker = Callable[[Callable[[], float], int], EvictionPolicy]
"""(clock in seconds, pages of the pool) → a policy."""

POLICIES: Mapping[str, PolicyMaker] = MappingProxyType(
    {
        "lru": lambda _clock, _num_pages: LruPolicy(),
        "lfu": lambda _clock, _num_pages: LfuPolicy(),
        "priority": lambda _clock, _num_pages: PriorityPolicy(),
        "ttl": TtlPolicy,
        "learned": LearnedPolicy,
    }
)
"""Name of a policy → what makes one."""


def create_policy(policy: str | EvictionPolicy, clock: Callable[[], float], num_pages: int) -> EvictionPolicy:
    """Return a new policy for a name, and one that is none's name as it is.

    Raises CacheConfigError for an unknown name, and for what cannot name a victim.
    """
    known = f"Known policies: {', '.join(sorted(POLICIES))}."
    if isinstance(policy, str):
        if policy not in POLICIES:
            raise CacheConfigError("policy", policy, known)
        return POLICIES[policy](clock, num_pages)
    if not callable(getattr(policy, "victim", None)):
        raise CacheConfigError("policy", policy, known)
    return policy


__all__ = [
    "POLICIES",
    "EvictionPolicy",
    "LearnedPolicy",
    "LfuPolicy",
    "LruPolicy",
    "PolicyMaker",
    "PriorityPolicy",
    "TtlPolicy",
    "create_policy",
]
