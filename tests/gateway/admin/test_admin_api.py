"""The admin API through its ASGI application: shapes, filters, pages, errors, the cache, the live feed."""

from __future__ import annotations

import asyncio
import json
import time
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from fastapi import FastAPI

from promptcache.causes import CAUSES
from promptcache_gateway.admin import create_router
from promptcache_gateway.admin.feed import coalesce, feed
from promptcache_gateway.exchange import EngineFacts
from promptcache_gateway.observe import Journal
from promptcache_gateway.observe.events import Event, EventRing
from tests.gateway.observe.scenes import Provider, Stage, chat, rules_text
from tests.gateway.store.records import SECRET, hit, miss, record

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable
    from pathlib import Path

RULES = rules_text()
ROOT = "/promptcache/v1"


class Upstream(Provider):
    """A simulated provider that can also be emptied, warmed and looked at."""

    emptied: bool | None = True
    warmable = True
    stats: dict[str, int] | None = None

    async def reset_cache(self) -> bool | None:
        return self.emptied

    async def warm(self, call: Any) -> EngineFacts | None:
        return EngineFacts(100, 20, 20, 0, 0, 0, 0, None) if self.warmable else None

    def health(self) -> dict[str, Any]:
        return {"ok": True, "model": "m", **({"stats": self.stats} if self.stats is not None else {})}


class Admin:
    """A journal, an observer and a client of the API over them."""

    def __init__(self, path: Path) -> None:
        self.upstream = Upstream()
        self.journal = Journal(path / "p.db")
        self.stage = Stage(self.upstream, self.journal)
        self.app = FastAPI()
        self.app.include_router(create_router(self.stage.observer, [self.upstream]))
        transport = httpx.ASGITransport(app=self.app)
        self.client = httpx.AsyncClient(transport=transport, base_url="http://gateway")

    async def get(self, path: str, status: int = 200) -> Any:
        response = await self.client.get(ROOT + path)
        assert response.status_code == status, response.text
        return response.json()

    async def post(self, path: str, status: int = 200, **body: Any) -> Any:
        response = await self.client.post(ROOT + path, **body)
        assert response.status_code == status, response.text
        return response.json()


def with_admin(path: Path, play: Callable[[Admin], Awaitable[None]]) -> None:
    """Run a coroutine against a started admin API."""

    async def run() -> None:
        admin = Admin(path)
        await admin.stage.observer.start()
        try:
            await play(admin)
        finally:
            await admin.client.aclose()
            await admin.stage.observer.stop()

    asyncio.run(run())


def is_error(body: Any) -> bool:
    """Whether a body is an error in OpenAI's shape."""
    return body.keys() == {"error"} and body["error"].keys() == {"message", "type", "param", "code"}


def test_templates_and_one_of_them(tmp_path: Path) -> None:
    async def play(admin: Admin) -> None:
        assert await admin.get("/templates") == []
        admin.stage.send(chat(RULES, "One"), template="team/support bot")
        admin.stage.send(chat(RULES, "Two"), template="team/support bot")

        (row,) = await admin.get("/templates")
        wanted = {
            "name",
            "learned",
            "requests",
            "prompt_tokens",
            "cached_tokens",
            "hit_rate",
            "achievable_hit_rate",
            "lost_tokens",
            "lost_usd",
            "saved_usd",
            "ttft_ms",
            "causes",
        }
        assert wanted <= row.keys()
        assert row["name"] == "team/support bot"
        assert row["learned"] is False
        assert row["requests"] == 2
        assert 0.4 < row["hit_rate"] <= row["achievable_hit_rate"] <= 1.0
        assert row["ttft_ms"].keys() == {"hit", "miss"}
        assert [cause["code"] for cause in row["causes"]] == ["PC801"]
        one = await admin.get("/templates/team%2Fsupport%20bot")
        assert one["hours"][0]["requests"] == 2
        assert {name: one[name] for name in row} == row
        assert is_error(await admin.get("/templates/nope", 404))
        assert is_error(await admin.get("/templates?window=year", 400))

    with_admin(tmp_path, play)


def test_templates_stand_in_the_order_of_the_money_they_lost(tmp_path: Path) -> None:
    async def play(admin: Admin) -> None:
        journal, now = admin.stage.observer.journal, time.time()
        assert journal is not None
        for name, ago, diagnosis in [
            ("big", 60, hit()),
            ("big", 60, hit()),
            ("unpriced", 60, miss("PC301", 700)),
            ("cheap", 60, miss("PC101", 600, lost_usd=0.1)),
            ("dear", 3 * 86_400, miss("PC101", 500, lost_usd=0.3)),
            ("dear", 60, miss("PC102", 100, lost_usd=0.05)),
        ]:
            journal.record(record(diagnosis, template=name, time=now - ago))
        everything, day = await admin.get("/templates"), await admin.get("/templates?window=day")
        assert [row["name"] for row in everything] == ["dear", "cheap", "unpriced", "big"]
        assert [row["name"] for row in day] == ["cheap", "dear", "unpriced", "big"]
        assert day[0] == everything[1]
        assert (day[1]["requests"], day[1]["lost_tokens"], day[1]["lost_usd"]) == (1, 100, 0.05)
        assert [cause["code"] for cause in day[1]["causes"]] == ["PC102"]
        assert await admin.get("/own/templates?window=day&tenant=default") == day
        assert len(await admin.get("/templates?window=hour")) == 4
        for path in ("/templates/dear?window=day", "/own/templates/dear?window=day&tenant=default"):
            dear = await admin.get(path)
            assert {key: dear[key] for key in day[1]} == day[1]
            assert sum(hour["requests"] for hour in dear["hours"]) == 2
        assert (await admin.get("/templates/dear"))["requests"] == 2
        assert is_error(await admin.get("/templates/dear?window=year", 400))
        journal.record(record(hit(), template="old", time=now - 3 * 86_400))
        idle = await admin.get("/templates/old?window=day")
        assert (idle["requests"], idle["hit_rate"], idle["causes"]) == (0, None, [])

    with_admin(tmp_path, play)


def test_a_request_has_its_excerpts_from_memory_only(tmp_path: Path) -> None:
    async def play(admin: Admin) -> None:
        admin.stage.send(chat("Time: 12:00:01\n" + RULES, "One"))
        sent = admin.stage.send(chat("Time: 12:00:02\n" + RULES, "One"))

        fresh = await admin.get(f"/requests/{sent.id}")
        assert fresh == {**json.loads(json.dumps(sent.to_dict())), "source": None, "failure": None}
        assert "12:00:02" in fresh["diagnosis"]["after"]
        listed = await admin.get("/requests?cause=pc101")
        assert listed["data"][0]["id"] == sent.id
        assert listed["data"][0]["diagnosis"]["after"] is None
        admin.journal.recent._records.clear()
        old = await admin.get(f"/requests/{sent.id}")
        assert old["diagnosis"]["after"] is None
        assert old["diagnosis"]["cause"] == "PC101"
        assert is_error(await admin.get("/requests/pcr_unknown", 404))

    with_admin(tmp_path, play)


def test_a_request_that_is_just_ending_is_waited_for(tmp_path: Path) -> None:
    async def play(admin: Admin) -> None:
        from tests.gateway.observe.scenes import outcome

        call = admin.stage.call(chat(RULES, "One"))
        observation = admin.stage.observer.open(call)
        asked = asyncio.create_task(admin.get(f"/requests/{call.id}"))
        await asyncio.sleep(0.05)
        admin.stage.observer.close(observation, outcome(admin.upstream.usage(2_000, 0)))

        assert (await asked)["id"] == call.id

    with_admin(tmp_path, play)


def test_pages_and_filters(tmp_path: Path) -> None:
    async def play(admin: Admin) -> None:
        sent = [record(template="a" if number % 2 else "b") for number in range(7)]
        for one in sent:
            admin.journal.record(one)

        first = await admin.get("/requests?limit=5")
        second = await admin.get(f"/requests?limit=5&before={first['next']}")
        assert first.keys() == {"data", "next"}
        assert [row["id"] for row in first["data"] + second["data"]] == [one.id for one in reversed(sent)]
        assert second["next"] is None
        only = await admin.get("/requests?template=a")
        assert {row["template"] for row in only["data"]} == {"a"}
        assert len(only["data"]) == 3

    with_admin(tmp_path, play)


@pytest.mark.parametrize(
    "query",
    [
        "limit=0",
        "limit=1001",
        "limit=-1",
        "limit=ten",
        "before=pcr_1",
        "before=" + "9" * 40,
        "before=²",
        "cause=PC999",
        "cause=%27%3B--",
    ],
)
def test_bad_values_are_400_and_say_which(tmp_path: Path, query: str) -> None:
    async def play(admin: Admin) -> None:
        body = await admin.get(f"/requests?{query}", 400)
        assert is_error(body)
        assert body["error"]["param"] == query.partition("=")[0]

    with_admin(tmp_path, play)


def test_the_catalogue(tmp_path: Path) -> None:
    async def play(admin: Admin) -> None:
        listed = await admin.get("/causes")
        assert [cause["code"] for cause in listed] == list(CAUSES)
        assert all(cause["name"] and cause["title"] and cause["explanation"] for cause in listed)

    with_admin(tmp_path, play)


def test_resetting_the_cache(tmp_path: Path) -> None:
    async def play(admin: Admin) -> None:
        assert await admin.post("/cache/reset") == {"success": True}
        admin.upstream.emptied = False
        assert await admin.post("/cache/reset", 409) == {"success": False}
        admin.upstream.emptied = None
        assert is_error(await admin.post("/cache/reset", 400))

    with_admin(tmp_path, play)


def test_warming_the_cache(tmp_path: Path) -> None:
    async def play(admin: Admin) -> None:
        warmed = await admin.post("/cache/warm", json=chat(RULES, "Hi"))
        assert warmed["success"] is True
        assert (warmed["prompt_tokens"], warmed["cached_tokens"], warmed["computed_tokens"]) == (100, 20, 80)
        admin.upstream.serve(chat(RULES, "Hi"), admin.stage.clock.now)
        record = admin.stage.send(chat(RULES, "There"))
        assert record.diagnosis.hit is True
        assert (await admin.get("/requests"))["data"][0]["id"] == record.id
        admin.upstream.warmable = False
        assert is_error(await admin.post("/cache/warm", 400, json=chat(RULES, "Hi")))

    with_admin(tmp_path, play)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b"3",
        b"\xff\xfe",
        b'{"model": "m"}',
        b'{"messages": []}',
        b'{"model": 3, "prompt": "x"}',
    ],
)
def test_warming_with_nonsense_is_400(tmp_path: Path, body: bytes) -> None:
    async def play(admin: Admin) -> None:
        assert is_error(await admin.post("/cache/warm", 400, content=body))

    with_admin(tmp_path, play)


def test_the_engine(tmp_path: Path) -> None:
    async def play(admin: Admin) -> None:
        assert await admin.get("/engine") == {"available": False}
        admin.upstream.stats = {
            "pages_total": 8,
            "pages_free": 5,
            "pages_cached": 2,
            "pages_held": 1,
            "running": 1,
        }
        shown = await admin.get("/engine")
        assert shown["available"] is True
        assert shown["pages"] == {"total": 8, "free": 5, "cached": 2, "held": 1}
        assert shown["running"] == 1

    with_admin(tmp_path, play)


# --- the live feed ---


async def listen(
    app: FastAPI, *, headers: dict[str, str] | None = None
) -> tuple[asyncio.Queue[dict[str, Any]], asyncio.Event]:
    """Open the feed on the application itself; the messages it sends, and how to hang up."""
    sent: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
    gone = asyncio.Event()
    raw = [(name.lower().encode(), value.encode()) for name, value in (headers or {}).items()]
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": "GET",
        "scheme": "http",
        "path": f"{ROOT}/events",
        "raw_path": f"{ROOT}/events".encode(),
        "root_path": "",
        "query_string": b"",
        "headers": raw,
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 80),
    }

    async def receive() -> dict[str, Any]:
        await gone.wait()
        return {"type": "http.disconnect"}

    task = asyncio.create_task(app(scope, receive, sent.put))
    _TASKS.add(task)
    task.add_done_callback(_TASKS.discard)
    return sent, gone


_TASKS: set[asyncio.Task[Any]] = set()


async def read_events(sent: asyncio.Queue[dict[str, Any]], count: int) -> list[tuple[int, str, Any]]:
    """The next events: number, kind, data."""
    events: list[tuple[int, str, Any]] = []
    while len(events) < count:
        message = await asyncio.wait_for(sent.get(), 5)
        for block in message.get("body", b"").decode().split("\n\n"):
            fields = dict(line.split(": ", 1) for line in block.splitlines() if not line.startswith(":"))
            if "event" in fields:
                events.append((int(fields["id"]), fields["event"], json.loads(fields["data"])))
    return events


def test_the_feed_tells_requests_templates_and_alerts(tmp_path: Path) -> None:
    async def play(admin: Admin) -> None:
        sent, gone = await listen(admin.app)
        start = await asyncio.wait_for(sent.get(), 5)
        assert dict(start["headers"])[b"content-type"].startswith(b"text/event-stream")
        assert dict(start["headers"])[b"cache-control"] == b"no-store"
        assert b"retry: 2000" in (await asyncio.wait_for(sent.get(), 5))["body"]

        admin.journal.record(record(miss()))

        events = await read_events(sent, 3)
        assert [kind for _, kind, _ in events] == ["request", "template", "alert"]
        assert events[0][2]["diagnosis"]["cause"] == "PC101"
        assert events[1][2]["name"] == "support"
        assert events[1][2]["requests"] == 1
        assert events[2][2]["cause"] == "PC101"
        assert SECRET not in str(events)
        gone.set()

    with_admin(tmp_path, play)


def test_who_comes_back_gets_what_it_missed(tmp_path: Path) -> None:
    async def play(admin: Admin) -> None:
        for number in range(3):
            admin.journal.record(record(id=f"pcr_{number}", template=f"t{number}"))
        sent, gone = await listen(admin.app, headers={"Last-Event-ID": "2"})

        events = await read_events(sent, 4)

        assert [number for number, _, _ in events] == [3, 4, 5, 6]
        gone.set()

    with_admin(tmp_path, play)


@pytest.mark.parametrize("last", ["nonsense", "-1", "9" * 30, "99999"])
def test_a_strange_last_event_id_only_gets_what_is_new(tmp_path: Path, last: str) -> None:
    async def play(admin: Admin) -> None:
        admin.journal.record(record())
        sent, gone = await listen(admin.app, headers={"Last-Event-ID": last})
        await asyncio.wait_for(sent.get(), 5)
        await asyncio.wait_for(sent.get(), 5)
        admin.journal.record(record(id="pcr_new"))

        events = await read_events(sent, 1)

        assert events[0][2]["id"] == "pcr_new"
        gone.set()

    with_admin(tmp_path, play)


def test_hanging_up_ends_the_feed(tmp_path: Path) -> None:
    async def play(admin: Admin) -> None:
        _, gone = await listen(admin.app)
        await asyncio.sleep(0.05)
        (task,) = _TASKS
        gone.set()

        await asyncio.wait_for(task, 5)
        assert admin.journal.events._waiters == set()

    with_admin(tmp_path, play)


def test_silence_is_filled_with_heartbeats() -> None:
    async def play() -> None:
        pieces = feed(EventRing(), _nothing, after=None, heartbeat_s=0.01)
        assert await anext(pieces) == b"retry: 2000\n\n"
        assert await anext(pieces) == b": heartbeat\n\n"
        await close(pieces)

    asyncio.run(play())


def test_a_burst_goes_out_in_few_messages() -> None:
    async def play() -> None:
        ring = EventRing()
        pieces = feed(ring, _nothing, after=None, pause_s=0.05)
        await anext(pieces)
        first = asyncio.create_task(anext(pieces))
        await asyncio.sleep(0.01)
        for number in range(400):
            ring.publish("request", {"id": number})
            ring.publish("template", {"name": "support", "tenant": "default"})

        sent = await first
        assert sent.count(b"event: request") == 100
        assert sent.count(b"event: template") == 1
        assert b'"id":399' in sent
        ring.publish("request", {"id": 400})
        assert (await anext(pieces)).count(b"event: ") == 1
        await close(pieces)

    asyncio.run(play())


def test_alerts_are_never_left_out() -> None:
    events = [Event(number, "request", {"id": number}) for number in range(1, 500)]
    events.insert(3, Event(0, "alert", {"kind": "new_cause"}))

    kept = coalesce(events)

    assert [event.kind for event in kept].count("alert") == 1
    assert len(kept) == 101


async def _nothing(name: str) -> None:
    return None


async def close(pieces: AsyncIterator[bytes]) -> None:
    """End a feed."""
    await pieces.aclose()  # type: ignore[attr-defined]
