"""Prometheus' page: the right counters, unknown left out, labels bounded."""

from __future__ import annotations

from prometheus_client.parser import text_string_to_metric_families

from promptcache_gateway.metrics import OTHER, Metrics
from tests.gateway.store.records import hit, miss, record


def read(metrics: Metrics) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    """Every sample of the page."""
    families = text_string_to_metric_families(metrics.render().decode())
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in families
        for sample in family.samples
    }


def value(metrics: Metrics, name: str, **labels: str) -> float | None:
    return read(metrics).get((name, tuple(sorted(labels.items()))))


def test_tokens_by_how_they_were_served() -> None:
    metrics = Metrics()
    metrics.count(record(hit(), cached_tokens=900, uncached_tokens=100))
    metrics.count(record(miss(), cached_tokens=0, uncached_tokens=600, cache_write_tokens=400))

    labels = {"template": "support", "upstream": "u"}
    assert value(metrics, "promptcache_input_tokens_total", kind="read", **labels) == 900
    assert value(metrics, "promptcache_input_tokens_total", kind="uncached", **labels) == 700
    assert value(metrics, "promptcache_input_tokens_total", kind="write", **labels) == 400
    assert value(metrics, "promptcache_requests_total", status="2xx", **labels) == 2


def test_misses_and_what_they_lost() -> None:
    metrics = Metrics()
    metrics.count(record(miss("PC101", 800, lost_usd=0.5)))
    metrics.count(record(miss("PC101", 200, losses={"PC101": 150, "PC301": 50})))

    assert value(metrics, "promptcache_misses_total", template="support", cause="PC101") == 2
    assert value(metrics, "promptcache_lost_tokens_total", template="support", cause="PC101") == 950
    assert value(metrics, "promptcache_lost_tokens_total", template="support", cause="PC301") == 50
    assert value(metrics, "promptcache_lost_usd_total", template="support", cause="PC101") == 0.5


def test_a_stream_that_was_cut_is_a_failure() -> None:
    metrics = Metrics()
    for status, error in ((200, None), (200, "upstream_closed"), (502, "upstream_unreachable"), (499, None)):
        metrics.count(record(hit(), status=status, error=error))

    assert value(metrics, "promptcache_failed_requests_total", template="support", upstream="u") == 3


def test_what_was_not_reported_is_not_a_zero() -> None:
    metrics = Metrics()
    metrics.count(
        record(
            miss("PC810", None, attribution="unknown", hit=None),
            reported=False,
            cached_tokens=None,
            uncached_tokens=None,
            cache_write_tokens=None,
        )
    )

    names = {name for name, _ in read(metrics)}
    assert "promptcache_input_tokens_total" not in names
    assert "promptcache_ttft_seconds_count" not in names
    assert value(metrics, "promptcache_unreported_requests_total", template="support", upstream="u") == 1


def test_ttft_by_hit_and_miss() -> None:
    metrics = Metrics()
    metrics.count(record(hit(), ttft_ms=40.0))
    metrics.count(record(miss(), ttft_ms=800.0))
    metrics.count(record(miss(), ttft_ms=None))

    assert value(metrics, "promptcache_ttft_seconds_count", result="hit") == 1
    assert value(metrics, "promptcache_ttft_seconds_count", result="miss") == 1
    assert value(metrics, "promptcache_ttft_seconds_sum", result="miss") == 0.8


def test_no_caller_can_make_the_page_grow() -> None:
    metrics = Metrics(max_templates=10)
    for number in range(500):
        metrics.count(record(template=f"template {number}", upstream=f"upstream {number}"))

    templates = {
        dict(labels)["template"] for name, labels in read(metrics) if name == "promptcache_requests_total"
    }
    assert len(templates) == 11
    assert OTHER in templates
    total = sum(number for (name, _), number in read(metrics).items() if name == "promptcache_requests_total")
    assert total == 500


def test_lost_records_are_counted() -> None:
    assert value(Metrics(dropped=lambda: 7), "promptcache_recorder_dropped_total") == 7


def test_the_engines_numbers_are_read_with_the_page() -> None:
    metrics = Metrics()
    stats: dict[str, dict[str, int]] = {}
    metrics.watch_engines(lambda: stats)
    assert value(metrics, "promptcache_engine_pages_free", upstream="engine") is None

    stats["engine"] = {"pages_free": 12, "prefix_hits": 30}

    assert value(metrics, "promptcache_engine_pages_free", upstream="engine") == 12
    assert value(metrics, "promptcache_engine_prefix_hits_total", upstream="engine") == 30


def test_a_label_with_strange_characters_is_still_a_page() -> None:
    metrics = Metrics()
    metrics.count(record(template='quote " backslash \\ newline \n é'))

    assert (
        value(
            metrics,
            "promptcache_requests_total",
            template='quote " backslash \\ newline \n é',
            upstream="u",
            status="2xx",
        )
        == 1
    )
