"""Every record of a batch is written, however many there are, and one that is there is not waited for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from sqlalchemy import create_engine

from promptcache_gateway.bounds import Bounds
from promptcache_gateway.store import Store
from promptcache_gateway.store import recorder as recorder_module
from promptcache_gateway.store.recorder import Recorder
from promptcache_gateway.store.rows import insert_requests
from promptcache_gateway.store.schema import metadata, requests
from tests.gateway.store.records import hit, miss, record

if TYPE_CHECKING:
    from pathlib import Path

    from promptcache_gateway.observe import RequestRecord


def mixed(count: int) -> list[RequestRecord]:
    return [record(miss() if number % 3 else hit(), ttft_ms=number) for number in range(count)]


@pytest.mark.parametrize("count", [1, 19, 20, 21, 40, 59])
def test_every_record_of_a_batch_is_written_once(count: int, tmp_path: Path) -> None:
    engine = create_engine(f"sqlite:///{tmp_path}/requests.db")
    metadata.create_all(engine)
    kept = mixed(count)
    with engine.begin() as connection:
        insert_requests(connection, kept)
        insert_requests(connection, [*kept[: count // 2], record(hit())])  # those that are there stay
        found = connection.execute(requests.select().order_by(requests.c.seq)).mappings().all()
    assert [row["id"] for row in found[:count]] == [one.id for one in kept]
    assert [(row["cause"], row["ttft_ms"]) for row in found[:count]] == [
        (one.diagnosis.cause, one.ttft_ms) for one in kept
    ]
    assert len(found) == count + 1


def test_a_batch_comes_back_as_it_went_in(tmp_path: Path) -> None:
    store = Store(tmp_path / "promptcache.db")
    store.open()
    kept = mixed(45)
    for one in kept:
        store.record(one)
    store.flush()
    assert [store.read.request(one.id) for one in kept] == [one.to_dict(excerpts=False) for one in kept]
    store.close()


@pytest.fixture
def idle(monkeypatch: pytest.MonkeyPatch) -> tuple[Recorder, list[float]]:
    """A recorder whose thread does not run, and how long it has waited for further records."""
    monkeypatch.setattr(recorder_module, "_BATCH", 5)
    made, waits = Recorder(create_engine("sqlite://"), capacity=100, bounds=Bounds()), list[float]()
    monkeypatch.setattr(made._urgent, "wait", waits.append)
    return made, waits


@pytest.mark.parametrize(("there", "taken", "waited"), [(1, 1, 1), (5, 5, 1), (6, 5, 0), (20, 5, 0)])
def test_where_a_batch_is_there_it_is_not_waited_for(
    idle: tuple[Recorder, list[float]], there: int, taken: int, waited: int
) -> None:
    recorder, waits = idle
    for one in mixed(there):
        assert recorder.put(one)
    assert len(recorder._take()) == taken
    assert len(waits) == waited
