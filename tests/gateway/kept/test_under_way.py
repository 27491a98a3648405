"""Conversations that calls under way go on from take so much memory together, and no more."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING, Any

import pytest

from promptcache_gateway.errors import ApiError
from promptcache_gateway.kept import KeptSettings, Shelf, database
from promptcache_gateway.settings import Settings, UpstreamSettings
from promptcache_gateway.store.kept import KeptRows
from tests.gateway.kept.turns import kept
from tests.gateway.mock_upstream import MockUpstream, Wire, answer_chat, wait_until
from tests.gateway.serving import Served, serve

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.mark.parametrize("place", ["memory", "database"])
def test_the_size_is_told_before_anything_is_read(place: str, tmp_path: Path) -> None:
    settings = KeptSettings(keep=place, under_way_mib=1)  # type: ignore[arg-type]

    async def run() -> None:
        shelf = Shelf(settings, tmp_path / "kept.db")
        await shelf.start()
        try:
            shelf.put(kept("a", size=700_000))
            shelf.put(kept("b", "a", size=100_000))
            with shelf.portion("t") as first, shelf.portion("t") as second:
                chain = await shelf.chain("t", "b", first)
                assert chain is not None
                assert shelf.under_way.bytes == sum(one.size for one in chain)
                with pytest.raises(ApiError) as refused:
                    await shelf.chain("t", "b", second)
                assert refused.value.status == 503
                assert await shelf.chain("t", "unknown", second) is None
            assert shelf.under_way.bytes == 0
        finally:
            await shelf.close()

    asyncio.run(run())


def test_a_database_that_answers_too_late_leaves_nothing_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "_PATIENCE_S", 0.05)
    go_on, told = threading.Event(), threading.Event()
    inner = KeptRows.chain

    def slow(rows: KeptRows, tenant: str, name: str, take: Any) -> Any:
        go_on.wait(20)
        try:
            return inner(rows, tenant, name, take)
        finally:
            told.set()

    monkeypatch.setattr(KeptRows, "chain", slow)

    async def run() -> None:
        shelf = Shelf(KeptSettings(keep="database"), tmp_path / "kept.db")
        await shelf.start()
        try:
            shelf.put(kept("a"))
            with shelf.portion("t") as portion, pytest.raises(ApiError, match="does not answer"):
                await shelf.chain("t", "a", portion)
            go_on.set()
            assert await asyncio.to_thread(told.wait, 20)
        finally:
            await shelf.close()
        assert shelf.under_way.bytes == 0

    asyncio.run(run())


# --- through the gateway ---


class Held:
    """An upstream that answers when it is let."""

    def __init__(self) -> None:
        self.go_on = threading.Event()

    async def __call__(self, wire: Wire) -> None:
        while not self.go_on.is_set():
            await asyncio.sleep(0.01)
        await answer_chat(wire)


@pytest.fixture(params=["memory", "database"])
def served(request: pytest.FixtureRequest, mock: MockUpstream, tmp_path: Path) -> Iterator[Served]:
    settings = Settings(
        upstream=UpstreamSettings(url=mock.url, apis=("chat",)),
        responses=KeptSettings(keep=request.param, under_way_mib=1),
        data_dir=tmp_path,
    )
    with serve(settings) as made:
        yield made


def respond(served: Served, text: str, previous: str | None = None) -> Any:
    ask = {"model": "m", "input": text, "previous_response_id": previous}
    return served.post(ask, path="/v1/responses")


def test_more_than_fit_are_refused_and_others_are_answered(served: Served, mock: MockUpstream) -> None:
    first = respond(served, "x" * 700_000).json()["id"]
    mock.script = held = Held()
    answers: list[Any] = []
    running = threading.Thread(target=lambda: answers.append(respond(served, "And?", first)))
    running.start()
    wait_until(lambda: len(mock.seen) == 2)
    refused = respond(served, "And?", first)
    assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")
    assert refused.json()["error"]["code"] == "overloaded"
    assert len(mock.seen) == 2
    held.go_on.set()
    assert respond(served, "Hello").status_code == 200  # it goes on from nothing
    running.join()
    assert [answer.status_code for answer in answers] == [200]
    assert respond(served, "And?", first).status_code == 200
    assert served.gateway.shelf.under_way.bytes == 0
    page = served.get("/metrics").text
    assert 'promptcache_limited_requests_total{limit="conversations",tenant="default"} 1.0' in page


def test_what_ends_badly_gives_its_part_back(served: Served, mock: MockUpstream) -> None:
    first = respond(served, "x" * 700_000).json()["id"]

    async def slams(wire: Wire) -> None:
        wire.writer.close()

    mock.script = slams
    assert respond(served, "And?", first).status_code == 502
    assert respond(served, "x" * 40_000_000, first).status_code == 413
    asked = {"model": "m", "input": "a", "previous_response_id": first, "background": True}
    assert served.post(asked, path="/v1/responses").status_code == 400
    assert served.gateway.shelf.under_way.bytes == 0
