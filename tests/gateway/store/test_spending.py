"""What was spent, day by day: added up with the requests, kept beyond them, deleted with their tenant."""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from promptcache_gateway.bounds import Bounds
from promptcache_gateway.exchange import Change
from promptcache_gateway.store import Store
from promptcache_gateway.store.spending import DAY_S, SpendingReader, Spent, spent_by
from tests.gateway.store.records import record

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

DAY = 1_800_000_000 // DAY_S


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = Store(tmp_path / "promptcache.db")
    opened.open()
    yield opened
    opened.close()


def test_costs_are_added_up_by_tenant_key_and_day(store: Store) -> None:
    for one in (
        record(tenant="a", key_id="k1", cost_usd=0.25),
        record(tenant="a", key_id="k1", cost_usd=0.5),
        record(tenant="a", key_id="k1", cost_usd=1.0, time=(DAY + 1) * DAY_S + 1.0),
        record(tenant="a", cost_usd=None),
        record(tenant="b", cost_usd=2.0),
    ):
        store.record(one)
    assert store.flush()

    assert sorted(store.spending(DAY), key=lambda spent: (spent.tenant, spent.key, spent.day)) == [
        Spent("a", "", DAY, 0.0, 1, 1),
        Spent("a", "k1", DAY, 0.75, 2, 0),
        Spent("a", "k1", DAY + 1, 1.0, 1, 0),
        Spent("b", "", DAY, 2.0, 1, 0),
    ]
    assert [spent.usd for spent in store.spending(DAY + 1)] == [1.0]


def test_what_is_written_is_known_by_its_id(store: Store, tmp_path: Path) -> None:
    one = record(cost_usd=0.25)
    store.record(one)
    assert store.flush()
    assert store.written([one.id, *(f"other {number}" for number in range(1_200))]) == {one.id}
    reader = SpendingReader(tmp_path / "promptcache.db")
    assert reader.written(["nothing"]) == set()
    assert reader.written([one.id]) == {one.id}
    reader.close()


def test_a_request_that_used_nothing_is_not_counted() -> None:
    assert spent_by(record(prompt_tokens=None, output_tokens=None)) is None
    free = spent_by(record(cost_usd=0.0))
    assert free is not None
    assert (free.usd, free.unpriced) == (0.0, 0)


def test_spending_outlives_the_requests_and_goes_with_its_tenant(tmp_path: Path) -> None:
    store = Store(tmp_path / "p.db", bounds=Bounds(requests=1))
    store.open()
    for _ in range(1_001):
        store.record(record(tenant="a", cost_usd=0.5))
    store.record(record(tenant="b", cost_usd=0.5))
    assert store.flush()
    assert {spent.tenant: spent.usd for spent in store.spending(DAY)} == {"a": 500.5, "b": 0.5}

    store.delete_tenant("a")
    assert [spent.tenant for spent in store.spending(DAY)] == ["b"]
    store.close()


def test_what_was_changed_of_a_request_is_read_back(store: Store) -> None:
    change = Change("breakpoints", ("system[0]",), (("tools[1]", "too short"),))
    one = replace(record(key_id="k1", cost_usd=0.125), changes=(change,))
    store.record(one)
    assert store.flush()

    found = store.read.request(one.id)
    assert found is not None
    assert found["changes"] == one.to_dict()["changes"]
    assert found["changes"] == [
        {
            "name": "breakpoints",
            "paths": ["system[0]"],
            "skipped": [{"path": "tools[1]", "reason": "too short"}],
        }
    ]
    assert (found["key_id"], found["cost_usd"]) == ("k1", 0.125)


def test_a_database_of_the_third_version_is_migrated(tmp_path: Path) -> None:
    path = tmp_path / "p.db"
    old = Store(path)
    old.open()
    before = record()
    old.record(before)
    old.close()
    with sqlite3.connect(path) as connection:
        for name in ("cost_usd", "key_id", "changes"):
            connection.execute(f"ALTER TABLE requests DROP COLUMN {name}")
        connection.execute("DROP TABLE spending")
        connection.execute("UPDATE schema_version SET version = 3")
    connection.close()

    store = Store(path)
    store.open()
    store.record(record(cost_usd=0.5, key_id="k"))
    assert store.flush()
    found = store.read.request(before.id)
    assert found is not None
    assert (found["cost_usd"], found["key_id"], found["changes"]) == (None, None, [])
    assert [spent.usd for spent in store.spending(0)] == [0.5]
    store.close()
