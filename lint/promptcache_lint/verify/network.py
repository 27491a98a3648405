"""No network: every attempt to connect or to look a name up is refused and remembered."""

from __future__ import annotations

import socket
from typing import Any, NoReturn

__all__ = ["Network", "NetworkRefusedError"]


class NetworkRefusedError(ConnectionRefusedError):
    """The code under test reached for the network."""


class Network:
    """Refuses; ``asked_for`` lists what was reached for."""

    def __init__(self) -> None:
        self.asked_for: list[str] = []

    def install(self) -> None:
        """Replace what opens connections, for the rest of the process."""

        def connect(_: socket.socket, address: Any) -> NoReturn:
            self._refuse(address)

        def create_connection(address: Any, *_: Any, **__: Any) -> NoReturn:
            self._refuse(address)

        def look_up(host: Any, *_: Any, **__: Any) -> NoReturn:
            self._refuse(host)

        put: list[tuple[Any, str, Any]] = [
            (socket.socket, "connect", connect),
            (socket.socket, "connect_ex", connect),
            (socket, "create_connection", create_connection),
            *((socket, name, look_up) for name in ("getaddrinfo", "gethostbyname", "gethostbyname_ex")),
            (socket, "gethostbyaddr", look_up),
        ]
        for place, name, function in put:
            setattr(place, name, function)

    def _refuse(self, address: Any) -> NoReturn:
        host = address[0] if isinstance(address, tuple) and address else address
        shown = host.decode("ascii", "replace") if isinstance(host, bytes) else str(host)
        self.asked_for.append(shown)
        raise NetworkRefusedError(111, f"promptcache verify makes no network calls ({shown})")
