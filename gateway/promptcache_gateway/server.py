"""Run the gateway on a socket until it is told to stop.

The socket is bound before the model is loaded, so that a busy port is known at once; signals end
running requests gracefully and leave exit status 0.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
from typing import TYPE_CHECKING

import uvicorn

from promptcache_gateway.errors import PortBusyError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from promptcache_gateway.app import Gateway
    from promptcache_gateway.settings import Settings

_BACKLOG = 2048
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


class GatewayServer(uvicorn.Server):
    """uvicorn without its own signal handling, which would end the process by the signal.

    Attributes:
        announce: called once connections are accepted.
    """

    announce: Callable[[], None] | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to accept connections, and say so."""
        await super().startup(sockets)
        if self.started and self.announce is not None:
            self.announce()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave the signals to `serve`."""
        yield


def make_server(gateway: Gateway, settings: Settings) -> GatewayServer:
    """A server for a started gateway."""
    return GatewayServer(
        uvicorn.Config(
            gateway,
            loop="none",
            http="httptools",
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            timeout_keep_alive=_KEEP_ALIVE_S,
            timeout_graceful_shutdown=max(1, round(settings.shutdown_grace_s)),
        )
    )


async def serve(
    gateway: Gateway, settings: Settings, bound: socket.socket, announce: Callable[[], None]
) -> None:
    """Start the gateway, serve until SIGTERM or SIGINT, and stop gracefully.

    Args:
        gateway: the application.
        settings: what it was told.
        bound: the socket to listen on.
        announce: called once requests are answered.

    Raises:
        StartupError: the upstream or the database cannot be used.
    """
    server = make_server(gateway, settings)
    server.announce = announce
    starting: asyncio.Task[None] = asyncio.create_task(gateway.start())

    def stop() -> None:
        if server.should_exit:
            server.force_exit = True
        server.should_exit = True
        starting.cancel()
        gateway.end_feeds()

    with _signals(stop):
        try:
            await starting
        except asyncio.CancelledError:
            return
        try:
            await server.serve(sockets=[bound])
        finally:
            await gateway.close()


@contextlib.contextmanager
def _signals(stop: Callable[[], None]) -> Iterator[None]:
    loop = asyncio.get_running_loop()
    handled = (signal.SIGTERM, signal.SIGINT)
    try:
        for number in handled:
            loop.add_signal_handler(number, stop)
    except NotImplementedError:  # Windows: Ctrl+C interrupts the loop itself
        yield
        return
    try:
        yield
    finally:
        for number in handled:
            loop.remove_signal_handler(number)


def _reason(error: OSError) -> str:
    return (error.strerror or str(error)).lower()
