"""One worker of ``promptcache serve --workers N``: a process that answers requests on the shared socket.

The parent starts it as ``python -m promptcache_gateway.shared.worker`` with the two sockets it inherits, the
path of the control plane's and ``serve``'s own arguments. It ends when it is told to, or when the parent is
gone.
"""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
from functools import partial
from typing import TYPE_CHECKING

from promptcache.cli.stopping import AtOnce
from promptcache_gateway import server
from promptcache_gateway.app import Gateway
from promptcache_gateway.arguments import make_settings, parse_arguments
from promptcache_gateway.cli import CANNOT_START, read_settings, run_loop
from promptcache_gateway.errors import GatewayError
from promptcache_gateway.logs import configure, log_request
from promptcache_gateway.observe.money import Money
from promptcache_gateway.shared.bookkeeper import PeerBookkeeper
from promptcache_gateway.shared.control_proxy import ControlProxy
from promptcache_gateway.shared.crew import HURRY
from promptcache_gateway.shared.frames import Channel, Kind
from promptcache_gateway.shared.link import Link
from promptcache_gateway.shared.observer import PeerObserver
from promptcache_gateway.shared.state import through_redis
from promptcache_gateway.shared.through_parent import ThroughParent
from promptcache_gateway.upstreams import create_switchboard

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from promptcache_gateway.settings import Settings


def main(argv: Sequence[str]) -> int:
    """Serve until told to stop; ``argv``: listening socket, channel, control plane's path, the rest."""
    listening, channel = (socket.socket(fileno=int(number)) for number in argv[:2])
    arguments = parse_arguments(argv[3:])
    try:
        settings = make_settings(arguments)
        configure(settings.log_format, settings.log_level)
        read_again = partial(read_settings, arguments)
        at_once = AtOnce()
        at_once.take()
        try:
            run_loop(_serve(settings, (listening, channel), argv[2], read_again, at_once))
        finally:
            at_once.leave()  # it may be told to hurry to its very end
    except GatewayError as error:
        print(f"promptcache serve: {error}", file=sys.stderr)  # noqa: T201 - a command's own words
        return CANNOT_START
    except KeyboardInterrupt:
        return 0
    return 0


async def _serve(
    settings: Settings,
    sockets: tuple[socket.socket, socket.socket],
    control: str,
    read_again: Callable[[], Settings],
    at_once: AtOnce,
) -> None:
    listening, end = sockets
    channel = await Channel.open(end)
    switchboard = create_switchboard(settings)
    observer = (PeerObserver if settings.diagnosis else PeerBookkeeper)(
        [line.upstream for line in switchboard.lines],
        tell=channel.send,
        listeners=(log_request,) if settings.log_requests else (),
        money=Money(settings.prices.prices.find),
    )
    link = Link(channel, observer)
    proxy = ControlProxy(control)
    peers = ThroughParent(channel, link)
    common = through_redis(settings.shared) or peers
    gateway = Gateway(settings, switchboard, observer, proxy.serving, common)
    gateway.shelf.share(peers)
    observer.onlookers.append(gateway.mutator.watch)
    link.traffic, link.upstreams = gateway.traffic, gateway.upstreams
    listening_to = asyncio.create_task(_listen(link))
    try:
        await link.welcomed()
        at_once.nothing_to_lose = False  # until the parent has heard everything
        told = partial(_ready, channel)
        await server.serve(gateway, settings, listening, told, read_again, hurried_by=[HURRY])
    finally:
        await proxy.close()
        await channel.close()
        listening_to.cancel()


async def _listen(link: Link) -> None:
    await link.listen()
    os.kill(os.getpid(), signal.SIGTERM)  # the parent is gone: end as if it had asked for that


def _ready(channel: Channel) -> None:
    channel.send(Kind.READY)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
