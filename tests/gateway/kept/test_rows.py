"""Responses in SQLite and in PostgreSQL: the same answers, within the same bounds."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from sqlalchemy import select

from promptcache_gateway.kept import KeptSettings, database
from promptcache_gateway.store import exporting
from promptcache_gateway.store.database import open_database
from promptcache_gateway.store.kept import KeptRows
from promptcache_gateway.store.schema import kept_responses
from tests.gateway.kept.turns import HOUR, Clock, kept
from tests.gateway.store.postgres_server import PostgresServer, postgres_server

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    Make = Callable[..., KeptRows]


@pytest.fixture(scope="module")
def postgres() -> Iterator[PostgresServer]:
    with postgres_server() as server:
        yield server


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(params=["sqlite", "postgres"])
def make(request: pytest.FixtureRequest, tmp_path: Path, clock: Clock) -> Iterator[Make]:
    address: Path | str = tmp_path / "kept.db"
    if request.param == "postgres":
        server: PostgresServer = request.getfixturevalue("postgres")
        address = server.url
    opened: list[KeptRows] = []

    def made(*, keep_s: float = HOUR, per_tenant: int = 100, max_bytes: int = 10**6) -> KeptRows:
        rows = KeptRows(
            open_database(address), keep_s=keep_s, per_tenant=per_tenant, max_bytes=max_bytes, clock=clock
        )
        opened.append(rows)
        return rows

    yield made
    if opened:
        for tenant in ("t", "small", "loud"):
            opened[0].forget(tenant)
    for rows in opened:
        rows.close()


def written(rows: KeptRows) -> set[str]:
    """The ids of what is in the database, readable or not."""
    with rows._engine.connect() as connection:
        return set(connection.scalars(select(kept_responses.c.id)))


def test_a_conversation_is_read_by_its_last_turn(make: Make) -> None:
    rows = make()
    for name, previous in (("a", None), ("b", "a"), ("c", "b"), ("d", "a")):
        rows.put(kept(name, previous))
    rows.put(kept("b", tenant="small"))
    chain = rows.chain("t", "c")
    assert chain == (kept("a"), kept("b", "a"), kept("c", "b"))
    assert rows.chain("small", "c") is None
    assert rows.get("t", "d") == kept("d", "a")
    other = make()  # another process on the same database
    assert other.chain("t", "c") == chain
    rows.put(kept("c", "a"))
    assert other.chain("t", "c") == (kept("a"), kept("c", "a"))


def test_long_conversations_are_read_whole(make: Make) -> None:
    rows = make(per_tenant=2000)
    for number in range(600):
        rows.put(kept(f"n{number}", f"n{number - 1}" if number else None))
    chain = rows.chain("t", "n599")
    assert chain is not None
    assert [one.id for one in chain] == [f"n{number}" for number in range(600)]


def test_half_a_conversation_is_none(make: Make) -> None:
    rows = make()
    rows.put(kept("a"))
    rows.put(kept("b", "a"))
    assert rows.remove("t", "a")
    assert not rows.remove("t", "a")
    assert rows.chain("t", "b") is None
    rows.forget("t")
    assert rows.get("t", "b") is None


def test_what_nobody_uses_is_deleted(make: Make, clock: Clock) -> None:
    rows = make()
    rows.put(kept("a"))
    rows.put(kept("idle"))
    rows.put(kept("b", "a"))
    for _ in range(3):
        clock.now += 0.6 * HOUR
        assert rows.chain("t", "b") is not None
    assert rows.get("t", "idle") is None
    assert rows.get("t", "a") is not None


def test_the_bounds_hold_for_number_and_size(make: Make, clock: Clock) -> None:
    rows = make(keep_s=9 * HOUR, per_tenant=10, max_bytes=200_000)
    rows.put(kept("quiet", tenant="small"))
    for number in range(60):
        clock.now += 61
        rows.put(kept(f"n{number}", tenant="loud"))
        rows.sweep()
    assert [number for number in range(60) if rows.get("loud", f"n{number}")] == list(range(50, 60))
    for number in range(20):
        clock.now += 61
        rows.put(kept(f"m{number}", tenant="loud", size=40_000))
        rows.sweep()
    there = [number for number in range(20) if rows.get("loud", f"m{number}")]
    assert there == list(range(20 - len(there), 20))
    assert 1 <= len(there) <= 4
    assert rows.get("small", "quiet") is not None


def test_number_and_size_are_looked_at_between_sweeps_and_age_is_not(make: Make, clock: Clock) -> None:
    rows = make(per_tenant=10)
    rows.put(kept("old", tenant="small"))
    clock.now += 2 * HOUR
    for number in range(120):
        rows.put(kept(f"n{number}"))
    there = written(rows)
    assert "old" in there  # it cannot be read, and the next sweep deletes it
    assert rows.get("small", "old") is None
    assert 10 <= len(there) < 10 + 50
    rows.sweep()
    there = written(rows)
    assert there == {f"n{number}" for number in range(110, 120)}


def test_they_are_exported_a_page_at_a_time(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exporting, "_KEPT_PAGE", 7)
    rows = make()
    for number in range(30):
        one = kept(f"n{number:02}", None if number % 3 else "root", tenant="t" if number % 2 else "small")
        rows.put(replace(one, created_at=float(number // 4)))
    found = list(exporting.exported_responses(rows._engine, exporting.Selection()))
    assert sorted(row["id"] for row in found) == [f"n{number:02}" for number in range(30)]
    assert [row["created_at"] for row in found] == sorted(row["created_at"] for row in found)
    assert found[0]["response"]["output"]
    assert {row["previous_response_id"] for row in found} == {None, "root"}
    some = exporting.Selection("t", since=2.0, until=4.0)
    chosen = [row["id"] for row in exporting.exported_responses(rows._engine, some)]
    assert chosen == ["n09", "n11", "n13", "n15"]


def test_a_database_of_the_fourth_version_is_migrated(tmp_path: Path, clock: Clock) -> None:
    path = tmp_path / "old.db"
    engine = open_database(path)
    with engine.begin() as connection:
        connection.exec_driver_sql("DROP TABLE kept_responses")
        connection.exec_driver_sql("UPDATE schema_version SET version = 4")
    engine.dispose()
    rows = KeptRows(open_database(path), keep_s=HOUR, per_tenant=5, max_bytes=10**6, clock=clock)
    rows.put(kept("a"))
    assert rows.get("t", "a") == kept("a")
    rows.close()


def test_what_is_too_old_leaves_the_disk_though_nothing_more_is_kept(tmp_path: Path, clock: Clock) -> None:
    path = tmp_path / "kept.db"
    rows = KeptRows(open_database(path), keep_s=HOUR, per_tenant=9, max_bytes=10**6, clock=clock)
    rows.put(replace(kept("a", None), items=b'[{"role":"user","content":"my secret"}]'))
    rows.sweep()
    assert any(b"my secret" in file.read_bytes() for file in tmp_path.iterdir())
    clock.now += HOUR + 1
    rows.sweep()
    assert not any(b"my secret" in file.read_bytes() for file in tmp_path.iterdir())
    rows.close()


def test_the_gateway_looks_for_it_by_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "_SWEEP_S", 0.01)
    swept: list[int] = []
    monkeypatch.setattr(KeptRows, "sweep", lambda rows: swept.append(1))

    async def run() -> None:
        place = database.InDatabase(KeptSettings(keep="database"), tmp_path / "kept.db")
        await place.start()
        while len(swept) < 3:
            await asyncio.sleep(0.01)
        await place.close()

    asyncio.run(asyncio.wait_for(run(), 30))
