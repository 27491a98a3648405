"""Run the gateway on a socket until it is told to stop.

The socket is bound before the model is loaded, so that a busy port is known at once; signals end
running requests gracefully and leave exit status 0.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
import os
import signal
import socket
from functools import partial
from typing import TYPE_CHECKING

import uvicorn

from promptcache_gateway.bounded_protocol import BoundedProtocol
from promptcache_gateway.errors import GatewayError, PortBusyError
from promptcache_gateway.failures import log_failure
from promptcache_gateway.open_files import make_room
from promptcache_gateway.plane.hangup import EXTENSION, HangUps

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping

    from promptcache_gateway.app import Gateway
    from promptcache_gateway.settings import Settings

logger = logging.getLogger("promptcache.gateway")

_BACKLOG = 2048
_FORCE_AFTER_S = 3
_LAST_WORDS_S = 1.5  # what running requests get to say that they are ended
# Longer than clients keep idle connections: were we to close them, a request might meet a closed one.
_KEEP_ALIVE_S = 75


def bind(host: str, port: int) -> socket.socket:
    """A bound socket; raises `PortBusyError` with the system's reason."""
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        bound = socket.socket(family, socket.SOCK_STREAM)
    except OSError as error:
        raise PortBusyError(host, port, _reason(error)) from error
    try:
        # A restart must not wait for old connections; on Windows the option would share a busy port.
        if os.name == "posix":
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind(address)
        bound.listen(_BACKLOG)
    except OSError as error:
        bound.close()
        raise PortBusyError(host, port, _reason(error)) from error
    return bound


class ApiProtocol(BoundedProtocol):
    """The gateway's protocol: within bounds, and it tells of hang-ups unasked (`plane.hangup`)."""

    _hang_ups: HangUps | None = None

    def on_message_begin(self) -> None:
        """A request begins; whoever answers it may ask to be told that its caller hangs up."""
        BoundedProtocol.on_message_begin(self)
        if self._hang_ups is None:
            self._hang_ups = HangUps(self.drop, self.taken)
        self.scope["extensions"] = {EXTENSION: self._hang_ups}  # type: ignore[dict-item]

    def connection_lost(self, exc: Exception | None) -> None:
        """Tell them."""
        super().connection_lost(exc)
        if self._hang_ups is not None:
            self._hang_ups.happened(stalled=self.stalled)


class GatewayServer(uvicorn.Server):
    """uvicorn without its own signal handling, which would end the process by the signal.

    Attributes:
        announce: called once connections are accepted.
        told_of_stalled: called with the number of callers that were hung up on because they took nothing.
        end_requests: called when requests still run after ``grace_s``; says how many it ended.
        grace_s: seconds that running requests get to end once it stops.
    """

    announce: Callable[[], None] | None = None
    told_of_stalled: Callable[[int], None] | None = None
    end_requests: Callable[[], int] | None = None
    grace_s = 0.0

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to accept connections, and say so."""
        await super().startup(sockets)
        if self.started and self.announce is not None:
            self.announce()

    async def on_tick(self, counter: int) -> bool:
        """Say whether it is time to stop; once a second, look for callers who do not send, or do not read."""
        if counter % 10 == 0:
            self._look_at_callers(asyncio.get_running_loop().time())
        return await super().on_tick(counter)

    def _look_at_callers(self, now: float) -> None:
        known = self.server_state.connections
        callers = [one for one in known if isinstance(one, BoundedProtocol) and not one.stalled]
        for caller in callers:
            caller.lose_patience(now)
        stalled = sum(caller.stalled for caller in callers)
        if stalled and self.told_of_stalled is not None:
            self.told_of_stalled(stalled)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Wait for running requests, but not for ever."""
        loop = asyncio.get_running_loop()
        patience = loop.call_later(self.grace_s, self._lose_patience)
        last = loop.call_later(self.grace_s + _LAST_WORDS_S, self._drop_all)
        try:
            await super().shutdown(sockets)
        finally:
            patience.cancel()
            last.cancel()

    def _lose_patience(self) -> None:
        ended = self.end_requests() if self.end_requests is not None else 0
        if ended:
            logger.warning("ended %d running requests after %g s of waiting", ended, self.grace_s)

    def _drop_all(self) -> None:
        """Hang up on callers who have not taken what they were told by now."""
        for caller in tuple(self.server_state.connections):
            if isinstance(caller, BoundedProtocol):
                caller.drop()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave the signals to `serve`."""
        yield


def _protocol(gateway: Gateway, settings: Settings) -> type[ApiProtocol]:
    names = ("max_header_bytes", "head_timeout_s", "body_timeout_s", "send_timeout_s")
    bounds = {name: getattr(settings, name) for name in names}
    noted = {"note_refused": lambda _, error: gateway.turned_away.note(error)}
    return type("ApiProtocol", (ApiProtocol,), bounds | noted)


def make_server(gateway: Gateway, settings: Settings) -> GatewayServer:
    """A server for a started gateway."""
    server = GatewayServer(
        uvicorn.Config(
            gateway,
            loop="none",
            http=_protocol(gateway, settings),
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            timeout_keep_alive=_KEEP_ALIVE_S,
            # The last resort, for what does not end when it is told to.
            timeout_graceful_shutdown=math.ceil(settings.shutdown_grace_s) + _FORCE_AFTER_S,
        )
    )
    server.grace_s = settings.shutdown_grace_s
    server.end_requests = gateway.end_requests
    server.told_of_stalled = gateway.note_stalled
    return server


async def serve(
    gateway: Gateway,
    settings: Settings,
    bound: socket.socket,
    announce: Callable[[], None],
    read_again: Callable[[], Settings] | None = None,
    *,
    hurried_by: Collection[signal.Signals] = (),
) -> None:
    """Start the gateway, serve until SIGTERM or SIGINT, and stop gracefully. SIGHUP has it read its settings.

    Args:
        gateway: the application.
        settings: what it was told.
        bound: the socket to listen on.
        announce: called once requests are answered.
        read_again: reads the settings as they are now; None: SIGHUP changes nothing.
        hurried_by: signals that end running requests at once; none: whichever comes second does.

    Raises:
        StartupError: the upstream or the database cannot be used.
    """
    _make_room(settings)
    server = make_server(gateway, settings)
    server.announce = announce
    starting: asyncio.Task[None] = asyncio.create_task(gateway.start())

    def stop(number: signal.Signals) -> None:
        if number in hurried_by or (server.should_exit and not hurried_by):
            server.force_exit = True
        server.should_exit = True
        starting.cancel()
        gateway.end_feeds()

    reloads: set[asyncio.Task[None]] = set()

    def reload() -> None:
        if server.started and read_again is not None:
            task = asyncio.create_task(_reload(gateway, read_again))
            reloads.add(task)
            task.add_done_callback(reloads.discard)

    with _signals(stop, reload):
        try:
            await starting
        except asyncio.CancelledError:
            return
        try:
            await server.serve(sockets=[bound])
        finally:
            await gateway.close()


def _make_room(settings: Settings) -> None:
    room = make_room(settings.max_requests)
    if room is not None and room[0] < room[1]:
        logger.warning(
            "the process may have %d files open; %d requests at a time need %d (ulimit -n)",
            room[0],
            settings.max_requests,
            room[1],
        )


async def _reload(gateway: Gateway, read_again: Callable[[], Settings]) -> None:
    try:
        waiting = await gateway.reload(await asyncio.to_thread(read_again))
    except GatewayError as error:
        logger.error("the settings were not taken, everything is as it was: %s", error)  # noqa: TRY400 - one line
        return
    except Exception as error:  # noqa: BLE001 - a gateway that serves must not die of its settings
        log_failure("reading the settings again", error)
        return
    names = ", ".join(upstream.name for upstream in gateway.upstreams)
    logger.info("took the settings; upstreams: %s", names)
    if waiting:
        logger.warning("these settings need a restart and are as they were: %s", ", ".join(waiting))


@contextlib.contextmanager
def _signals(stop: Callable[[signal.Signals], None], reload: Callable[[], None]) -> Iterator[None]:
    if os.name != "posix":  # Windows: Ctrl+C interrupts the loop itself
        yield
        return
    handled = {number: partial(stop, number) for number in (signal.SIGTERM, signal.SIGINT)}
    with taken_signals({**handled, signal.SIGHUP: reload}):
        yield


@contextlib.contextmanager
def taken_signals(handlers: Mapping[signal.Signals, Callable[[], None]]) -> Iterator[None]:
    """Have the running loop take signals; behind the block those have them again who had them before."""
    loop = asyncio.get_running_loop()
    before = {number: signal.getsignal(number) for number in handlers}
    for number, handler in handlers.items():
        loop.add_signal_handler(number, handler)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_BLOCK, handlers)  # between the two, one would end the process
        for number, handler_before in before.items():
            loop.remove_signal_handler(number)
            signal.signal(number, handler_before or signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, handlers)


def _reason(error: OSError) -> str:
    return (error.strerror or str(error)).lower()
