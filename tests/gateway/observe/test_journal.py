"""Where records go: memory, database, metrics, events; alerts for what is new; names after a restart."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING

from promptcache_gateway.observe import Journal
from promptcache_gateway.observe.events import EventRing
from promptcache_gateway.observe.recent import Recent
from tests.gateway.observe.scenes import Stage, chat, rules_text
from tests.gateway.store.records import hit, miss, record

if TYPE_CHECKING:
    from pathlib import Path

RULES = rules_text()


def test_an_alert_tells_of_a_fault_once_and_never_of_what_is_expected(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "p.db")
    for diagnosis in (
        hit(),
        miss("PC801", 0, attribution="expected"),
        miss("PC809", attribution="upstream"),
        miss("PC101"),
        miss("PC101"),
        miss("PC301"),
    ):
        journal.record(record(diagnosis))
    journal.record(record(miss("PC101"), template="other"))

    alerts = [event.data for event in journal.events.since(0) if event.kind == "alert"]
    assert [(alert["template"], alert["cause"]) for alert in alerts] == [
        ("support", "PC101"),
        ("support", "PC301"),
        ("other", "PC101"),
    ]


def test_a_restart_keeps_names_totals_and_old_alerts(tmp_path: Path) -> None:
    async def run(stamp: str) -> tuple[str, list[str]]:
        journal = Journal(tmp_path / "p.db")
        stage = Stage(journal=journal)
        await stage.observer.start()
        for number in range(2):
            stage.send(
                chat(f"User {stamp}{number}: now 12:00:0{number}.\n{RULES}", "Hi"), id=f"{stamp}{number}"
            )
        await stage.observer.stop()
        return stage.records[0].template, [event.kind for event in journal.events.since(0)]

    first, events = asyncio.run(run("ada"))
    second, later_events = asyncio.run(run("bob"))

    assert first == second
    assert "alert" in events
    assert "alert" not in later_events
    journal = Journal(tmp_path / "p.db")
    journal.store.open()
    (row,) = journal.store.read.templates()
    assert row["name"] == first
    assert row["requests"] == 4
    journal.store.close()


def test_recent_forgets_the_oldest() -> None:
    recent = Recent(capacity=3)
    kept = [record() for _ in range(5)]
    for one in kept:
        recent.add(one)

    assert len(recent) == 3
    assert recent.get(kept[0].id) is None
    assert recent.get(kept[4].id) is kept[4]


def test_a_ring_wakes_listeners_from_any_thread() -> None:
    async def play() -> None:
        ring = EventRing(capacity=5)
        assert not await ring.wait(0, 0.01)
        waiting = asyncio.create_task(ring.wait(0, 5))
        await asyncio.sleep(0.01)
        thread = threading.Thread(target=lambda: [ring.publish("request", {}) for _ in range(9)])
        thread.start()
        assert await waiting
        await asyncio.to_thread(thread.join)
        assert [event.number for event in ring.since(0)] == [5, 6, 7, 8, 9]
        assert ring.since(9) == []
        assert ring.last == 9

    asyncio.run(play())
