"""One replica as the router sees it: its work, its cache, and what of a prompt that cache holds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from promptcache_gateway.fleet.load import Load

if TYPE_CHECKING:
    from promptcache_gateway.fleet.prefix import Prefix
    from promptcache_gateway.fleet.tree import PrefixTree


class Known(Protocol):
    """Exact knowledge of a cache."""

    def held(self, prefix: Prefix) -> tuple[int, int] | None:
        """Leading tokens that are held, and how many more were once; None: cannot be told."""
        ...


class Target:
    """What is known of one replica.

    Attributes:
        name: the replica's.
        weight: its share of the work beside others.
        cache: which cache it reads; replicas of one provider's account and region read the same.
        load: what it has to do.
        tree: what its cache probably holds; shared by all of the same cache.
        turns: how often it was chosen.
        events: what its own events tell of its cache; None where it sends none.
    """

    __slots__ = ("cache", "events", "load", "name", "tree", "turns", "weight")

    def __init__(self, name: str, weight: float, cache: str, tree: PrefixTree, prefill_rate: float) -> None:
        self.name, self.weight, self.cache, self.tree = name, weight, cache, tree
        self.load = Load(weight, prefill_rate)
        self.turns = 0.0
        self.events: Known | None = None

    def inherit(self, earlier: Target) -> None:
        """Go on with what is known of the same server under other settings."""
        self.load.learn_from(earlier.load)
        if self.cache == earlier.cache:
            self.tree = earlier.tree

    def follow(self, earlier: Target) -> None:
        """Go on for the same server: what it still has to do of earlier requests counts, too."""
        self.inherit(earlier)
        self.load = earlier.load

    def reweigh(self, weight: float) -> None:
        """Take another weight; it has had its turns by that."""
        self.turns *= weight / self.weight
        self.weight = weight


@dataclass(frozen=True, slots=True)
class Match:
    """How much of a prompt a target holds, in tokens.

    Attributes:
        exact: its own events say so.
        removed: what it held beyond that and has removed, as they say.
    """

    target: Target
    tokens: float
    exact: bool = False
    removed: float = 0.0
