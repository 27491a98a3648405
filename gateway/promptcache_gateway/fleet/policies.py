"""The policies: which of several replicas a request goes to. All of them are pure.

``prefix`` pays for what it knows: the seconds until a replica can begin, and the seconds its missing tokens
take there, the latter the dearer the busier the whole fleet is, because they delay everybody behind. The rule
and its exchange rate won a simulation over eight replicas; `benchmarks/README.md` has the figures.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from promptcache_gateway.fleet.pins import Pins
    from promptcache_gateway.fleet.prefix import Prefix
    from promptcache_gateway.fleet.routing import Match, Target
    from promptcache_gateway.fleet.utilisation import Utilisation

EXCHANGE = 2.0
"""What a missing token costs beside its own time in an idle fleet."""

MOST = 20.0
"""What it costs at most."""


class Policy(Protocol):
    """Chooses one of the targets that can take a request."""

    def choose(self, prefix: Prefix, matches: Sequence[Match], now: float) -> Target:
        """The target for a prompt; ``matches`` has one entry for each target, never none."""
        ...


class ByPrefix:
    """Least cost: backlog, company, and missing tokens at the fleet's exchange rate."""

    def __init__(self, utilisation: Utilisation) -> None:
        self._utilisation = utilisation

    def choose(self, prefix: Prefix, matches: Sequence[Match], now: float) -> Target:
        """The cheapest; of equals the one with the least to do."""
        targets = [match.target for match in matches]
        rate = exchange_rate(self._utilisation.share(targets, now))

        def cost(match: Match) -> tuple[float, float, float, float]:
            load = match.target.load
            missing = max(0.0, prefix.tokens - match.tokens) / load.prefill_rate
            return (load.backlog_s(now) + load.crowd_s() + rate * missing, *_emptiness(match.target))

        return min(matches, key=cost).target


class BySession:
    """A conversation stays where it was, as long as what it left there lives; new ones go to the idlest."""

    def __init__(self, pins: Pins) -> None:
        self._pins = pins

    def choose(self, prefix: Prefix, matches: Sequence[Match], now: float) -> Target:
        """The pinned one where it can take it."""
        pinned = self._pins.find(prefix, now)
        there = [match.target for match in matches if match.target.cache == pinned]
        return min(there or [match.target for match in matches], key=_emptiness)


class ByLoad:
    """The replica with the fewest requests for its weight."""

    def choose(self, prefix: Prefix, matches: Sequence[Match], now: float) -> Target:  # noqa: ARG002
        """The idlest."""
        return min((match.target for match in matches), key=_emptiness)


class InTurn:
    """Each in turn, in proportion to the weights."""

    def choose(self, prefix: Prefix, matches: Sequence[Match], now: float) -> Target:  # noqa: ARG002
        """The one that has had the least for its weight."""
        return min((match.target for match in matches), key=lambda target: target.turns / target.weight)


def exchange_rate(utilisation: float) -> float:
    """What a missing token costs, in multiples of its own time: ``c / (1 - utilisation)``, bounded."""
    return min(MOST, EXCHANGE / max(1e-9, 1.0 - min(1.0, utilisation)))


def _emptiness(target: Target) -> tuple[float, float, float]:
    """What breaks a tie: requests for the weight, pending tokens, and whose turn it is."""
    load = target.load
    return load.running / target.weight, load.pending_tokens / target.weight, target.turns
