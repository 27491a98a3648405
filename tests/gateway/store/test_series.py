"""Curves and places: every request is in its step, sums agree with the totals, gaps are seen."""

from __future__ import annotations

import sqlite3
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from promptcache_gateway.observe.places import Place
from promptcache_gateway.store import Store
from promptcache_gateway.store.span import Span
from tests.gateway.store.records import hit, miss, record

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

NOW = 1_800_000_000.0
HOUR = 3_600


@contextmanager
def store_with(path: Path, *records: object) -> Iterator[Store]:
    store = Store(path / "p.db")
    store.open()
    try:
        for each in records:
            store.record(each)  # type: ignore[arg-type]
        assert store.flush()
        yield store
    finally:
        store.close()


@given(st.sampled_from(["hour", "day", "week", "month"]), st.floats(1e9, 3e9))
def test_the_last_step_is_the_one_now_is_in(window, now) -> None:
    span = Span.ending_at(window, now)
    last = span.start + (span.steps - 1) * span.step_s
    assert span.start % span.step_s == 0
    assert last <= now < last + span.step_s


@pytest.mark.parametrize(("window", "step"), [("hour", 60), ("day", HOUR), ("week", HOUR), ("month", 86_400)])
def test_a_request_counts_in_its_own_step(tmp_path: Path, window, step: int) -> None:
    early = record(miss(lost_usd=0.5), time=NOW - 2 * step, cache_write_tokens=700, uncached_tokens=300)
    late = record(hit(), time=NOW, cached_tokens=900, uncached_tokens=100, saved_usd=0.25)
    with store_with(tmp_path, early, late) as store:
        found = store.series.timeline(window, NOW)
    assert found["step_s"] == step
    assert found["requests"][-3:] == [1, 0, 1]
    assert found["cached_tokens"][-3:] == [0, 0, 900]
    assert found["cache_write_tokens"][-3:] == [700, 0, 0]
    assert found["uncached_tokens"][-3:] == [300, 0, 100]
    assert found["lost_tokens"][-3:] == [800, 0, 0]
    assert found["lost_usd"][-3:] == [0.5, None, None]
    assert found["saved_usd"][-3:] == [None, None, 0.25]
    assert found["time"][-1] <= NOW < found["time"][-1] + step


@settings(max_examples=15)
@given(st.lists(st.tuples(st.integers(0, 59), st.integers(0, 1_000)), max_size=20))
def test_minutes_and_hours_agree(tmp_path_factory, seen) -> None:
    start = NOW // HOUR * HOUR
    records = [
        record(time=start + minute * 60, cached_tokens=cached, uncached_tokens=1_000 - cached)
        for minute, cached in seen
    ]
    with store_with(tmp_path_factory.mktemp("agree"), *records) as store:
        minutes = store.series.timeline("hour", start + HOUR - 1)
        hours = store.series.timeline("day", start + HOUR - 1)
    for name in ("requests", "prompt_tokens", "cached_tokens", "uncached_tokens", "reusable_tokens"):
        assert sum(minutes[name]) == hours[name][-1], name


def test_what_is_outside_the_window_or_another_s_does_not_count(tmp_path: Path) -> None:
    records = [
        record(time=NOW - 2 * HOUR),
        record(time=NOW + HOUR),
        record(time=NOW, template="other"),
        record(time=NOW, tenant="acme"),
        record(time=NOW),
    ]
    with store_with(tmp_path, *records) as store:
        assert sum(store.series.timeline("hour", NOW)["requests"]) == 3
        mine = store.series.timeline("hour", NOW, template="support", tenant="default")
        assert sum(mine["requests"]) == 1
        assert sum(store.series.timeline("day", NOW, template="support")["requests"]) == 3


def test_a_sparkline_has_a_gap_where_nothing_was_reported(tmp_path: Path) -> None:
    records = [
        record(time=NOW - 120, cached_tokens=500),
        record(time=NOW - 60, cached_tokens=None, reported=False),
        record(time=NOW, cached_tokens=900),
        record(time=NOW, cached_tokens=700),
    ]
    with store_with(tmp_path, *records) as store:
        found = store.series.sparklines("hour", NOW)
    assert found["hit_rate"]["support"][-3:] == [0.5, None, 0.8]


def test_places_of_divergence_what_costs_most_first(tmp_path: Path) -> None:
    places = (Place("PC301", "tools[2]", 0, 40, 900), Place("PC102", "tools[1]", 3, 20, 0))
    records = [
        *(record(miss(token_offset=at, lost=100)) for at in (10, 30)),
        record(miss("PC301", lost=900, path="tools[2]", lost_usd=0.1, places=places)),
        record(hit(), prompt_tokens=2_000, cached_tokens=1_800),
        record(miss(), template="other"),
    ]
    with store_with(tmp_path, *records) as store:
        found = store.series.divergences("support")
        none = store.series.divergences("nobody's")
    assert [(row["cause"], row["path"], row["requests"]) for row in found["places"]] == [
        ("PC301", "tools[2]", 1),
        ("PC101", "messages[0]", 2),
    ]
    assert found["places"][1]["tokens"] == 20
    assert found["places"][1]["lost_tokens"] == 200
    assert found["places"][1]["lost_usd"] is None
    assert (found["requests"], found["prompt_tokens"]) == (4, 1_250)
    assert none == {
        "requests": 0,
        "prompt_tokens": None,
        "cached_tokens": None,
        "reusable_tokens": None,
        "places": [],
        "behind": {},
    }
    assert found["behind"] == {"PC301": ["PC102"]}


def test_a_database_of_version_1_gets_the_indexes(tmp_path: Path) -> None:
    with store_with(tmp_path, record(time=NOW)):
        pass
    with sqlite3.connect(tmp_path / "p.db") as connection:
        connection.executescript(
            "DROP INDEX requests_by_time; DROP INDEX hours_by_hour; UPDATE schema_version SET version = 1"
        )
    connection.close()
    with store_with(tmp_path) as store:
        assert sum(store.series.timeline("hour", NOW)["requests"]) == 1
    with sqlite3.connect(tmp_path / "p.db") as connection:
        names = {row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'index'")}
    connection.close()
    assert {"requests_by_time", "hours_by_hour"} <= names
