"""What gateways on several machines hold in common, in a Redis or Valkey that may go away at any time.

While it is away every question is answered with None at once, what is to be told waits (the oldest is dropped
where it gets too much), and somebody else than a request looks whether it is back. News go through streams:
who was away goes on reading where it was. What others write there is JSON, and judged by those who hear it.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import secrets
import time
from collections import deque
from typing import TYPE_CHECKING, Any

import orjson
from redis.asyncio import BlockingConnectionPool, Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import RedisError, ResponseError

from promptcache_gateway.failures import log_failure
from promptcache_gateway.shared.base import Taken
from promptcache_gateway.shared.refusals import Refusals

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from promptcache_gateway.shared.base import Take
    from promptcache_gateway.shared.settings import SharedSettings

_log = logging.getLogger("promptcache.gateway")

_CONNECTIONS = 32
_LOOK_S = 0.25  # between two looks whether it is back
_READ_MS = 500  # how long one read waits for news
_READ_PATIENCE_S = 3.0
_AGAIN_S = 0.1
_UNREADABLE_S = 30.0  # after which a stream that could not be read is asked for again
_A_READ = 500
_MOST_WAITING = 10_000
_A_WRITE = 200
_KEPT = 20_000  # entries of a stream, about
_FORGET_S = 3_600

# Buckets hold a minute's worth and fill evenly; the clock is the store's, so that machines need not agree.
_SCRIPT = f"""
local clock = redis.call('TIME')
local now = tonumber(clock[1]) + tonumber(clock[2]) / 1000000
local left, granted = {{}}, 1
for i, key in ipairs(KEYS) do
  local size, needed = tonumber(ARGV[3 * i - 2]), tonumber(ARGV[3 * i - 1])
  local had = redis.call('HMGET', key, 'left', 'at')
  local there = size
  if had[1] and had[2] then
    there = math.min(size, tonumber(had[1]) + math.max(0, now - tonumber(had[2])) * size / 60)
  end
  left[i] = there
  if needed > 0 and there < needed then granted = 0 end
end
local told = {{tostring(granted)}}
for i, key in ipairs(KEYS) do
  if granted == 1 then left[i] = left[i] - tonumber(ARGV[3 * i]) end
  redis.call('HSET', key, 'left', string.format('%.6f', left[i]), 'at', string.format('%.6f', now))
  redis.call('EXPIRE', key, {_FORGET_S})
  told[i + 1] = string.format('%.6f', left[i])
end
return told
"""


class ThroughRedis:
    """`Common` in a Redis.

    Args:
        settings: where it is, and how long it is waited for.
    """

    def __init__(self, settings: SharedSettings) -> None:
        patience_s = settings.patience_ms / 1000.0
        self._name = settings.name
        self._origin = secrets.token_hex(8)
        self._redis = _client(settings.address, patience_s, _CONNECTIONS)
        self._reading = _client(settings.address, _READ_PATIENCE_S, 2)
        self._script = self._redis.register_script(_SCRIPT)
        self._hears: dict[str, Callable[[Any], None]] = {}
        self._read_from: dict[str, str] = {}
        self._told: deque[tuple[str, bytes]] = deque(maxlen=_MOST_WAITING)
        self._charged: dict[str, Take] = {}
        self._wake = asyncio.Event()
        self._back = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []
        self._closing = False
        self._unreadable: dict[str, float] = {}
        self._refusals = Refusals()
        self.away = False

    async def start(self) -> None:
        """Begin to read and to write; where the store is away, once it is there."""
        self._back.set()
        try:
            await self._ping()
            await self._begin_reading()
        except (RedisError, OSError, TimeoutError) as error:
            self._lose(error)
        for work in (self._write, self._read, self._look):
            self._tasks.append(asyncio.create_task(self._keep(work)))

    async def close(self) -> None:
        """Tell what waits, where the store is there, and let go of it."""
        self._closing = True
        while left := [task for task in self._tasks if not task.done()]:
            for task in left:
                task.cancel()
            await asyncio.wait(left, timeout=_AGAIN_S)  # the client may swallow a cancellation
        self._tasks.clear()
        if not self.away:
            with contextlib.suppress(RedisError, OSError, TimeoutError):
                await self._write_some()
        for client in (self._redis, self._reading):
            with contextlib.suppress(RedisError, OSError, TimeoutError):
                await client.aclose()

    async def take(self, takes: Sequence[Take]) -> Taken | None:
        """Take all or nothing; None while the store is away."""
        if self.away:
            return None
        try:
            told = await self._run(takes)
        except ResponseError as error:
            self._refusals.note(", ".join(map(self._bucket, takes)), error)
            return None
        except (RedisError, OSError, TimeoutError) as error:
            self._lose(error)
            return None
        return Taken(granted=told[0] == b"1", left=tuple(float(amount) for amount in told[1:]))

    def charge(self, take: Take) -> None:
        """Have something taken; what one bucket is charged meanwhile is added up."""
        known = self._charged.get(take.name)
        if known is not None:
            take = type(take)(take.name, take.size, take.needed, take.amount + known.amount)
        if known is not None or len(self._charged) < _MOST_WAITING:
            self._charged[take.name] = take
        self._wake.set()

    def publish(self, topic: str, value: Any) -> None:
        """Tell the others, soon."""
        self._told.append((topic, orjson.dumps(value)))
        self._wake.set()

    def on(self, topic: str, hear: Callable[[Any], None], *, from_the_beginning: bool = False) -> None:
        """Hear what others publish. Call it before `start`."""
        self._hears[topic] = hear
        self._read_from[topic] = "0-0" if from_the_beginning else ""

    # --- one question ---

    async def _run(self, takes: Sequence[Take]) -> list[bytes]:
        keys = [self._bucket(take) for take in takes]
        arguments = [value for take in takes for value in (take.size, take.needed, take.amount)]
        told: list[bytes] = await self._script(keys=keys, args=arguments)
        return told

    def _bucket(self, take: Take) -> str:
        # One tenant's keys are in one place of a cluster: what stands in braces decides where.
        return f"{self._name}:limit:{{{take.name.rpartition(':')[2]}}}:{take.name}"

    async def _ping(self) -> None:
        """See whether it is there; one that refuses to say so is."""
        try:
            await self._redis.ping()
        except ResponseError as error:
            self._refusals.note("PING", error)

    def _lose(self, error: BaseException) -> None:
        if not self.away:
            self.away = True
            self._back.clear()
            _log.warning(
                "the shared store is away (%s): limits and routes are this process's own", _kind(error)
            )

    # --- what goes on beside the requests ---

    async def _keep(self, work: Callable[[], Any]) -> None:
        """Do a piece of work over and over, while the store is there."""
        while not self._closing:
            try:
                await work()
            except ResponseError as error:
                self._refusals.note(self._name, error)
                await asyncio.sleep(_LOOK_S)
            except (RedisError, OSError, TimeoutError) as error:
                self._lose(error)
                await self._back.wait()
            except Exception as error:  # noqa: BLE001 - what was not foreseen must not end the work for ever
                log_failure("the shared store", error)
                await asyncio.sleep(_LOOK_S)

    async def _look(self) -> None:
        await asyncio.sleep(_LOOK_S)
        if not self.away:
            return
        try:
            await self._ping()
        except (RedisError, OSError, TimeoutError):
            return
        self.away = False
        self._back.set()
        _log.info("the shared store is back")

    async def _write(self) -> None:
        await self._wake.wait()
        self._wake.clear()
        await self._write_some()

    async def _write_some(self) -> None:
        while self._charged:
            take = self._charged.pop(next(iter(self._charged)))
            try:
                await self._run((take,))
            except ResponseError as error:
                self._refusals.note(self._bucket(take), error)
            except BaseException:
                self.charge(take)
                raise
        while self._told:
            batch = [self._told[at] for at in range(min(_A_WRITE, len(self._told)))]
            async with self._redis.pipeline(transaction=False) as pipe:
                for topic, value in batch:
                    fields: Any = {"from": self._origin, "value": value}
                    pipe.xadd(self._stream(topic), fields, maxlen=_KEPT, approximate=True)
                outcomes = await pipe.execute(raise_on_error=False)
            for (topic, _), outcome in zip(batch, outcomes, strict=True):
                self._told.popleft()
                if isinstance(outcome, Exception):
                    self._refusals.note(self._stream(topic), outcome)

    async def _begin_reading(self) -> None:
        """Find where each stream ends whose past is not asked for."""
        for topic in [topic for topic in self._readable() if not self._read_from[topic]]:
            try:
                newest: Any = await self._reading.xrevrange(self._stream(topic), count=1)
            except ResponseError as error:
                self._pass_over(topic, error)
            else:
                self._read_from[topic] = newest[0][0].decode() if newest else "0-0"

    def _readable(self) -> list[str]:
        now = time.monotonic()
        return [topic for topic in self._read_from if self._unreadable.get(topic, 0.0) <= now]

    def _pass_over(self, topic: str, error: ResponseError) -> None:
        self._unreadable[topic] = time.monotonic() + _UNREADABLE_S
        self._refusals.note(self._stream(topic), error)

    async def _find_unreadable(self, topics: Sequence[str]) -> None:
        """Of streams that cannot be read together, find those that cannot be read."""
        for topic in topics:
            try:
                await self._reading.xread({self._stream(topic): self._read_from[topic]}, count=1)
            except ResponseError as error:
                self._pass_over(topic, error)

    async def _read(self) -> None:
        await self._begin_reading()
        topics = [topic for topic in self._readable() if self._read_from[topic]]
        if not topics:
            await asyncio.sleep(_READ_PATIENCE_S)
            return
        asked: Any = {self._stream(topic): self._read_from[topic] for topic in topics}
        try:
            told: Any = await self._reading.xread(asked, count=_A_READ, block=_READ_MS)
        except ResponseError:
            await self._find_unreadable(topics)
            if all(topic in self._readable() for topic in topics):
                raise
            return
        for stream, entries in told.items() if isinstance(told, dict) else told or ():
            topic = stream.decode().rpartition(":")[2]
            for number, fields in entries:
                self._read_from[topic] = number.decode()
                if fields.get(b"from") != self._origin.encode():
                    self._hear(topic, fields.get(b"value", b""))

    def _hear(self, topic: str, value: bytes) -> None:
        try:
            self._hears[topic](orjson.loads(value))
        except Exception as error:  # noqa: BLE001 - whatever lies there must not end the hearing
            log_failure(f"what the shared store told of {topic}", error)

    def _stream(self, topic: str) -> str:
        return f"{self._name}:news:{topic}"


def _client(address: str, patience_s: float, connections: int) -> Redis:
    pool = BlockingConnectionPool.from_url(
        address,
        max_connections=connections,
        timeout=patience_s,
        socket_timeout=patience_s,
        socket_connect_timeout=patience_s,
        retry=Retry(NoBackoff(), 0),
        health_check_interval=0,
    )
    return Redis.from_pool(pool)


def _kind(error: BaseException) -> str:
    """What went wrong, without an address in it."""
    return type(error).__name__
