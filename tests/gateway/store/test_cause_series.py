"""Causes over time: hour by hour and minute by minute they add up to the totals."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING, Any

import pytest

from tests.gateway.store.records import hit, miss, record
from tests.gateway.store.test_series import HOUR, NOW, store_with

if TYPE_CHECKING:
    from pathlib import Path

BOTH = miss(
    "PC101", 900, causes=("PC101", "PC502", "PC401"), losses={"PC101": 600, "PC502": 300}, lost_usd=0.9
)


@pytest.mark.parametrize(("window", "step"), [("hour", 60), ("day", HOUR), ("week", HOUR), ("month", 86_400)])
def test_a_loss_counts_in_its_step_for_each_of_its_causes(tmp_path: Path, window: str, step: int) -> None:
    early = record(BOTH, time=NOW - 2 * step)
    late = record(miss("PC101", 50), time=NOW)
    with store_with(tmp_path, early, late, record(hit(), time=NOW)) as store:
        found = store.series.timeline(window, NOW)["causes"]  # type: ignore[arg-type]
    assert list(found) == ["PC101", "PC502"]
    assert found["PC101"]["requests"][-3:] == [1, 0, 1]
    assert found["PC101"]["lost_tokens"][-3:] == [600, 0, 50]
    assert found["PC101"]["lost_usd"][-3:] == [pytest.approx(0.6), None, None]
    assert found["PC502"]["requests"][-3:] == [0, 0, 0]
    assert found["PC502"]["lost_tokens"][-3:] == [300, 0, 0]


def test_a_miss_that_cost_nothing_is_counted(tmp_path: Path) -> None:
    first = record(miss("PC801", 0, losses={}), time=NOW)
    with store_with(tmp_path, first) as store:
        for window in ("hour", "day"):
            found = store.series.timeline(window, NOW)["causes"]  # type: ignore[arg-type]
            assert found["PC801"]["requests"][-1] == 1
            assert found["PC801"]["lost_tokens"][-1] == 0


def test_a_template_and_a_tenant_have_their_own(tmp_path: Path) -> None:
    records = [
        record(miss("PC101", 10), time=NOW, template="a"),
        record(miss("PC301", 20), time=NOW, template="b", tenant="t"),
        record(BOTH, time=NOW, template="b"),
    ]
    with store_with(tmp_path, *records) as store:
        for window in ("hour", "day"):
            ask = store.series.timeline
            assert set(ask(window, NOW, template="a")["causes"]) == {"PC101"}  # type: ignore[arg-type]
            assert set(ask(window, NOW, tenant="t")["causes"]) == {"PC301"}  # type: ignore[arg-type]
            assert set(ask(window, NOW, template="b", tenant="default")["causes"]) == {"PC101", "PC502"}  # type: ignore[arg-type]


def test_the_hours_of_a_template_name_their_causes(tmp_path: Path) -> None:
    with store_with(tmp_path, record(BOTH, time=NOW - HOUR), record(miss("PC301", 7), time=NOW)) as store:
        hours = store.read.hours("support")
    assert [[cause["code"] for cause in hour["causes"]] for hour in hours] == [["PC101", "PC502"], ["PC301"]]
    assert [[cause["lost_tokens"] for cause in hour["causes"]] for hour in hours] == [[600, 300], [7]]
    assert hours[0]["causes"][0]["attribution"] == "caller"


def test_they_follow_a_merge_and_a_deletion(tmp_path: Path) -> None:
    records = [record(miss("PC101", 10), time=NOW, template=name) for name in ("a", "b")]
    with store_with(tmp_path, *records) as store:
        store.rename_template("default", "a", "b", {"a": "b"})
        assert store.series.timeline("day", NOW, template="b")["causes"]["PC101"]["lost_tokens"][-1] == 20
        store.delete_tenant("default")
        assert store.series.timeline("day", NOW)["causes"] == {}


def test_a_request_of_the_future_belongs_to_no_step(tmp_path: Path) -> None:
    with store_with(tmp_path, record(miss("PC101", 10), time=NOW + 9 * HOUR)) as store:
        assert store.series.timeline("hour", NOW)["causes"] == {}
        assert store.series.timeline("day", NOW)["causes"] == {}


def test_the_places_of_several_causes_are_kept_without_their_texts(tmp_path: Path) -> None:
    from promptcache_gateway.observe.places import Place

    places = (Place("PC101", "messages[0]", 5, 2, 600, "x", "y"), Place("PC502", "messages[3]", 9, 700, 300))
    two = record(miss("PC101", 900, causes=("PC101", "PC502"), losses={"PC101": 600}, places=places))
    one = record(miss("PC101", 800))
    with store_with(tmp_path, two, one) as store:
        found = store.read.request(two.id)
        alone = store.read.request(one.id)
    assert found is not None
    assert alone is not None
    assert found["diagnosis"]["places"] == [place.to_dict(excerpts=False) for place in places]
    assert [place["code"] for place in alone["diagnosis"]["places"]] == ["PC101"]
    assert alone["diagnosis"]["places"][0]["path"] == "messages[0]"


def test_a_row_of_several_templates_says_so(tmp_path: Path) -> None:
    names = ("learned-other", "learned-unstructured", "learned-3f2a", "support")
    with store_with(tmp_path, *(record(hit(), template=name) for name in names)) as store:
        mixed = {row["name"]: row["mixed"] for row in store.read.templates()}
    assert mixed == dict(zip(names, (True, True, False, False), strict=True))


def older(path: Path, *statements: str) -> None:
    """Make a database one of an older version."""
    with sqlite3.connect(path) as connection:
        connection.executescript(";".join(statements))
    connection.close()


@pytest.mark.parametrize("window", ["day", "week", "month"])
def test_an_older_database_is_told_its_past_by_the_hour(tmp_path: Path, window: Any) -> None:
    unpriced = miss("PC502", 70, causes=("PC502", "PC401"), losses={"PC502": 70})
    for_nothing = miss("PC604", 0, losses={})
    free = miss(
        "PC301", 90, causes=("PC301", "PC502", "PC101"), losses={"PC502": 60, "PC101": 30}, lost_usd=0.3
    )
    past = [
        record(one, time=NOW - at * HOUR, tenant=tenant)
        for one in (BOTH, unpriced, for_nothing, free, hit())
        for at in range(1, 20, 6)
        for tenant in ("a", "b")
    ]
    with store_with(tmp_path, *past) as store:
        fresh = [store.series.timeline(window, NOW, tenant=tenant)["causes"] for tenant in (None, "a")]
    older(tmp_path / "p.db", "DROP TABLE cause_hours", "UPDATE schema_version SET version = 4")

    with store_with(tmp_path) as store:
        filled = [store.series.timeline(window, NOW, tenant=tenant)["causes"] for tenant in (None, "a")]
    for one, other in zip(filled, fresh, strict=True):
        assert list(one) == list(other) == ["PC101", "PC502", "PC301", "PC604"]
        for code, columns in other.items():
            assert one[code]["requests"] == columns["requests"]
            assert one[code]["lost_tokens"] == columns["lost_tokens"]
            assert one[code]["lost_usd"] == pytest.approx(columns["lost_usd"])


def test_what_is_told_already_is_not_counted_twice(tmp_path: Path) -> None:
    past = [record(miss("PC101", 50), time=NOW - at * HOUR) for at in range(5)]
    with store_with(tmp_path, *past) as store:
        fresh = store.series.timeline("day", NOW)["causes"]
    since = int(NOW // HOUR) - 2
    older(
        tmp_path / "p.db",
        f"DELETE FROM cause_hours WHERE hour < {since}",
        "UPDATE schema_version SET version = 6",
    )

    for _ in range(2):
        with store_with(tmp_path) as store:
            assert store.series.timeline("day", NOW)["causes"] == fresh
