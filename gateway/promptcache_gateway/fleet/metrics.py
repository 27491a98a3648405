"""What Prometheus is told of fleets: each replica's state and work, and who waited for whom.

The numbers are read from the fleets themselves whenever the page is. What each template got is `metrics`' of
the gateway, which counts records.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector

from promptcache_gateway.fleet.upstream import FleetUpstream

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Any

    from prometheus_client.core import Metric

    from promptcache_gateway.upstreams.base import Upstream

_REPLICA_GAUGES = {
    "running": "Requests a replica has",
    "pending_tokens": "Prompt tokens a replica has not computed yet",
    "backlog_s": "Seconds until a replica can begin another prompt",
    "prefill_tokens_per_s": "Prompt tokens a replica computes in a second, as learned",
    "decode_tokens_per_s": "Tokens a second that one answer of a replica gets, as learned",
    "known_tokens": "Tokens that a replica's cache is thought to hold",
}
_NAMES = {"backlog_s": "backlog_seconds"}
_REPLICA_COUNTERS = {
    "requests": "Requests a replica got",
    "failures": "Requests a replica did not answer",
    "lone_refusals": "Requests a replica refused (401, 403, 404) and another answered",
}
_FLEET_COUNTERS = {
    "held": "Requests that waited for another's first output, with the same cold prefix",
    "hold_timeouts": "Those of them that went on before it came",
    "waited": "Requests that waited for a replica with room",
}


class FleetMetrics(Collector):
    """The page's part about fleets.

    Args:
        upstreams: as they are configured now; those without replicas are passed over.
    """

    def __init__(self, upstreams: Callable[[], Sequence[Upstream]]) -> None:
        self._upstreams = upstreams

    def collect(self) -> Iterator[Metric]:
        """The families, as things stand."""
        fleets = [one.view() for one in self._upstreams() if isinstance(one, FleetUpstream)]
        labels = ("upstream", "replica")
        ready = GaugeMetricFamily(
            "promptcache_replica_ready", "1 while a replica gets requests", labels=labels
        )
        for name, text in _REPLICA_GAUGES.items():
            gauge = GaugeMetricFamily(f"promptcache_replica_{_NAMES.get(name, name)}", text, labels=labels)
            yield _filled(gauge, fleets, name)
        for name, text in _REPLICA_COUNTERS.items():
            counter = CounterMetricFamily(f"promptcache_replica_{name}", text, labels=labels)
            yield _filled(counter, fleets, name)
        for fleet in fleets:
            for one in fleet["replicas"]:
                ready.add_metric((fleet["upstream"], one["name"]), int(one["state"] in {"ready", "full"}))
        yield ready
        yield from _of_fleets(fleets)

    def describe(self) -> list[Metric]:
        """Nothing: replicas need not be there yet when this is registered."""
        return []


def _filled(
    family: GaugeMetricFamily | CounterMetricFamily, fleets: Sequence[Mapping[str, Any]], name: str
) -> Metric:
    for fleet in fleets:
        for one in fleet["replicas"]:
            family.add_metric((fleet["upstream"], one["name"]), one[name])
    return family


def _of_fleets(fleets: Sequence[Mapping[str, Any]]) -> Iterator[Metric]:
    busy = GaugeMetricFamily(
        "promptcache_fleet_utilisation", "Share of a fleet's prefill that was asked for", labels=("upstream",)
    )
    for fleet in fleets:
        busy.add_metric((fleet["upstream"],), fleet["utilisation"])
    yield busy
    for name, text in _FLEET_COUNTERS.items():
        counter = CounterMetricFamily(f"promptcache_fleet_{name}", text, labels=("upstream",))
        for fleet in fleets:
            counter.add_metric((fleet["upstream"],), fleet[name])
        yield counter
