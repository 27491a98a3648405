"""What Prometheus is told: requests, tokens, misses by cause, TTFT, the engine's pages, lost records.

Every gateway has a registry of its own. A label takes a bounded number of values: further templates
and models are counted as ``other``, so that no caller can make the page grow.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector

from promptcache_gateway.tallies import Tallies, Tally

if TYPE_CHECKING:
    from prometheus_client.core import Metric

    from promptcache_gateway.observe.record import RequestRecord

CONTENT_TYPE = CONTENT_TYPE_LATEST
"""The content type of `Metrics.render`."""

OTHER = "other"
"""What values beyond a label's bound are counted as."""

_TTFT_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
_ENGINE_GAUGES = {
    "pages_total": "Pages of the engine's cache",
    "pages_free": "Pages with nothing to reuse in them",
    "pages_cached": "Pages kept for reuse that no running request needs",
    "pages_held": "Pages running requests need",
    "running": "Sequences being computed",
    "waiting": "Sequences queued",
}
_ENGINE_COUNTERS = {
    "prefix_queries": "Prompt tokens looked up in the radix tree",
    "prefix_hits": "Prompt tokens found in the radix tree",
    "evicted_pages": "Cached pages given to others",
    "preemptions": "Times a sequence gave its pages back",
    "prefill_tokens": "Prompt tokens computed",
    "generated_tokens": "Tokens sampled",
}

_ENDINGS = {200: "2xx"}
"""How requests ended by their status, where it is not worth putting together."""

EngineStats = Callable[[], Mapping[str, Mapping[str, Any]]]
"""The counters of each upstream that is an engine, by the upstream's name."""


class _Bounded:
    """Lets the first values of a label through, and calls the rest `OTHER`."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._known: set[str] = set()

    def __call__(self, value: str) -> str:
        if value in self._known:
            return value
        if len(self._known) >= self._limit:
            return OTHER
        self._known.add(value)
        return value


class Metrics:
    """The counters of one gateway.

    Args:
        dropped: how many records the store has lost.
        alerts_dropped: how many alerts the webhook did not take.
        max_templates: values the ``template`` label may take.
    """

    def __init__(
        self,
        *,
        dropped: Callable[[], int] = lambda: 0,
        alerts_dropped: Callable[[], int] = lambda: 0,
        max_templates: int = 200,
    ) -> None:
        self.registry = CollectorRegistry()
        self._tallies = Tallies()
        self._template = _Bounded(max_templates)
        self._upstream = _Bounded(50)
        self._requests = self._counter(
            "requests", "Requests, by how they ended", "template", "upstream", "status"
        )
        self._failed = self._counter(
            "failed_requests",
            "Requests that ended in an error, streams cut short included",
            "template",
            "upstream",
        )
        self._tokens = self._counter(
            "input_tokens", "Prompt tokens, by how they were served", "template", "upstream", "kind"
        )
        self._misses = self._counter(
            "misses", "Requests that missed, by their first cause", "template", "cause"
        )
        self._lost = self._counter(
            "lost_tokens", "Prompt tokens that could have been read", "template", "cause"
        )
        self._lost_usd = self._counter("lost_usd", "What the lost tokens cost, in USD", "template", "cause")
        self._unreported = self._counter(
            "unreported_requests", "Requests whose upstream did not say what it read", "template", "upstream"
        )
        self._alerts = self._counter(
            "alerts", "Alerts, by kind: new_cause, regression, loss, budget", "template", "kind"
        )
        self._routing = self._counter(
            "routing_tokens",
            "Prompt tokens sent to fleets: prompt; available in any cache, chosen, delivered",
            "template",
            "upstream",
            "stage",
        )
        self._ttft = self._tallies.histogram(
            "promptcache_ttft_seconds", "Time to the first output", "result", bounds=_TTFT_SECONDS
        )
        self.registry.register(self._tallies)
        self.registry.register(_Dropped(dropped, alerts_dropped))

    def count(self, record: RequestRecord) -> None:
        """Count one record. Unknown counts are left out, not counted as zero. Safe from any thread."""
        with self._tallies.lock:
            self._count(record)

    def _count(self, record: RequestRecord) -> None:
        template, upstream = self._template(record.template), self._upstream(record.upstream)
        status = record.status
        self._requests.values[template, upstream, _ENDINGS.get(status) or f"{status // 100}xx"] += 1.0
        if status >= 400 or record.error is not None:
            self._failed.add((template, upstream))
        tokens = self._tokens.values
        if record.uncached_tokens is not None:
            tokens[template, upstream, "uncached"] += record.uncached_tokens
        if record.cached_tokens is not None:
            tokens[template, upstream, "read"] += record.cached_tokens
        if record.cache_write_tokens is not None:
            tokens[template, upstream, "write"] += record.cache_write_tokens
        if not record.reported and status < 400:
            self._unreported.add((template, upstream))
        if not record.diagnosis.hit or record.diagnosis.losses:
            self._count_misses(record, template)
        if record.placement is not None:
            self._count_routing(record, template, upstream)
        if record.ttft_ms is not None and record.diagnosis.hit is not None:
            self._ttft.add(("hit" if record.diagnosis.hit else "miss",), record.ttft_ms / 1000.0)

    def count_alert(self, template: str, kind: str) -> None:
        """Count one alert. Safe from any thread."""
        with self._tallies.lock:
            self._alerts.add((self._template(template), kind))

    def watch_engines(self, stats: EngineStats) -> None:
        """Add the engines' own numbers, read whenever the page is."""
        self.registry.register(_Engines(stats))

    def render(self) -> bytes:
        """The page, in Prometheus' text format."""
        return generate_latest(self.registry)

    def routing_totals(self) -> dict[tuple[str, str], dict[str, float]]:
        """What was counted of fleets, by template and upstream: tokens of each stage."""
        totals: dict[tuple[str, str], dict[str, float]] = {}
        with self._tallies.lock:
            for (template, upstream, stage), tokens in self._routing.values.items():
                totals.setdefault((template, upstream), {})[stage] = tokens
        return totals

    def _count_routing(self, record: RequestRecord, template: str, upstream: str) -> None:
        """Only requests whose replica told what it read, so that the stages can be compared."""
        placed, prompt, read = record.placement, record.prompt_tokens, record.cached_tokens
        if placed is None or prompt is None or read is None:
            return
        available = min(prompt, max(placed.available_tokens, read))
        chosen = min(prompt, max(placed.chosen_tokens, read))
        for stage, tokens in (
            ("prompt", prompt),
            ("available", available),
            ("chosen", chosen),
            ("delivered", read),
        ):
            self._routing.add((template, upstream, stage), tokens)

    def _count_misses(self, record: RequestRecord, template: str) -> None:
        diagnosis = record.diagnosis
        if diagnosis.hit is False and diagnosis.cause is not None:
            self._misses.add((template, diagnosis.cause))
        for code, tokens in diagnosis.losses.items():
            self._lost.add((template, code), tokens)
            if diagnosis.lost_usd is not None and diagnosis.lost_tokens:
                share = diagnosis.lost_usd * tokens / diagnosis.lost_tokens
                self._lost_usd.add((template, code), share)

    def _counter(self, name: str, text: str, *labels: str) -> Tally:
        return self._tallies.counter(f"promptcache_{name}", text, *labels)


class _Dropped(Collector):
    def __init__(self, records: Callable[[], int], alerts: Callable[[], int]) -> None:
        self._records = records
        self._alerts = alerts

    def collect(self) -> Iterable[Metric]:
        yield CounterMetricFamily(
            "promptcache_recorder_dropped", "Records that were not written", value=self._records()
        )
        yield CounterMetricFamily(
            "promptcache_alerts_dropped", "Alerts that the webhook did not take", value=self._alerts()
        )


class _Engines(Collector):
    def __init__(self, stats: EngineStats) -> None:
        self._stats = stats

    def collect(self) -> Iterator[Metric]:
        stats = self._stats()
        for name, text in _ENGINE_GAUGES.items():
            gauge = GaugeMetricFamily(f"promptcache_engine_{name}", text, labels=("upstream",))
            yield _filled(gauge, name, stats)
        for name, text in _ENGINE_COUNTERS.items():
            counter = CounterMetricFamily(f"promptcache_engine_{name}", text, labels=("upstream",))
            yield _filled(counter, name, stats)

    def describe(self) -> Iterable[Metric]:
        """Nothing: the engine need not be loaded yet when this is registered."""
        return ()


def _filled(family: Any, name: str, stats: Mapping[str, Mapping[str, Any]]) -> Metric:
    for upstream, numbers in stats.items():
        if name in numbers:
            family.add_metric((upstream,), numbers[name])
    metric: Metric = family
    return metric
