"""``promptcache serve --workers N``: the parent of the workers, from its first signal to its last.

It answers no model requests. It keeps what all workers know, serves the control plane to them on a socket of
its own, and passes its signals on: SIGTERM and SIGINT end all gracefully, SIGHUP has all read their settings.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import shutil
import signal
import socket
import tempfile
from typing import TYPE_CHECKING

import uvicorn

from promptcache_gateway.control import create_control_plane
from promptcache_gateway.errors import GatewayError
from promptcache_gateway.failures import log_failure
from promptcache_gateway.fleet.metrics import FleetMetrics
from promptcache_gateway.fleet.upstream import FleetUpstream
from promptcache_gateway.server import GatewayServer, taken_signals
from promptcache_gateway.shared.crew import Crew
from promptcache_gateway.shared.crew_fleet import CrewFleet
from promptcache_gateway.shared.home import Home
from promptcache_gateway.shared.state import SharedState, through_redis
from promptcache_gateway.store import Store
from promptcache_gateway.upstreams import create_switchboard
from promptcache_gateway.upstreams.choose import create_upstream

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator, Sequence

    from promptcache_gateway.settings import Settings
    from promptcache_gateway.upstreams.base import Upstream
    from promptcache_gateway.upstreams.switchboard import Line

_log = logging.getLogger("promptcache.gateway")

_MORE_GRACE_S = 10.0
_LOOK_S = 2.0  # between two looks at how workers stand, so that one that is killed was looked at


async def serve_with_workers(
    settings: Settings,
    argv: Sequence[str],
    bound: socket.socket,
    announce: Callable[[], None],
    read_again: Callable[[], Settings],
) -> None:
    """Serve with ``settings.workers`` processes until told to stop.

    Args:
        settings: what the gateway was told.
        argv: the command line it was told with, which workers read themselves.
        bound: the socket to listen on; the workers inherit it.
        announce: called once all workers answer requests.
        read_again: reads the settings as they are now.

    Raises:
        StartupError: the database or a worker cannot be used.
    """
    store = Store(settings.database_address, bounds=settings.bounds)
    home = Home(store, settings.alerts, settings.otel, diagnosing=settings.diagnosis)
    stopping = asyncio.Event()
    shared = SharedState(through_redis(settings.shared), observer=home.observer)
    await home.observer.start()
    with _folder() as folder:
        control = f"{folder}/control"
        grace_s = settings.shutdown_grace_s + _MORE_GRACE_S
        crew = Crew(home, bound, control, argv, count=settings.workers, grace_s=grace_s)
        with _signals(crew, home, stopping, read_again):
            try:
                await shared.start()
                await home.budgets.start(settings)
                async with _control_plane(home, settings, control):
                    await _run(crew, home, stopping, announce)
            finally:  # what a worker has told is written, however often a signal comes
                await shared.close()
                await home.observer.stop()


async def _run(crew: Crew, home: Home, stopping: asyncio.Event, announce: Callable[[], None]) -> None:
    looking = asyncio.create_task(_look(home))
    starting = asyncio.create_task(crew.start())
    waiting = asyncio.create_task(stopping.wait())
    try:
        await asyncio.wait((starting, waiting), return_when=asyncio.FIRST_COMPLETED)
        if starting.done():
            starting.result()
            announce()
            await waiting
    finally:
        for task in (starting, waiting, looking):
            task.cancel()
        await crew.stop()


async def _look(home: Home) -> None:
    while True:
        await asyncio.sleep(_LOOK_S)
        await home.ask()


@contextlib.asynccontextmanager
async def _control_plane(home: Home, settings: Settings, path: str) -> AsyncIterator[None]:
    """The control plane on a socket of its own."""
    upstreams = [_mirrored(line, settings, home) for line in create_switchboard(settings).lines]
    home.journal.metrics.registry.register(FleetMetrics(lambda: upstreams))
    app = home.wrap(create_control_plane(home.observer, upstreams, settings.sources, lambda: settings))
    server = GatewayServer(
        uvicorn.Config(app, loop="none", ws="none", lifespan="off", log_config=None, access_log=False)
    )
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listening:
        listening.bind(path)
        listening.listen(256)
        serving = asyncio.create_task(server.serve(sockets=[listening]))
        try:
            yield
        finally:
            server.should_exit = server.force_exit = True
            await serving


def _mirrored(line: Line, settings: Settings, home: Home) -> Upstream:
    """What the control plane is told of an upstream: of a fleet, what all workers see."""
    if not isinstance(line.upstream, FleetUpstream):
        return line.upstream
    told = line.settings
    return CrewFleet(
        told, lambda one: create_upstream(told.of(one), settings, None), home.fleets, home.observer.drain
    )


@contextlib.contextmanager
def _folder() -> Iterator[str]:
    """A folder that only this user may enter."""
    folder = tempfile.mkdtemp(prefix="promptcache-")
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def _signals(
    crew: Crew, home: Home, stopping: asyncio.Event, read_again: Callable[[], Settings]
) -> Iterator[None]:
    reloads: set[asyncio.Task[None]] = set()

    def stop() -> None:
        if stopping.is_set():  # asked twice: at once, then
            crew.hurry()
        stopping.set()

    def reload() -> None:
        task = asyncio.create_task(_reload(crew, home, read_again))
        reloads.add(task)
        task.add_done_callback(reloads.discard)

    handled = {signal.SIGTERM: stop, signal.SIGINT: stop, signal.SIGHUP: reload}
    with taken_signals(handled):
        yield


async def _reload(crew: Crew, home: Home, read_again: Callable[[], Settings]) -> None:
    """Have the workers read their settings, where those can be used."""
    try:
        settings = await asyncio.to_thread(read_again)
        await asyncio.to_thread(home.journal.alerts.renew, settings.alerts)
        home.budgets.renew(settings)
    except GatewayError as error:
        _log.error("the settings were not taken, everything is as it was: %s", error)
    except Exception as error:  # noqa: BLE001 - a gateway that serves must not die of its settings
        log_failure("reading the settings again", error)
    else:
        crew.signal(signal.SIGHUP)
