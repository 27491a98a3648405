"""What is held in common: the same promises through a parent and through a real Redis."""

from __future__ import annotations

import asyncio
import time
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptcache_gateway.errors import ApiError, SettingsError
from promptcache_gateway.shared.base import Common, Take
from promptcache_gateway.shared.buckets import Buckets
from promptcache_gateway.shared.settings import SharedSettings, read_shared
from promptcache_gateway.tenancy import Limits, TenantLimits
from tests.gateway.shared.redis_server import RedisServer, redis_server

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator
    from pathlib import Path


async def until(condition: Callable[[], Any], seconds: float = 10.0) -> None:
    async with asyncio.timeout(seconds):
        while not condition():
            await asyncio.sleep(0.01)


@pytest.fixture(scope="module")
def store() -> Iterator[RedisServer]:
    with redis_server() as server:
        yield server


def in_redis(server: RedisServer, name: str = "t", patience_ms: int = 1_000) -> Common:
    from promptcache_gateway.shared.through_redis import ThroughRedis

    return ThroughRedis(SharedSettings(url=server.url, name=name, patience_ms=patience_ms))


@asynccontextmanager
async def started(*commons: Common) -> AsyncIterator[tuple[Common, ...]]:
    async with AsyncExitStack() as stack:
        for common in commons:
            await common.start()
            stack.push_async_callback(common.close)
        yield commons


@asynccontextmanager
async def two(kind: str, store: RedisServer, folder: Path, name: str) -> AsyncIterator[tuple[Common, Common]]:
    """Two processes' ends, not yet begun, of what they hold in common."""
    if kind == "redis":
        yield in_redis(store, name), in_redis(store, name)
        return
    from promptcache_gateway.shared.link import Link
    from promptcache_gateway.shared.observer import PeerObserver
    from promptcache_gateway.shared.through_parent import ThroughParent
    from tests.gateway.shared.test_peers import Household

    household = Household(folder)
    await household.start()
    ends, tasks = [], []
    for peer in household.peers:
        link = Link(peer.channel, PeerObserver(tell=peer.channel.send))
        ends.append(ThroughParent(peer.channel, link))
        tasks.append(asyncio.create_task(link.listen()))
    try:
        yield ends[0], ends[1]
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await household.stop()


KINDS = pytest.mark.parametrize("kind", ["parent", "redis"])


@KINDS
async def test_of_many_who_ask_at_once_just_so_many_get_it(
    kind: str, store: RedisServer, tmp_path: Path
) -> None:
    async with two(kind, store, tmp_path, "many") as ends, started(*ends):
        take = (Take("requests:20:acme", 20, 1, 1),)
        answers = await asyncio.gather(*(ends[number % 2].take(take) for number in range(60)))
    granted = [answer for answer in answers if answer is not None and answer.granted]
    assert None not in answers
    assert len(granted) == 20
    assert all(answer is not None and answer.left[0] < 1.5 for answer in answers if answer not in granted)


@KINDS
async def test_all_is_taken_or_nothing(kind: str, store: RedisServer, tmp_path: Path) -> None:
    async with two(kind, store, tmp_path, "all") as (one, other), started(one, other):
        one.charge(Take("tokens:600:acme", 600, 0, 900))
        asked = (Take("tokens:600:acme", 600, 1, 0), Take("requests:5:acme", 5, 1, 1))
        await until_less(other, asked[0])
        refused = await other.take(asked)
        assert refused is not None
        assert not refused.granted
        assert refused.left[0] == pytest.approx(-300, abs=40)
        assert refused.left[1] == 5
        assert 20 < asked[0].wait_s(refused.left[0]) < 31


async def until_less(common: Common, take: Take) -> None:
    async with asyncio.timeout(10):
        while (taken := await common.take((take,))) is None or taken.left[0] > 0:
            await asyncio.sleep(0.01)


@KINDS
async def test_news_reach_the_other_and_not_oneself(kind: str, store: RedisServer, tmp_path: Path) -> None:
    heard: tuple[list[Any], list[Any]] = ([], [])
    async with two(kind, store, tmp_path, "news") as ends:
        for end, list_ in zip(ends, heard, strict=True):
            end.on("t", list_.append)
        async with started(*ends):
            for number in range(300):
                ends[0].publish("t", {"n": number})
            await until(lambda: len(heard[1]) == 300)
    assert [one["n"] for one in heard[1]] == list(range(300))
    assert heard[0] == []


async def test_who_comes_later_hears_what_was_said(store: RedisServer) -> None:
    early, late = in_redis(store, "late"), in_redis(store, "late")
    heard: list[Any] = []
    missed: list[Any] = []
    late.on("kept", heard.append, from_the_beginning=True)
    late.on("gone", missed.append)
    async with started(early):
        early.publish("kept", 1)
        early.publish("gone", 1)
        await until(lambda: not early._told)
        async with started(late):
            early.publish("gone", 2)
            await until(lambda: heard and missed)
    assert (heard, missed) == ([1], [2])


async def test_what_lies_there_and_is_no_news_ends_nothing(store: RedisServer) -> None:
    common, heard = in_redis(store, "odd"), list[Any]()

    def hear(value: Any) -> None:
        heard.append(value["n"])

    common.on("t", hear)
    async with started(common):
        await common._redis.xadd("odd:news:t", {"value": b"\xff{"})
        await common._redis.xadd("odd:news:t", {"other": b"1"})
        await common._redis.xadd("odd:news:t", {"value": b'{"n": 7}'})
        await until(lambda: heard)
    assert heard == [7]


async def test_a_key_of_another_kind_is_passed_over(
    store: RedisServer, caplog: pytest.LogCaptureFixture
) -> None:
    """What the store refuses is not its absence: all else goes on, and it is said once."""
    one, other = (in_redis(store, "kinds") for _ in range(2))
    heard: list[tuple[str, Any]] = []
    for topic in ("good", "bad"):
        other.on(topic, lambda value, topic=topic: heard.append((topic, value)))
    take, spoiled = (Take(f"requests:600:{name}", 600, 1, 1) for name in ("acme", "spoiled"))
    await one._redis.set("kinds:news:bad", "a text")
    await one._redis.set("kinds:limit:{spoiled}:requests:600:spoiled", "a text")
    async with started(one, other):
        for number in range(3):
            for topic in ("good", "bad"):
                one.publish(topic, number)
            one.charge(spoiled)
            assert await one.take((spoiled,)) is None
            assert await one.take((take,)) is not None
            await until(lambda number=number: ("good", number) in heard)
        await until(lambda: not one._charged and not one._told)
        assert heard == [("good", number) for number in range(3)], "nothing is told twice"
        assert not one.away
        assert not other.away
    said = [record.getMessage() for record in caplog.records]
    assert not [text for text in said if "is away" in text]
    for key in ("kinds:news:bad", "kinds:limit:{spoiled}:requests:600:spoiled"):
        about = [text for text in said if key in text]
        assert all("WRONGTYPE" in text and "delete the key" in text for text in about)
        assert len(about) == (2 if "news" in key else 1), "once by each who meets it"


async def test_a_store_without_memory_is_no_absent_one(caplog: pytest.LogCaptureFixture) -> None:
    with redis_server() as server:
        common = in_redis(server)
        async with started(common):
            await common._redis.config_set("maxmemory", "1")
            for number in range(20):
                common.publish("t", number)
                common.charge(Take(f"requests:600:t{number}", 600, 0, 1))
                assert await common.take((Take(f"requests:600:u{number}", 600, 1, 1),)) is None
            await until(lambda: not common._told and not common._charged)
            assert not common.away
            await common._redis.config_set("maxmemory", "0")
            assert await common.take((Take("requests:600:acme", 600, 1, 1),)) is not None
    (said,) = [record.getMessage() for record in caplog.records if "refuses" in record.getMessage()]
    assert "(OOM)" in said
    assert "more memory" in said


async def test_a_user_without_permissions_and_a_replica_are_told_apart(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with redis_server() as server:
        common = in_redis(server)
        common.on("t", lambda value: None)
        async with started(common):
            await common._redis.acl_setuser("default", enabled=True, nopass=True, commands=["-xadd"])
            common.publish("t", 1)
            await until(lambda: "(NOPERM)" in caplog.text)
            await common._redis.replicaof("127.0.0.1", "1")
            async with asyncio.timeout(10):  # who becomes a replica hangs up on those who wait for news
                while "(READONLY)" not in caplog.text:
                    assert await common.take((Take("requests:600:acme", 600, 1, 1),)) is None
                    await asyncio.sleep(0.01)
            await until(lambda: not common.away)


async def test_a_store_that_dies_costs_nothing_and_is_found_again() -> None:
    with redis_server() as server:
        one, other = in_redis(server, patience_ms=100), in_redis(server, patience_ms=100)
        heard: list[Any] = []
        other.on("t", heard.append)
        take = (Take("requests:600:acme", 600, 1, 1),)
        async with started(one, other):
            taken = await one.take(take)
            assert taken is not None
            assert taken.granted
            server.stop()
            assert await one.take(take) is None
            began = time.process_time()
            for _ in range(2_000):
                assert await one.take(take) is None, "nobody is asked any more"
            assert time.process_time() - began < 5
            one.publish("t", "while it was away")
            one.charge(Take("requests:600:acme", 600, 0, 300))
            server.start()
            await until(lambda: not one.away and heard, 20)
            assert heard == ["while it was away"]
            await until(lambda: not one._charged)
            taken = await other.take(take)
            assert taken is not None
            assert taken.left[0] < 400


async def test_a_store_that_is_silent_is_not_waited_for() -> None:
    with redis_server() as server:
        common = in_redis(server, patience_ms=50)
        take = (Take("requests:600:acme", 600, 1, 1),)
        async with started(common):
            assert await common.take(take) is not None
            server.silence()
            answers = await asyncio.gather(*(common.take(take) for _ in range(50)))
            assert answers == [None] * 50
            assert common.away
            server.wake()
            await until(lambda: not common.away, 20)
            assert await common.take(take) is not None


async def test_a_store_that_is_away_from_the_start_is_found_later() -> None:
    with redis_server() as server:
        server.stop()
        common = in_redis(server)
        async with started(common):
            await until(lambda: common.away)
            server.start()
            await until(lambda: not common.away, 20)


# --- limits ---


class Away(Buckets):
    """A store that may be away."""

    away = False

    async def take(self, takes: Any) -> Any:
        return None if self.away else super().take(takes)

    def charge(self, take: Take) -> None:
        super().take((take,))


async def admitted(limits: Limits, times: int) -> int:
    count = 0
    for _ in range(times):
        try:
            await limits.agree("t")
        except ApiError:
            continue
        count += 1
    return count


async def test_processes_together_admit_what_one_would() -> None:
    now = [0.0]
    common = Away(lambda: now[0])
    several = [Limits({"t": TenantLimits(requests_per_minute=10)}, clock=lambda: now[0]) for _ in range(3)]
    for limits in several:
        limits.common = common
    assert sum([await admitted(limits, 6) for limits in several]) == 10
    now[0] += 30
    assert sum([await admitted(limits, 6) for limits in several]) == 5
    several[0].charge("t", 1)  # has no limit of tokens
    assert sum(limits.refused["t", "requests"] for limits in several) == 36 - 15


async def test_tokens_used_at_one_count_at_the_other() -> None:
    common = Away()
    one, other = (Limits({"t": TenantLimits(tokens_per_minute=600)}) for _ in range(2))
    one.common = other.common = common
    await one.agree("t")
    one.charge("t", 900)
    with pytest.raises(ApiError, match="tokens a minute") as caught:
        await other.agree("t")
    assert 25 < caught.value.retry_after <= 31


async def test_while_the_store_is_away_each_goes_by_what_it_knows() -> None:
    now = [0.0]
    common = Away(lambda: now[0])
    one, other = (Limits({"t": TenantLimits(requests_per_minute=10)}, clock=lambda: now[0]) for _ in range(2))
    one.common = other.common = common
    assert await admitted(one, 4) == 4
    assert await admitted(other, 1) == 1
    common.away = True
    assert await admitted(other, 20) == 5, "what it heard last was that five are left"
    assert await admitted(one, 20) == 6
    await other.agree("nobody")  # who has no limits is asked about nowhere


@given(st.lists(st.tuples(st.floats(0, 30), st.integers(0, 2), st.floats(0, 15)), max_size=40))
def test_a_bucket_never_gives_more_than_it_holds_and_what_flows_in(
    steps: list[tuple[float, int, float]],
) -> None:
    now, given_out = [0.0], 0.0
    buckets = Buckets(lambda: now[0])
    for pause, needed, amount in steps:
        now[0] += pause
        taken = buckets.take((Take("b", 10, needed, amount),))
        assert taken.left[0] <= 10
        if needed and taken.granted:
            assert taken.left[0] + amount >= needed - 1e-9
        given_out += amount if taken.granted else 0
        assert given_out <= 10 + now[0] / 6 + max(0.0, -taken.left[0]) + 1e-6


# --- settings ---


@pytest.mark.parametrize("table", [{"name": ""}, {"patience_ms": 0}])
def test_settings_that_cannot_work(table: dict[str, Any]) -> None:
    with pytest.raises(SettingsError):
        read_shared(table, {})


BAD = [
    "http://h",
    "localhost:6379",
    "redis:/h",
    "redis://",
    "redis:///1",
    "redis://h:99999",
    "redis://h:port",
    "redis://h:0",
    "redis://h/abc",
    "redis://h/0/1",
    "redis://h?x=1",
    "redis://h?db=x",
    "redis://h?ssl_ca_certs=ca.pem",
    "rediss://h?ssl_cert_reqs=maybe",
    "redis://[::1",
    "redis://h/0#x",
    "unix://",
]


@pytest.mark.parametrize("url", BAD)
def test_an_address_that_cannot_work_is_refused_where_it_stands(url: str) -> None:
    for table, environ in (({"url": url}, {}), ({}, {"PROMPTCACHE_SHARED_URL": url})):
        with pytest.raises(SettingsError, match=r"^shared\.url: .*redis://HOST:6379/0"):
            read_shared(table, environ)


def test_what_is_wrong_with_an_address_is_said_without_it() -> None:
    with pytest.raises(SettingsError) as raised:
        read_shared({"url": "redis://u:secret@h:99999/0"}, {})
    assert "secret" not in str(raised.value)


@pytest.mark.parametrize(
    "url",
    [
        "redis://h",
        "redis://h:6379/",
        "redis://:p%40w@[::1]:6379/15",
        "unix:///run/redis.sock?db=2",
        "rediss://h/0?ssl_cert_reqs=none&ssl_ca_certs=/ca.pem&protocol=3",
    ],
)
async def test_an_address_that_is_taken_can_be_used(url: str) -> None:
    from promptcache_gateway.shared.through_redis import ThroughRedis

    shared = ThroughRedis(read_shared({"url": url}, {}))
    await shared.close()


def test_an_address_is_taken_from_the_environment_and_never_shown() -> None:
    found = read_shared({}, {"PROMPTCACHE_SHARED_URL": "valkeys://u:secret@h:1/2"})
    assert found.address == "rediss://u:secret@h:1/2"
    assert "secret" not in repr(found)
    assert read_shared({"url": "redis://h"}, {"PROMPTCACHE_SHARED_URL": "redis://other"}).url == "redis://h"
    assert read_shared({}, {}).url is None
