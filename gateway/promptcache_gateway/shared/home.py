"""The parent's knowledge: every worker's records, and what all of them learn, in one place.

It keeps the journal (memory, database, metrics, live events) that a gateway of one process keeps itself, and
answers the control plane for all workers, whichever was asked. What a worker tells its peers is passed on.
Before it answers it asks every worker how things stand: what each had sent by then arrives before its answer.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from promptcache_gateway.failures import log_failure
from promptcache_gateway.observe import Journal, Observer
from promptcache_gateway.shared.buckets import Buckets
from promptcache_gateway.shared.crew_fleet import merged
from promptcache_gateway.shared.frames import Channel, Kind, unpack
from promptcache_gateway.shared.observer import Known
from promptcache_gateway.shared.outstanding import Outstanding
from promptcache_gateway.tenancy.budget_watch import BudgetWatch
from promptcache_gateway.traffic_metrics import LineFigures, Traffic, TrafficMetrics, added_up

if TYPE_CHECKING:
    from collections.abc import Sequence

    from starlette.types import ASGIApp, Receive, Scope, Send

    from promptcache_gateway.alert_settings import AlertSettings
    from promptcache_gateway.observe.record import RequestRecord
    from promptcache_gateway.observe.templates import LearnedTemplate
    from promptcache_gateway.shared.link import Stands
    from promptcache_gateway.store import Store
    from promptcache_gateway.telemetry.otel_settings import OtelSettings

_PATIENCE_S = 0.25  # how long a page waits for workers that do not say how things stand


class HomeObserver(Observer):
    """The parent's observer: it opens nothing, and what operators order is told to every worker."""

    def __init__(self, journal: Journal) -> None:
        super().__init__((), journal)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._channels: set[Channel] = set()
        self._others_serve = False
        self.under_way: frozenset[str] = frozenset()
        self._drained: set[tuple[str, str]] = set()

    def join(self, channel: Channel, *, others_served: bool) -> None:
        """Tell a new worker what is known, and from now on everything else."""
        self._loop = asyncio.get_running_loop()
        known = Known(
            tuple(self._templates.known()),
            tuple(self.renames.known()),
            others_served or self._others_serve,
            tuple(self._drained),
        )
        channel.send(Kind.WELCOME, known)
        self._channels.add(channel)

    def leave(self, channel: Channel) -> None:
        """A worker is gone."""
        self._channels.discard(channel)

    def others_serve(self) -> None:
        """Have every worker know, now and later, that other machines answer requests too."""
        self._others_serve = True
        self._order(Kind.WELCOME, Known((), (), others_served=True))

    def learn(self, template: LearnedTemplate, teller: Channel | None = None) -> str | None:
        """Know what a worker, or another machine, has learned, and tell every other worker."""
        news = self._templates.alike(template) != template.name
        earlier = super().learn(template)
        for channel in self._channels if news else ():
            if channel is not teller:
                channel.send(Kind.RECALL, template)
        return earlier

    def rename(self, tenant: str, name: str, to: str) -> dict[str, str]:
        """Show a template under another name, at every worker."""
        self._order(Kind.RENAME, (tenant, name, to))
        return super().rename(tenant, name, to)

    def forget(self, tenant: str) -> None:
        """Forget a tenant, at every worker."""
        self._order(Kind.FORGET, tenant)
        super().forget(tenant)

    def drain(self, upstream: str, replica: str, on: bool) -> None:  # noqa: FBT001 - as it is sent
        """Have every worker give a replica no more requests, or some again."""
        (self._drained.add if on else self._drained.discard)((upstream, replica))
        self._order(Kind.DRAIN, (upstream, replica, on))

    def see_fleets(self, views: Sequence[dict[str, Any]]) -> None:
        """Forget that a replica was drained which no worker has any longer, as the workers do."""
        fleets = {view["upstream"] for view in views}
        there = {
            (view["upstream"], one["name"])
            for view in views
            for one in view["replicas"]
            if one["state"] != "removed"
        }
        self._drained -= {known for known in self._drained - there if known[0] in fleets}

    def is_open(self, request_id: str) -> bool:
        """Whether a worker is at it, and its record has not come yet."""
        assert self.journal is not None
        return request_id in self.under_way and self.journal.recent.get(request_id) is None

    def _order(self, kind: Kind, value: Any) -> None:
        if self._loop is not None:  # an order may come from any thread
            self._loop.call_soon_threadsafe(self._send_all, kind, value)

    def _send_all(self, kind: Kind, value: Any) -> None:
        for channel in self._channels:
            channel.send(kind, value)


class Home:
    """Where all workers' channels end.

    Args:
        store: the database.
        alerts: what operators are told; None: what the environment says.
        otel: where spans go; None: nowhere.
        diagnosing: whether requests are looked at.

    Attributes:
        observer: what the admin API asks and orders.
        budgets: tells of those that are nearly used up.
    """

    def __init__(
        self,
        store: Store,
        alerts: AlertSettings | None = None,
        otel: OtelSettings | None = None,
        *,
        diagnosing: bool = True,
    ) -> None:
        self.journal = Journal(store, alerts, otel, diagnosing=diagnosing)
        self.observer = HomeObserver(self.journal)
        self.budgets = BudgetWatch(self.journal)
        self._stands: dict[Channel, Stands | None] = {}
        self._buckets = Outstanding(Buckets())
        self._past: list[Traffic] = []
        self._past_fleets: dict[str, dict[str, Any]] = {}
        self._lost = 0
        self._number = 0
        self._answered = asyncio.Condition()
        self._merging: set[asyncio.Task[None]] = set()
        self.journal.metrics.registry.register(TrafficMetrics(self.traffic))
        self.journal.lost_elsewhere = lambda: self.lost

    async def attend(self, channel: Channel, ready: asyncio.Event) -> None:
        """Hear a worker until it is gone; ``ready`` is set once it answers requests."""
        self.observer.join(channel, others_served=bool(len(self.journal.recent)))
        self._stands[channel] = None
        try:
            async for kind, body in channel.frames():
                if kind is Kind.READY:
                    ready.set()
                try:
                    await self._hear(channel, kind, body)
                except Exception as error:  # noqa: BLE001 - one message must not end all others
                    log_failure(f"a message of the kind {kind.name}", error)
        finally:
            self.observer.leave(channel)
            self._buckets.leave(channel)
            self._retire(self._stands.pop(channel))

    async def _hear(self, channel: Channel, kind: Kind, body: bytes) -> None:
        if kind in {Kind.SEEN, Kind.SETTLED, Kind.NEWS}:
            for peer in self._stands:
                if peer is not channel:
                    peer.pass_on(kind, body)
        elif kind is Kind.SPENT:
            number, takes = unpack(body)
            taken = self._buckets.take(channel, takes)
            if number:
                channel.send(Kind.LEVEL, (number, taken))
        elif kind is Kind.RECORD:
            self._record(unpack(body))
        elif kind is Kind.LEARNED:
            self._learn(unpack(body), channel)
        elif kind is Kind.STANDS:
            self._stands[channel] = unpack(body)
            async with self._answered:
                self._answered.notify_all()

    def _record(self, record: RequestRecord) -> None:
        shown = self.observer.renames.shown(record.tenant, record.template)
        self.journal.record(record if shown == record.template else replace(record, template=shown))

    def _learn(self, template: LearnedTemplate, teller: Channel) -> None:
        self.journal.keep(template)
        earlier = self.observer.learn(template, teller)
        if earlier is not None:  # two workers have learned it at the same time
            into = self.observer.renames.shown(template.tenant, earlier)
            task = asyncio.create_task(asyncio.to_thread(self._merge, template.tenant, template.name, into))
            self._merging.add(task)
            task.add_done_callback(self._merging.discard)

    def _merge(self, tenant: str, name: str, into: str) -> None:
        owns = self.observer.rename(tenant, name, into)
        self.journal.store.flush()
        self.journal.store.rename_template(tenant, name, into, owns)

    async def ask(self) -> None:
        """Ask every worker how things stand, and wait for what they say, but not for long."""
        self._number += 1
        number = self._number
        asked = [channel for channel in self._stands if channel.send(Kind.ASK, number)]

        def told() -> bool:
            stands = (self._stands.get(channel) for channel in asked if channel in self._stands)
            return all(one is not None and one.number >= number for one in stands)

        try:
            async with asyncio.timeout(_PATIENCE_S), self._answered:
                await self._answered.wait_for(told)
        except TimeoutError:
            pass
        known = [one.open for one in self._stands.values() if one is not None]
        self.observer.under_way = frozenset().union(*known)
        self.observer.see_fleets(self.fleets()[0])

    def traffic(self) -> Traffic:
        """How things stand at all workers together, those that are gone counted with what they last said."""
        return added_up([*self._past, *(one.traffic for one in self._stands.values() if one is not None)])

    def fleets(self) -> tuple[Sequence[dict[str, Any]], Sequence[dict[str, Any]]]:
        """The workers' views of their fleets, and the last ones of those that are gone."""
        now = [view for one in self._stands.values() if one is not None for view in one.fleets]
        return now, list(self._past_fleets.values())

    @property
    def lost(self) -> int:
        """Records that workers could not hand over."""
        return self._lost + sum(one.lost for one in self._stands.values() if one is not None)

    def _retire(self, last: Stands | None) -> None:
        if last is None:
            return
        self._lost += last.lost
        for view in last.fleets:
            before = self._past_fleets.get(view["upstream"])
            self._past_fleets[view["upstream"]] = merged([view], [] if before is None else [before])
        ended = replace(last.traffic, running=0, lines=tuple(map(LineFigures.closed, last.traffic.lines)))
        self._past = [added_up([*self._past, ended])]

    def wrap(self, control: ASGIApp) -> ASGIApp:
        """The control plane, asked after everything that has happened has been told."""

        async def answer(scope: Scope, receive: Receive, send: Send) -> None:
            if not scope["path"].startswith("/dashboard"):
                await self.ask()
            await control(scope, receive, send)

        return answer
