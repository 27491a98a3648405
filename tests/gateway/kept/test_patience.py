"""A response that another process is about to keep is waited for, whatever is asked of it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from promptcache_gateway.kept import KeptSettings, Shelf
from tests.gateway.kept.turns import kept

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

QUESTIONS = {
    "chain": lambda shelf: shelf.chain("t", "a", shelf.portion("t")),
    "get": lambda shelf: shelf.get("t", "a"),
    "remove": lambda shelf: shelf.remove("t", "a"),
}


class Peers:
    """Workers of one machine that hear each other when they are let."""

    def __init__(self) -> None:
        self.hearing: list[tuple[Peers, Callable[[Any], None]]] = []

    def beside(self) -> Peers:
        other = Peers()
        other.hearing = self.hearing
        return other

    def on(self, topic: str, hear: Callable[[Any], None]) -> None:
        self.hearing.append((self, hear))

    def publish(self, topic: str, value: Any) -> None:
        for peer, hear in self.hearing:
            if peer is not self:
                hear(value)


@pytest.mark.parametrize("place", ["memory", "database"])
@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("others", [True, False], ids=["workers", "alone"])
def test_what_a_peer_keeps_in_a_moment_is_found(
    place: str, question: str, others: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = KeptSettings(keep=place)  # type: ignore[arg-type]
    monkeypatch.setattr(
        f"promptcache_gateway.kept.{'near' if place == 'memory' else place}._PAUSES_S", [0.01] * 500
    )

    async def run() -> None:
        peers = Peers()
        writer, reader = (Shelf(settings, tmp_path / "kept.db") for _ in range(2))
        writer.share(peers)  # type: ignore[arg-type]
        if others:
            reader.share(peers.beside())  # type: ignore[arg-type]
        await writer.start()
        await reader.start()
        try:
            asked = asyncio.create_task(QUESTIONS[question](reader))
            await asyncio.sleep(0.1)
            assert asked.done() is not others, "who has no peers need not wait"
            writer.put(kept("a"))
            assert bool(await asked) is others
        finally:
            await writer.close()
            await reader.close()

    asyncio.run(run())
