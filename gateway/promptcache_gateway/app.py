"""The gateway as one ASGI application: the data plane beside the control plane.

It owns the life of the upstream and the observer. Sockets, signals and exit codes are the
server's business.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from typing import TYPE_CHECKING

from promptcache_gateway import errors
from promptcache_gateway.access import Access
from promptcache_gateway.control import TrackedResponse, create_control_plane
from promptcache_gateway.cors import Cors
from promptcache_gateway.failures import log_failure
from promptcache_gateway.fleet.metrics import FleetMetrics
from promptcache_gateway.health import PATHS, Health
from promptcache_gateway.held_bodies import HeldBodies
from promptcache_gateway.kept import Shelf
from promptcache_gateway.logs import log_request
from promptcache_gateway.mutations import Mutator
from promptcache_gateway.observe import Bookkeeper, Journal, Observer
from promptcache_gateway.observe.money import Money
from promptcache_gateway.origins import Origins
from promptcache_gateway.plane import DataPlane, Room
from promptcache_gateway.plane.responses import JSON_TYPE, send_error, send_whole
from promptcache_gateway.plane.routes import shape_of
from promptcache_gateway.plane.turned_away import TurnedAway
from promptcache_gateway.reload import Retirement, merge, start_all
from promptcache_gateway.running import Running
from promptcache_gateway.settings import Settings
from promptcache_gateway.shared.state import SharedState, through_redis
from promptcache_gateway.store import Store
from promptcache_gateway.tenancy import Limits
from promptcache_gateway.tenancy.key_file import KeyFile
from promptcache_gateway.tenancy.key_ring import KeyRing
from promptcache_gateway.tenancy.opening import budgets_in, open_ledger
from promptcache_gateway.tenancy.own_paths import own_scope
from promptcache_gateway.traffic_metrics import LineFigures, Traffic, TrafficMetrics
from promptcache_gateway.upstreams import Switchboard, create_switchboard

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.types import ASGIApp, Receive, Scope, Send

    from promptcache_gateway.shared.base import Common
    from promptcache_gateway.template_sources import SourceSettings
    from promptcache_gateway.upstreams.base import Upstream

logger = logging.getLogger("promptcache.gateway")
_HEAD_AS_GET = PATHS | {"/", "/metrics", "/dashboard"}
_END_WITHIN_S = 5.0  # what ends them takes a second, and a large one's end as long as a processor needs
_BASIC = (b"www-authenticate", b'Basic realm="promptcache"')


class Gateway:
    """The whole gateway behind ASGI's three arguments.

    Attributes:
        upstreams: where requests go, as configured now.
        observer: what requests are looked at by.
        mutator: what changes requests on their way.
        shelf: the responses that are kept.
        room: the memory that bodies of requests and answers to them take.
        turned_away: the requests that it refused itself.
    """

    def __init__(
        self,
        settings: Settings,
        switchboard: Switchboard,
        observer: Observer,
        control: Callable[[Observer, Health, SourceSettings], ASGIApp] | None = None,
        common: Common | None = None,
    ) -> None:
        """``control`` makes what answers everything that is not a provider's API; None: this process does.
        ``common``: what is held in common with other processes; None: nothing is.
        """
        self.upstreams: list[Upstream] = []
        self.observer = observer
        self._ring = KeyRing(KeyFile(settings.key_file))
        self._limits = Limits(settings.tenants)
        self.mutator = Mutator(settings.mutations)
        self._ledger = open_ledger(settings, observer)
        self._shared = SharedState(common, self._limits, self._ledger, self.upstreams, observer)
        self.shelf = Shelf(settings.responses, settings.database_address)
        self.room = Room(settings)
        self.turned_away = TurnedAway(says=settings.log_requests)
        observer.forgetters += [self.mutator.forget, self._ledger.forget, self.shelf.forget]
        self._retirement, self._reloading = Retirement(), asyncio.Lock()
        self._take(settings, switchboard)
        self._health = Health(self.upstreams, lambda: self._switchboard.lines, diagnosing=settings.diagnosis)
        sources, now = settings.sources, lambda: self._settings
        made: ASGIApp = (
            control(observer, self._health, sources)
            if control is not None
            else create_control_plane(observer, self.upstreams, sources, now, self._health)
        )
        self._control = HeldBodies(made, self.room.bodies, lambda: self._settings.max_body_bytes)
        self._requests, self._control_tasks = Running(), set[asyncio.Task[object]]()
        self._running, self._stalled = False, 0
        if observer.journal is not None:
            observer.journal.metrics.registry.register(TrafficMetrics(self.traffic))
            observer.journal.metrics.registry.register(FleetMetrics(lambda: tuple(self.upstreams)))

    def traffic(self) -> Traffic:
        """How its requests, upstreams and limits stand."""
        lines = tuple(map(LineFigures.of, self._switchboard.lines))
        talks = self.shelf.under_way.refused
        by_limit = {"budget": self._ledger.refused, "conversations": talks, **self.room.refused}
        beyond = {(who, limit): count for limit, one in by_limit.items() for who, count in one.items()}
        refused, away = {**self._limits.refused, **beyond}, dict(self.turned_away.counts)
        return Traffic(len(self._requests), lines, refused, stalled=self._stalled, turned_away=away)

    def note_stalled(self, callers: int) -> None:
        """Note callers that were hung up on because they took nothing of an answer."""
        self._stalled += callers

    @property
    def upstream(self) -> Upstream:
        """The first upstream, which most often is the only one."""
        return self.upstreams[0]

    async def start(self) -> None:
        """Start the observer and the upstreams, once; raises `StartupError` when one cannot."""
        if self._running:
            return
        await self.observer.start()
        if self.observer.journal is not None:
            await self._ledger.read()
        try:
            await self.shelf.start()
            for upstream in self.upstreams:
                await upstream.start()
            await self._shared.start()
        except BaseException:
            await self._close_upstreams()
            await self.shelf.close()
            await self.observer.stop()
            raise
        self._running = True

    async def close(self) -> None:
        """End what still runs, then stop the upstreams, then write what the observer still holds."""
        if not self._running:
            return
        self._running = False
        if not await self._requests.ended(_END_WITHIN_S):
            logger.warning("%d requests have not ended and may not be recorded", len(self._requests))
        await self._shared.close()
        await self._close_upstreams()
        await self.shelf.close()
        await self.observer.stop()

    async def _close_upstreams(self) -> None:
        for upstream in self.upstreams:
            await upstream.close()
        await self._retirement.finish()

    async def reload(self, wanted: Settings) -> tuple[str, ...]:
        """Take other settings; requests under way end as they began.

        Returns:
            Names of the settings that differ and need a restart.

        Raises:
            StartupError: an upstream cannot be started. Everything is as it was.
        """
        async with self._reloading:
            settings, waiting = merge(self._settings, wanted)
            switchboard = create_switchboard(settings, kept=self._switchboard.lines)
            before, after = tuple(self.upstreams), [line.upstream for line in switchboard.lines]
            await start_all(upstream for upstream in after if upstream not in before)
            self._take(settings, switchboard)
            self.observer.serve(after)
            self.observer.price(Money(settings.prices.prices.find))
            if self.observer.journal is not None:
                await asyncio.to_thread(self.observer.journal.alerts.renew, settings.alerts)
            self._retirement.retire([one for one in before if one not in after], self._requests)
            return waiting

    def _take(self, settings: Settings, switchboard: Switchboard) -> None:
        """Answer from now on by these settings. The list of upstreams stays the same list: others hold it."""
        self._settings, self._switchboard = settings, switchboard
        self.upstreams[:] = [line.upstream for line in switchboard.lines]
        self._access = Access(settings.api_keys, self._ring, required=settings.api_key_required)
        self._limits.renew(settings.tenants)
        self.mutator.renew(settings.mutations)
        self._ledger.renew(budgets_in(settings))
        self._plane = DataPlane(
            settings,
            switchboard,
            self.observer,
            self._access,
            limits=self._limits,
            mutator=self.mutator,
            ledger=self._ledger,
            shelf=self.shelf,
            room=self.room,
            turned_away=self.turned_away,
        )
        self._origins, self._cors = Origins(settings), Cors(settings)
        self.room.renew(settings)

    def end_feeds(self) -> None:
        """End the control plane's endless responses, so that a graceful stop need not wait for them."""
        for task in self._control_tasks:
            task.cancel()

    def end_requests(self) -> int:
        """End the requests that still run, each with an error that says so; how many there were."""
        return self._requests.end()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one ASGI connection."""
        if scope["type"] == "http":
            refusal = self._origins.refusal(scope)
            if refusal is not None:
                await self.turned_away.answer(send, refusal)
            elif not self._plane.owns(scope["path"]):
                await self._answer_control(scope, receive, send)
            elif (page := self._cors.origin(scope)) is None:
                await self._answer_plane(scope, receive, send)
            elif self._cors.is_preflight(scope):
                await send_whole(send, 204, self._cors.preflight(scope, page), b"")
            else:
                await self._answer_plane(scope, receive, self._cors.sender(send, page))
        elif scope["type"] == "lifespan":
            await self._live(receive, send)
        else:
            await receive()
            await send({"type": "websocket.close", "code": 1000})

    async def _answer_plane(self, scope: Scope, receive: Receive, send: Send) -> None:
        if len(self._requests) >= self._settings.max_requests:
            full = errors.too_many_requests(self._settings.max_requests)
            await self.turned_away.answer(send, full, shape_of(scope["path"]))
            return
        with self._requests.this() as task:
            try:
                await self._plane(scope, receive, send)
            except asyncio.CancelledError:  # by `end_requests`, before an answer had begun
                task.uncancel()
                with contextlib.suppress(Exception):
                    await self.turned_away.answer(send, errors.stopping(), shape_of(scope["path"]))

    async def _answer_control(self, scope: Scope, receive: Receive, send: Send) -> None:
        caller = self._access.caller(scope["headers"])
        if caller is None or not caller.admin:
            if scope["path"] in PATHS and scope["method"] in {"GET", "HEAD"}:
                status, body = self._health.answer(scope["path"], names=False)
                await send_whole(send, status, [JSON_TYPE], body)
                return
            if caller is None:
                await send_error(send, errors.unauthorized(), [_BASIC])
                return
            if (own := own_scope(scope, caller.tenant)) is None:
                await send_error(send, errors.needs_admin())
                return
            scope = own
        task = asyncio.current_task()
        assert task is not None
        if scope["method"] == "HEAD" and scope["path"] in _HEAD_AS_GET:
            scope = {**scope, "method": "GET"}  # the server leaves the body out
        response = TrackedResponse(send)
        self._control_tasks.add(task)
        try:
            await self._control(scope, receive, response.send)
        except asyncio.CancelledError:
            task.uncancel()
            await response.finish()
        except Exception as error:  # noqa: BLE001 - logged without what it may quote
            log_failure(f"{scope['method']} {scope['path'][:80]!r}", error)
            if not response.started:
                await send_error(send, errors.internal_error(None))
        finally:
            self._control_tasks.discard(task)

    async def _live(self, receive: Receive, send: Send) -> None:
        await receive()
        try:
            await self.start()
        except errors.GatewayError as error:
            await send({"type": "lifespan.startup.failed", "message": str(error)})
            return
        await send({"type": "lifespan.startup.complete"})
        await receive()
        await self.close()
        await send({"type": "lifespan.shutdown.complete"})


def create_app(
    settings: Settings | None = None,
    *,
    upstream: Upstream | None = None,
    on_progress: Callable[[str], None] | None = None,
) -> Gateway:
    """Make the gateway.

    Args:
        settings: what it is told; None: the defaults, with the built-in engine.
        upstream: where it forwards; None: the upstreams that the settings name.
        on_progress: called with a line before each long step of loading a model.
    """
    settings = Settings() if settings is None else settings
    if upstream is None:
        switchboard = create_switchboard(settings, on_progress)
    else:
        switchboard = Switchboard([(upstream, settings.lines[0])])
    upstreams = [line.upstream for line in switchboard.lines]
    store = Store(settings.database_address, bounds=settings.bounds)
    listeners = (log_request,) if settings.log_requests else ()
    journal = Journal(store, settings.alerts, settings.otel, diagnosing=settings.diagnosis)
    observes = Observer if settings.diagnosis else Bookkeeper
    observer = observes(upstreams, journal, listeners=listeners, money=Money(settings.prices.prices.find))
    return Gateway(settings, switchboard, observer, common=through_redis(settings.shared))
