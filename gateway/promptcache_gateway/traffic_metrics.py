"""What Prometheus is told of the gateway's own doings: requests under way, retries, circuits, limits.

What the records tell is `metrics`'. These numbers are read from the parts themselves whenever the page is.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from prometheus_client.core import Metric

    from promptcache_gateway.upstreams.switchboard import Line


@dataclass(frozen=True, slots=True)
class LineFigures:
    """One upstream's retries and circuit.

    Attributes:
        name: the upstream's.
        retries: calls that were sent again.
        opened: times it was left alone.
        is_open: it is left alone now.
    """

    name: str
    retries: int
    opened: int
    is_open: bool

    @classmethod
    def of(cls, line: Line) -> LineFigures:
        """As the line stands; what a fleet sent to another of its replicas was sent again, too."""
        again = line.budget.taken + getattr(line.upstream, "resent", 0)
        return cls(line.upstream.name, again, line.circuit.opened, line.circuit.is_open)

    def closed(self) -> LineFigures:
        """What remains of it once its process has ended."""
        return replace(self, is_open=False)


@dataclass(frozen=True, slots=True)
class Traffic:
    """How things stand.

    Attributes:
        running: requests to models under way.
        lines: the upstreams as they are configured now.
        refused: requests that a tenant's limit refused, by tenant and limit.
        stalled: callers that were hung up on because they took nothing of an answer.
        turned_away: requests that the gateway refused itself, by reason.
    """

    running: int
    lines: Sequence[LineFigures]
    refused: Mapping[tuple[str, str], int]
    stalled: int = 0
    turned_away: Mapping[str, int] = field(default_factory=dict)


def added_up(parts: Sequence[Traffic]) -> Traffic:
    """How things stand at several processes together; a circuit is open where it is at any of them."""
    lines: dict[str, LineFigures] = {}
    for line in (line for part in parts for line in part.lines):
        known = lines.get(line.name, LineFigures(line.name, 0, 0, is_open=False))
        lines[line.name] = LineFigures(
            line.name,
            known.retries + line.retries,
            known.opened + line.opened,
            is_open=known.is_open or line.is_open,
        )
    refused: Counter[tuple[str, str]] = Counter()
    turned_away: Counter[str] = Counter()
    for part in parts:
        refused.update(part.refused)
        turned_away.update(part.turned_away)
    running, stalled = sum(part.running for part in parts), sum(part.stalled for part in parts)
    return Traffic(running, tuple(lines.values()), dict(refused), stalled, dict(turned_away))


class TrafficMetrics(Collector):
    """The page's part about traffic.

    Args:
        look: says how things stand.
    """

    def __init__(self, look: Callable[[], Traffic]) -> None:
        self._look = look

    def collect(self) -> Iterator[Metric]:
        """The families, as things stand."""
        now = self._look()
        yield GaugeMetricFamily(
            "promptcache_running_requests", "Requests to models under way", value=now.running
        )
        yield CounterMetricFamily(
            "promptcache_stalled_callers",
            "Callers hung up on because they took nothing of an answer",
            value=now.stalled,
        )
        retries = CounterMetricFamily(
            "promptcache_upstream_retries", "Calls that were sent again", labels=("upstream",)
        )
        opened = CounterMetricFamily(
            "promptcache_upstream_circuit_opened",
            "Times an upstream failed so often in a row that it was left alone",
            labels=("upstream",),
        )
        is_open = GaugeMetricFamily(
            "promptcache_upstream_circuit_open", "1 while an upstream is left alone", labels=("upstream",)
        )
        for line in now.lines:
            label = (line.name,)
            retries.add_metric(label, line.retries)
            opened.add_metric(label, line.opened)
            is_open.add_metric(label, int(line.is_open))
        limited = CounterMetricFamily(
            "promptcache_limited_requests",
            "Requests that a tenant's limit refused",
            labels=("tenant", "limit"),
        )
        for labels, count in now.refused.items():
            limited.add_metric(labels, count)
        away = CounterMetricFamily(
            "promptcache_refused_requests",
            "Requests to models that the gateway refused itself; there is no record of them",
            labels=("reason",),
        )
        for reason, count in now.turned_away.items():
            away.add_metric((reason,), count)
        yield from (retries, opened, is_open, limited, away)

    def describe(self) -> list[Metric]:
        """Nothing: upstreams need not be there yet when this is registered."""
        return []
