"""PostgreSQL, on a real server: it answers as SQLite does, and whatever happens to it stops nobody."""

from __future__ import annotations

import random
import signal
import threading
import time
from typing import TYPE_CHECKING

import pytest

from promptcache_gateway.bounds import Bounds
from promptcache_gateway.errors import SettingsError, StartupError
from promptcache_gateway.store import DatabaseUnusableError, LearnedRow, Store
from tests.gateway.mock_upstream import wait_until
from tests.gateway.store.postgres_server import PostgresServer, postgres_server
from tests.gateway.store.records import SECRET, hit, miss, record

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from promptcache_gateway.observe import RequestRecord

NOW = 1_800_000_000.0


@pytest.fixture(scope="module")
def cluster() -> Iterator[PostgresServer]:
    with postgres_server() as server:
        yield server


@pytest.fixture
def server(cluster: PostgresServer) -> PostgresServer:
    """The server, running, and empty."""
    if cluster.process is None:
        cluster.start()
    ask(cluster, "DROP SCHEMA IF EXISTS promptcache CASCADE")
    return cluster


def ask(server: PostgresServer, statement: str) -> list[tuple[object, ...]]:
    import psycopg

    with psycopg.connect(server.url, autocommit=True) as connection:
        cursor = connection.execute(statement)
        return cursor.fetchall() if cursor.description else []


def opened(address: object, **more: object) -> Store:
    store = Store(address, **more)  # type: ignore[arg-type]
    store.open()
    return store


def some_records(count: int) -> list[RequestRecord]:
    """Records of all sorts, at random with a fixed seed."""
    dice = random.Random(7)
    made = []
    for _ in range(count):
        codes = dice.sample(["PC101", "PC301", "PC401", "PC808"], dice.randint(1, 3))
        lost = dice.randint(1, 900)
        diagnosis = dice.choice(
            [
                hit(reusable_tokens=dice.choice([None, 700])),
                hit(hit=None, cause="PC810", causes=("PC810",), attribution="unknown"),
                miss(
                    codes[0],
                    lost,
                    causes=tuple(codes),
                    losses={codes[0]: lost - lost // 3} | ({codes[1]: lost // 3} if codes[1:] else {}),
                    lost_usd=dice.choice([None, 0.25]),
                    path=dice.choice(["messages[0]", "tools[1]", None]),
                    estimated=dice.random() < 0.5,
                    token_offset=dice.randint(0, 500),
                ),
            ]
        )
        made.append(
            record(
                diagnosis,
                time=NOW - dice.uniform(0, 3 * 86_400) * dice.choice([0.01, 1]),
                template=dice.choice(["support", "über", "search"]),
                learned=dice.random() < 0.3,
                tenant=dice.choice(["default", "shop"]),
                status=dice.choice([200, 200, 502]),
                error=dice.choice([None, "upstream_closed"]),
                cached_tokens=dice.choice([None, 0, 640]),
                prompt_tokens=dice.choice([None, 1_000, 3_000_000_000]),
                reported=dice.random() < 0.8,
                ttft_ms=dice.choice([None, 100.5, 250.25]),
                saved_usd=dice.choice([None, 0.5, -0.125]),
            )
        )
    return made


def everything(store: Store) -> dict[str, object]:
    """Every question there is, answered."""
    assert store.flush()
    read, series = store.read, store.series
    requests, following = read.requests(limit=40)
    windows = ("hour", "day", "week", "month")
    return {
        "templates": read.templates(),
        "of a tenant": read.templates(tenant="shop"),
        "one": read.templates(name="über"),
        "hours": [read.hours(name) for name in ("support", "über")],
        "requests": requests,
        "following": following,
        "page": read.requests(limit=10, before=following, template="support"),
        "by cause": read.requests(cause="PC401", tenant="shop", limit=300),
        "known": read.known_causes(),
        "learned": read.learned(),
        "timelines": [series.timeline(window, NOW, template="support") for window in windows],
        "sparklines": [series.sparklines(window, NOW, tenant="shop") for window in windows],
        "divergences": series.divergences("support"),
    }


def rounded(value: object) -> object:
    """Sums of floats in another order differ in the last bits."""
    if isinstance(value, float):
        return pytest.approx(value)
    if isinstance(value, dict):
        return {key: rounded(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(rounded(item) for item in value)
    return value


def test_it_answers_every_question_as_sqlite_does(server: PostgresServer, tmp_path: Path) -> None:
    learned = LearnedRow("default", "learned-3f2a", 2**64 - 1, (1, 2**63), (3, 4, 5))
    both = opened(tmp_path / "p.db"), opened(server.url)
    for index, each in enumerate(some_records(300)):
        for store in both:
            store.record(each)
            if index % 90 == 0:
                store.keep_learned(learned)
                assert store.flush()
    in_sqlite, in_postgres = (everything(store) for store in both)
    for store in both:
        store.close()

    assert in_sqlite["following"] is not None
    for question, answer in in_sqlite.items():
        assert in_postgres[question] == rounded(answer), question
    again = opened(server.url)
    assert everything(again) == in_postgres
    again.close()


def test_nothing_of_a_prompt_and_nothing_outside_our_schema(server: PostgresServer) -> None:
    store = opened(server.url)
    store.record(record(miss()))
    store.close()

    tables = ask(
        server, "SELECT table_schema, table_name FROM information_schema.tables WHERE table_schema = 'public'"
    )
    (held,) = ask(server, "SELECT row_to_json(r)::text FROM promptcache.requests r")
    assert tables == []
    assert SECRET not in str(held)
    assert "support" in str(held)


def test_what_a_caller_may_write_does_not_take_others_with_it(server: PostgresServer) -> None:
    store = opened(server.url)
    kept = [record(), record(model="a\x00b", template="t\x00"), record(output_tokens=2**70), record()]
    for each in kept:
        store.record(each)
    assert store.flush()

    assert store.dropped == 1
    found = {row["id"]: row["model"] for row in store.read.requests()[0]}
    assert found == {kept[0].id: "m", kept[1].id: "a\ufffdb", kept[3].id: "m"}
    store.close()


def test_old_requests_go(server: PostgresServer) -> None:
    store = opened(server.url, bounds=Bounds(requests=100, days=1))
    for number in range(1_100):
        store.record(record(time=time.time() - (200_000 if number % 2 else 0)))
    assert store.flush()
    store.record(record(time=time.time()))
    store.close()

    store = opened(server.url, bounds=Bounds(requests=100, days=1))
    store.record(record(time=time.time()))
    assert store.flush()
    assert len(store.read.requests(limit=1_000)[0]) <= 100
    assert store.read.templates()[0]["requests"] == 1_102
    store.close()


def test_gateways_that_start_at_once_share_it(server: PostgresServer) -> None:
    stores = [Store(server.url) for _ in range(3)]
    threads = [threading.Thread(target=store.open) for store in stores]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    for number in range(100):
        for store in stores:
            store.record(record(miss(), template=f"t{number % 7}"))
    for store in stores:
        assert store.flush()
        assert store.dropped == 0

    assert sum(row["requests"] for row in stores[0].read.templates()) == 300
    for store in stores:
        store.close()


@pytest.mark.parametrize("how", [signal.SIGQUIT, signal.SIGKILL])
def test_a_server_that_dies_slows_nobody_and_is_found_again(
    server: PostgresServer, how: signal.Signals
) -> None:
    store = opened(server.url, capacity=50)
    store.record(record())
    assert store.flush()
    server.stop(how)

    begun = time.process_time()
    for number in range(600):
        store.record(record())
        if number % 100 == 0:
            time.sleep(0.1)
    assert time.process_time() - begun < 2
    waiting = 600 - store.dropped
    assert 50 <= waiting < 200

    server.start()
    wait_until(lambda: store.flush(1.0), 20)
    assert store.read.templates()[0]["requests"] == 1 + waiting
    assert len(store.read.requests(limit=1_000)[0]) == 1 + waiting
    store.close()


def test_a_store_is_closed_though_the_server_is_gone(server: PostgresServer) -> None:
    store = opened(server.url)
    store.record(record())
    assert store.flush()
    server.stop()
    for _ in range(2_000):
        store.record(record())
    store.close()

    assert store.dropped == 2_000


def test_a_batch_whose_commit_was_not_heard_of_counts_once(
    server: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The connection breaks between the server's commit and its word of it."""
    from sqlalchemy.exc import OperationalError

    store = opened(server.url)
    recorder = store._recorder
    assert recorder is not None
    real, broken = recorder._transact, []

    def transact(batch: object) -> None:
        real(batch)  # type: ignore[arg-type]
        if not broken:
            broken.append(True)
            raise OperationalError("COMMIT", {}, Exception("server closed the connection"))

    monkeypatch.setattr(recorder, "_transact", transact)
    store.record(record())
    assert store.flush()

    assert broken
    assert store.read.templates()[0]["requests"] == 1
    store.close()


def test_a_server_that_is_not_there_is_one_line_without_the_password() -> None:
    pytest.importorskip("psycopg", reason="the extra `postgres` is not installed")
    with pytest.raises(DatabaseUnusableError) as caught:
        Store("postgresql://tester:hunter2@127.0.0.1:1/db").open()

    said = str(caught.value)
    assert "postgresql://tester:***@127.0.0.1:1/db" in said
    assert "hunter2" not in said
    assert "\n" not in said


def test_an_address_that_cannot_be_read_is_not_quoted() -> None:
    with pytest.raises(SettingsError) as caught:
        Store("postgresql://user:hunter2@host:port/db").open()

    assert "hunter2" not in str(caught.value)


def test_a_missing_driver_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "psycopg", None)

    with pytest.raises(StartupError, match=r"promptcache\[postgres\]"):
        Store("postgresql://user@host/db").open()


def test_a_newer_database_is_refused(server: PostgresServer) -> None:
    opened(server.url).close()
    ask(server, "UPDATE promptcache.schema_version SET version = 99")

    with pytest.raises(DatabaseUnusableError, match="newer version"):
        Store(server.url).open()


def test_a_database_of_the_first_version_is_migrated(server: PostgresServer) -> None:
    opened(server.url).close()
    ask(server, "DROP INDEX promptcache.requests_by_time; UPDATE promptcache.schema_version SET version = 1")
    ask(server, "ALTER TABLE promptcache.requests DROP COLUMN cost_usd, DROP COLUMN changes")
    ask(server, "DROP TABLE promptcache.spending")

    store = opened(server.url)
    store.record(record(cost_usd=0.5, key_id="k"))
    assert store.flush()
    assert [(spent.key, spent.usd) for spent in store.spending(0)] == [("k", 0.5)]
    store.close()
    names = {
        row[0] for row in ask(server, "SELECT indexname FROM pg_indexes WHERE schemaname = 'promptcache'")
    }
    assert "requests_by_time" in names
