"""The router: what it knows of each replica, and the choice among those that can take a request.

It is pure: no socket, no clock, no waiting; `promptcache simulate --replicas` plays traces through this very
code. Who may be chosen is the caller's to say, and so is everything that came of a choice.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from promptcache_gateway.fleet.homes import Homes
from promptcache_gateway.fleet.load import PREFILL_PRIOR
from promptcache_gateway.fleet.pins import Pins
from promptcache_gateway.fleet.policies import ByLoad, ByPrefix, BySession, InTurn, Policy
from promptcache_gateway.fleet.target import Match, Target
from promptcache_gateway.fleet.tree import MAX_KEYS, PrefixTree
from promptcache_gateway.fleet.utilisation import Utilisation

if TYPE_CHECKING:
    from collections.abc import Sequence

    from promptcache_gateway.fleet.prefix import Prefix

_FOREVER = float("-inf")


@dataclass(frozen=True, slots=True)
class Choice:
    """Where a request goes, and what was known then.

    Attributes:
        target: the replica.
        prefix: the request's.
        chosen: tokens that the target holds.
        available: tokens of the longest match at any that answers, among those that had no room too.
        exact: both are known by events.
        removed: tokens beyond ``available`` that some replica held and has removed.
    """

    target: Target
    prefix: Prefix
    chosen: float
    available: float
    exact: bool = False
    removed: float = 0.0

    @property
    def missing(self) -> float:
        """Tokens the target must compute."""
        return max(0.0, self.prefix.tokens - self.chosen)


class Router:
    """Targets, and the policy that chooses among them.

    Args:
        policy: one of `settings.POLICIES`.
        prefill_rate: tokens a second that a replica of weight 1 is first taken to compute.
        max_keys: keys that a cache's tree holds at most.

    Attributes:
        pins: where conversations went.
        homes: who keeps answers that later requests name.
        utilisation: how busy the fleet is.
        targets: the replicas, by name.
    """

    def __init__(
        self, policy: str = "prefix", *, prefill_rate: float = PREFILL_PRIOR, max_keys: int = MAX_KEYS
    ) -> None:
        self.pins = Pins()
        self.homes = Homes()
        self.utilisation = Utilisation()
        self._policy_name = policy
        self._policy = _make_policy(policy, self)
        self._prefill_rate = prefill_rate
        self._max_keys = max_keys
        self.targets: dict[str, Target] = {}
        self._earlier: dict[str, Target] = {}

    def add(self, name: str, weight: float = 1.0, cache: str | None = None) -> Target:
        """Take a replica; ``cache`` names a cache that it shares with others, None: its own."""
        cache = cache or name
        shared = [target.tree for target in self.targets.values() if target.cache == cache]
        tree = shared[0] if shared else PrefixTree(self._max_keys)
        had = min((target.turns / target.weight for target in self.targets.values()), default=0.0)
        self.targets[name] = Target(name, weight, cache, tree, self._prefill_rate)
        if name in self._earlier:
            self.targets[name].inherit(self._earlier.pop(name))
        self.targets[name].turns = had * weight  # a newcomer has not been left out all the time
        return self.targets[name]

    def succeed(self, earlier: Router) -> None:
        """Go on with what another router knows, of the replicas that both name, now or later."""
        self.pins, self.homes = earlier.pins, earlier.homes
        self._earlier = dict(earlier.targets)
        self._policy = _make_policy(self._policy_name, self)
        for name, target in self.targets.items():
            if name in earlier.targets:
                target.inherit(earlier.targets[name])

    def share(self, now: float) -> float:
        """How busy the fleet is with prompts: 0 (idle) to 1 and beyond."""
        return self.utilisation.share(tuple(self.targets.values()), now)

    def remove(self, name: str) -> None:
        """Forget a replica."""
        self.targets.pop(name, None)

    def choose(
        self, prefix: Prefix, able: Sequence[Target], now: float, well: Sequence[Target] | None = None
    ) -> Choice:
        """Choose one of the targets that are able to take a prompt; there must be one.

        Args:
            prefix: the prompt's.
            able: those with room.
            now: the time.
            well: those whose caches could be read if they had room; None: all. What a dead one held is
                nowhere available.
        """
        answering = self.targets.values() if well is None else (*able, *well)
        matches = {target.name: _match(target, prefix, now) for target in answering}
        target = self._policy.choose(prefix, [matches[one.name] for one in able], now)
        available = max(match.tokens for match in matches.values())
        known = max(match.tokens + match.removed for match in matches.values())
        return Choice(
            target,
            prefix,
            matches[target.name].tokens,
            available,
            all(match.exact for match in matches.values()),
            known - available,
        )

    def sent(self, choice: Choice, now: float) -> int:
        """Note that a choice was followed; the ticket is for what comes of it."""
        target = choice.target
        target.turns += 1
        self.utilisation.sent(choice.missing / target.load.prefill_rate, now)
        target.tree.insert(choice.prefix.keys, now)
        self.pins.put(choice.prefix, target.cache, now)
        return target.load.sent(choice.missing, now)

    def undone(self, choice: Choice) -> None:
        """Note that a request was not worked on: what it would have left is not there."""
        known = int(choice.chosen / choice.prefix.key_tokens)
        choice.target.tree.forget(choice.prefix.keys[known:])


def _match(target: Target, prefix: Prefix, now: float) -> Match:
    told = target.events.held(prefix) if target.events is not None else None
    if told is not None:
        return Match(target, told[0], exact=True, removed=told[1])
    since = _FOREVER if prefix.lifetime_s is None else now - prefix.lifetime_s
    return Match(target, prefix.tokens_of(target.tree.match(prefix.keys, since)))


def _make_policy(name: str, router: Router) -> Policy:
    if name == "prefix":
        return ByPrefix(router.utilisation)
    if name == "session":
        return BySession(router.pins)
    return ByLoad() if name == "least-load" else InTurn()
