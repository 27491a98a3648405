"""What the dashboard draws, through the admin API: curves, sparklines, places, and what is in memory only."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from promptcache_gateway.observe.recent import Recent
from tests.gateway.admin.test_admin_api import RULES, Admin, is_error, with_admin
from tests.gateway.observe.scenes import chat
from tests.gateway.store.records import SECRET, miss, record

if TYPE_CHECKING:
    from pathlib import Path


def test_curves_and_sparklines(tmp_path: Path) -> None:
    async def play(admin: Admin) -> None:
        admin.journal.record(record(time=time.time(), cached_tokens=600))
        for window, steps in (("hour", 60), ("day", 24), ("week", 168), ("month", 30)):
            curve = await admin.get(f"/timeline?window={window}")
            assert len(curve["time"]) == len(curve["cached_tokens"]) == steps
            assert sum(curve["cached_tokens"]) == 600
            lines = await admin.get(f"/sparklines?window={window}")
            assert [rate for rate in lines["hit_rate"]["support"] if rate is not None] == [0.6]
        assert sum((await admin.get("/timeline?template=other"))["requests"]) == 0
        assert is_error(await admin.get("/timeline?window=year", 400))

    with_admin(tmp_path, play)


def test_places_come_with_a_sample_while_it_is_in_memory(tmp_path: Path) -> None:
    async def play(admin: Admin) -> None:
        admin.journal.record(record(miss()))
        newest = record(miss())
        admin.journal.record(newest)
        admin.journal.record(record(miss(), tenant="acme", template="support"))
        found = await admin.get("/divergences?template=support&tenant=default")
        (place,) = found["places"]
        assert place["sample"] == {"id": newest.id, "before": SECRET, "after": SECRET}
        admin.journal.recent = Recent()
        found = await admin.get("/divergences?template=support")
        assert [place["sample"] for place in found["places"]] == [None]
        assert SECRET not in str(found)
        assert is_error(await admin.get("/divergences", 400))

    with_admin(tmp_path, play)


def test_a_request_in_memory_shows_its_outline_and_the_raw_usage(tmp_path: Path) -> None:
    async def play(admin: Admin) -> None:
        made = admin.stage.send(chat(RULES, "Where is it?"))
        shown = await admin.get(f"/requests/{made.id}")
        assert [row["path"] for row in shown["outline"]] == ["messages[0]", "messages[1]"]
        assert sum(row["tokens"] for row in shown["outline"]) == shown["usage"]["prompt_tokens"]
        listed = await admin.get("/requests")
        assert "outline" not in listed["data"][0]

    with_admin(tmp_path, play)
