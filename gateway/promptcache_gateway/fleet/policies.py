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
    from promptcache_gateway.fleet.target import Match, Target
    from promptcache_gateway.fleet.utilisation import Utilisation

PRESSURE = 5.0
"""How much dearer missing tokens become the busier the fleet is: others wait for them, and what is computed
twice takes room twice. The traces' best compromise between hit rate and waiting."""

MOST = 20.0
"""What it costs at most."""

ABOUT, ABOUT_S = 0.1, 0.01
"""Costs that differ by no more than this share and so many seconds are about the same."""

_POOLED_S = 5.0


class Policy(Protocol):
    """Chooses one of the targets that can take a request."""

    def choose(self, prefix: Prefix, matches: Sequence[Match], now: float) -> Target:
        """The target for a prompt; ``matches`` has one entry for each target, never none."""
        ...


class ByPrefix:
    """Least cost: backlog, company, and missing tokens at the fleet's exchange rate.

    Costs that are about the same are the same, and the emptiest takes it: otherwise whichever replica happens
    to look a little faster, or holds a few common words, would get everything that comes to an idle fleet.
    """

    def __init__(self, utilisation: Utilisation) -> None:
        self._utilisation = utilisation

    def choose(self, prefix: Prefix, matches: Sequence[Match], now: float) -> Target:
        """The cheapest; of equals the one with the least to do."""
        targets = [match.target for match in matches]
        exchange = exchange_rate(self._utilisation.share(targets, now))
        costs = [
            match.target.load.backlog_s(now)
            + match.target.load.crowd_s()
            + exchange * max(0.0, prefix.tokens - match.tokens) / rate
            for match, rate in zip(matches, pooled_rates(targets), strict=True)
        ]
        enough = min(costs) * (1 + ABOUT) + ABOUT_S
        return min(
            [target for target, cost in zip(targets, costs, strict=True) if cost <= enough], key=_emptiness
        )


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


def pooled_rates(targets: Sequence[Target]) -> list[float]:
    """Tokens a second of each: its own as far as it has shown it, for the rest the fleet's by its weight."""
    shown = [target.load.evidence for target in targets]
    fleet = sum(tokens for tokens, _ in shown) / sum(
        seconds * target.weight for target, (_, seconds) in zip(targets, shown, strict=True)
    )
    return [
        (tokens + _POOLED_S * fleet * target.weight) / (seconds + _POOLED_S)
        for target, (tokens, seconds) in zip(targets, shown, strict=True)
    ]


def exchange_rate(utilisation: float) -> float:
    """What a missing token costs, in multiples of its own time: ``1 + PRESSURE * u / (1 - u)``, bounded.

    An idle fleet pays its own time only: nobody waits behind it, and idle replicas had better be used.
    """
    busy = min(1.0, max(0.0, utilisation))
    return min(MOST, 1.0 + PRESSURE * busy / max(1e-9, 1.0 - busy))


def _emptiness(target: Target) -> tuple[float, float, float]:
    """What breaks a tie: requests for the weight, pending tokens, and whose turn it is."""
    load = target.load
    return load.running / target.weight, load.pending_tokens / target.weight, target.turns
