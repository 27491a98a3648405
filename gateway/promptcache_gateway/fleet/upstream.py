"""A fleet as one upstream: each call goes to the replica that the router chooses of those that can take it.

A call that a replica did not answer, or refused for having too much to do, goes to another while not a byte
of an answer has come. What a caller sends reaches every replica as it is.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from typing import TYPE_CHECKING, Any

from promptcache_gateway.errors import OUT_OF_FILES, ApiError
from promptcache_gateway.exchange import Placement
from promptcache_gateway.fleet.asking import read_asked
from promptcache_gateway.fleet.eligible import Eligible
from promptcache_gateway.fleet.homes import Named, continued, kept_names, not_there
from promptcache_gateway.fleet.leaders import Leaders
from promptcache_gateway.fleet.members import Members
from promptcache_gateway.fleet.prefix import PIECE_BYTES, TOKENS_PER_BYTE
from promptcache_gateway.fleet.routing import Router
from promptcache_gateway.fleet.slots import Slots
from promptcache_gateway.fleet.tries import BUSY, FAILURES, FAULT, Tries, all_busy, none_able
from promptcache_gateway.fleet.trip import RoutedStream, Trip
from promptcache_gateway.upstreams.base import WholeReply

if TYPE_CHECKING:
    from collections.abc import Mapping

    from promptcache.usage import Usage
    from promptcache_gateway.exchange import Call, Dialect, EngineFacts
    from promptcache_gateway.fleet.members import MakeUpstream
    from promptcache_gateway.fleet.prefix import Prefix
    from promptcache_gateway.fleet.replica import Replica
    from promptcache_gateway.upstream_settings import UpstreamSettings
    from promptcache_gateway.upstreams.base import Inbound, StreamReply

_LEAST_LEAD_S, _LATE = 0.25, 1.5  # how late a first output may be that cannot be seen
_LATER_S = 0.01
_MAX_PLACEMENTS = 10_000
_DAMPING = 0.05
_RATIOS = (0.05, 1.0)


class FleetUpstream:
    """Many replicas behind the protocol of one.

    Args:
        settings: the upstream's, with its fleet.
        make: makes what sends to one replica.

    Attributes:
        replicas: those there are.
        router: what is known of them.
        leaders: who goes ahead with a cold prefix.
        slots: who waits for room.
        tokens_per_byte: what has been learned of the replicas' tokenizer.
        resent: times a call was sent to another replica, since one did not answer it or refused it.
    """

    granularity: int | None = None

    def __init__(self, settings: UpstreamSettings, make: MakeUpstream) -> None:
        assert settings.fleet is not None, "made for settings with a fleet"
        self._settings = settings
        self.fleet = settings.fleet
        self.name = settings.name
        self.kind: str = settings.kind
        self.dialects: frozenset[Dialect] = settings.dialects
        self.router = Router(self.fleet.routing, max_keys=int(self.fleet.cache_tokens * 4 / PIECE_BYTES))
        self.leaders = Leaders(self.fleet.hold_tokens)
        self.slots = Slots()
        self.replicas = Members(self.fleet, self.router, make, self.slots.free_all)
        self._may = Eligible(self.replicas)
        self._placements: OrderedDict[str, Placement] = OrderedDict()
        self.tokens_per_byte = TOKENS_PER_BYTE
        self.resent = 0
        self._heir: FleetUpstream | None = None

    async def start(self) -> None:
        """Find the replicas and begin to watch them; raises `StartupError` for an unusable file."""
        await self.replicas.start()

    async def close(self) -> None:
        """Close every replica."""
        await self.replicas.close()

    def learn_from(self, earlier: FleetUpstream) -> None:
        """Go on for another fleet of the same name: its replicas' requests, its conversations, its counts."""
        self.replicas.follow(earlier.replicas)
        self.leaders.held, self.leaders.lost_patience = earlier.leaders.held, earlier.leaders.lost_patience
        self.slots.waited, self.resent = earlier.slots.waited, earlier.resent
        earlier._heir = self
        self.router.succeed(earlier.router)
        self.tokens_per_byte = earlier.tokens_per_byte

    async def send(self, call: Call, inbound: Inbound) -> WholeReply | StreamReply:
        """Forward the call to a replica; raises `ApiError` where none answers."""
        prefix = read_asked(call, inbound, self._settings, self.tokens_per_byte)
        if call.use_cache:
            await self.leaders.wait(prefix, self.fleet.hold_s)
        named = continued(call)
        if self.router.homes.is_anothers(named):
            raise not_there(call)
        tries = self._begin(named)
        while not tries.over and not (tries.refused and not self._may.any_room(tries.tried)):
            try:
                replica = await self._one_with_room(tries.tried)
            except ApiError as error:
                tries.unable(error)
                break
            trip = self._depart(replica, prefix, tries.tried, call)
            self.resent += tries.begun
            self.wake()  # where one could go, the next in line may be able to
            try:
                reply = await trip.replica.upstream.send(call, inbound)
            except ApiError as error:
                self._note_failure(trip, 0 if error.code == OUT_OF_FILES else error.status)
                if not error.unanswered and not tries.refused:
                    raise
                tries.unanswered(trip.replica, error)
            except BaseException:
                trip.replica.circuit.undecided()
                trip.given_up()
                raise
            else:
                if not isinstance(reply, WholeReply):
                    tries.streamed(reply.status)
                    return self._accept(trip, reply, call, named)
                if tries.answered(trip.replica, reply):
                    return self._accept(trip, reply, call, named)
                self._pass_by(trip, reply)
        return tries.answer()

    def placed(self, call_id: str) -> Placement | None:
        """Where a call went and what was known then; told once."""
        return self._placements.pop(call_id, None)

    async def models(self, inbound: Inbound, model: str | None) -> WholeReply:
        """What one of the replicas lists; raises `ApiError`."""
        return await self._may.ask(self.name, lambda one: one.models(inbound, model))

    async def count_prompt(self, call: Call, inbound: Inbound) -> WholeReply:
        """What one of the replicas counts; raises `ApiError`."""
        return await self._may.ask(self.name, lambda one: one.count_prompt(call, inbound))

    def count_tokens(self, text: str) -> int | None:  # noqa: ARG002 - the servers' tokenizer is not known here
        """Always None: the servers' tokenizer is not known here."""
        return None

    async def reset_cache(self) -> bool | None:
        """Always None: the servers' caches are their own."""
        return None

    async def warm(self, call: Call) -> EngineFacts | None:  # noqa: ARG002 - would be billed to the caller
        """Always None: a request sent there would be an ordinary, billed one."""
        return None

    def health(self) -> Mapping[str, Any]:
        """Whether any replica can take requests, how many can, who is left alone; asks no network."""
        states = {replica.name: replica.state() for replica in self.replicas}
        able = sum(state in {"ready", "full"} for state in states.values())
        ok = able > 0 or any(one.may_recover for one in self.replicas)
        report = {"ok": ok, "url": self._url(), "replicas": len(states), "able": able}
        ejected = [name for name, state in states.items() if state == "ejected"]
        refusing = [one.name for one in self.replicas if one.is_refusing]
        lists = {"ejected": ejected, "refusing": refusing}
        return {**report, **{name: names for name, names in lists.items() if names}}

    def drain(self, replica: str, *, on: bool) -> bool:
        """Give a replica no more requests, or some again; False where there is none of that name."""
        return self.replicas.drain(replica, on=on)

    def view(self) -> dict[str, Any]:
        """The fleet as the admin API shows it."""
        now = time.time()
        members = (*self.replicas, *self.replicas.leaving)
        return {
            "upstream": self.name,
            "routing": self.fleet.routing,
            "utilisation": round(self.router.share(now), 4),
            "held": self.leaders.held,
            "hold_timeouts": self.leaders.lost_patience,
            "waited": self.slots.waited,
            "waiting": len(self.slots),
            "replicas": [one.view(now) for one in members],
        }

    # --- one call ---

    def _depart(self, replica: Replica | None, prefix: Prefix, tried: set[str], call: Call) -> Trip:
        """Choose, and note the choice; nothing else may run between the two."""
        now = time.time()
        able = [replica] if replica is not None else self._may.able(tried)
        well = [one.target for one in self.replicas if one.is_readable and one.name not in tried]
        choice = self.router.choose(prefix, [one.target for one in able], now, well)
        chosen = next(one for one in able if one.target is choice.target)
        self._placements[call.id] = Placement(
            replica=chosen.name,
            policy=self.fleet.routing,
            prompt_tokens=round(prefix.tokens),
            available_tokens=round(choice.available),
            chosen_tokens=round(choice.chosen),
            exact=choice.exact,
            removed_tokens=round(choice.removed),
        )
        if len(self._placements) > _MAX_PLACEMENTS:
            self._placements.popitem(last=False)
        lead = self.leaders.lead(prefix, choice.available)
        if not call.stream:  # its first output cannot be seen: when it should have come must do
            load = choice.target.load
            due_s = load.backlog_s(now) + choice.missing / load.prefill_rate
            asyncio.get_running_loop().call_later(max(_LEAST_LEAD_S, _LATE * due_s), lead.done)
        return Trip(self.router, chosen, choice, lead, self._arrived)

    async def _one_with_room(self, tried: set[str]) -> Replica | None:
        """Wait until a replica can take a call. One that is to be probed after a pause is named; else None.

        Raises:
            ApiError: 503 where none is able to, 429 where none has had room for too long.
        """
        until = time.monotonic() + self.fleet.queue_s
        woken = False
        while True:
            if self._may.any_room(tried) and (woken or not self.slots.wanted):
                return self._may.to_be_probed(tried)
            if not self._may.candidates(tried):
                raise none_able(self.name, len(self.replicas), others=bool(tried))
            try:
                left_s = until - time.monotonic()
                await self.slots.wait(left_s, again=woken, may=lambda: self._may.any_room(tried))
            except TimeoutError:
                raise all_busy(self.name) from None
            woken = True

    def _begin(self, named: Named | None) -> Tries:
        """The tries of a call: at home where it goes on from an answer whose home is known and serves."""
        home = self.router.homes.find(named)
        here = {one.name for one in self.replicas if one.serves and one.target.cache == home}
        elsewhere = [one.name for one in self.replicas if one.name not in here] if here else []
        return Tries(elsewhere, searches=named is not None and not here)

    def _accept(
        self, trip: Trip, reply: WholeReply | StreamReply, call: Call, named: Named | None
    ) -> WholeReply | StreamReply:
        if reply.status in FAILURES:
            trip.replica.failed(speaks=reply.status == FAULT)
        elif reply.status >= 400:
            trip.replica.circuit.succeeded()
        elif isinstance(reply, WholeReply):  # a stream tells at its end
            trip.replica.answered()
        if named is not None and reply.status < 400:
            self.router.homes.put([Named(named.key)], trip.choice.target.cache)
        if not isinstance(reply, WholeReply):
            return RoutedStream(reply, trip, call, self._keep)
        self._keep(trip, call, reply.response_id)
        if reply.status < 400:
            trip.arrived(reply.usage)
        else:
            trip.failed()
        return reply

    def _keep(self, trip: Trip, call: Call, response_id: str | None) -> None:
        """Note who keeps an answer."""
        self.router.homes.put(kept_names(call, response_id), trip.choice.target.cache)

    def _pass_by(self, trip: Trip, reply: WholeReply) -> None:
        """Note an answer because of which another replica may be asked."""
        if reply.status in BUSY:
            self._note_failure(trip, reply.status, speaks=reply.status == FAULT)
        else:
            trip.replica.circuit.undecided()
            trip.failed()

    def _note_failure(self, trip: Trip, status: int, *, speaks: bool = False) -> None:
        if status in FAILURES:
            trip.replica.failed(speaks=speaks)
        elif status:
            trip.replica.circuit.succeeded()
        else:
            trip.replica.circuit.undecided()  # it was not even asked
        trip.replica.counts.failures += bool(status)
        trip.failed()

    def _arrived(self, trip: Trip, usage: Usage | None) -> None:
        self.wake()
        if trip.replica.circuit.is_open:
            due_s = trip.replica.circuit.probe_in_s
            asyncio.get_running_loop().call_later(due_s + _LATER_S, self.wake)
        self.replicas.let_go(trip.replica)
        prefix = trip.choice.prefix
        if usage is None or not usage.total_input or prefix.token_ids or prefix.tokens < PIECE_BYTES:
            return
        seen = usage.total_input / (prefix.tokens / self.tokens_per_byte)
        seen = min(max(seen, _RATIOS[0]), _RATIOS[1])
        self.tokens_per_byte += _DAMPING * (seen - self.tokens_per_byte)

    def wake(self) -> None:
        """Let the next in line go where one may have room."""
        if len(self.slots) and any(one.has_room for one in self.replicas):
            self.slots.free()
        if self._heir is not None:  # where it is full by what was sent from here, somebody waits there
            self._heir.wake()

    # --- the whole fleet ---

    def _url(self) -> str:
        first = next(iter(self.replicas), None)
        return self._settings.url or ("" if first is None else first.settings.url)
