"""An address on loopback that takes what is posted to it."""

from __future__ import annotations

import http.server
import json
import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass
class Listening:
    """The address, and what came."""

    url: str
    taken: list[dict[str, Any]] = field(default_factory=list)


@contextmanager
def listening() -> Iterator[Listening]:
    """Take posts until the block ends."""
    found = Listening("")

    class Taker(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            found.taken.append(json.loads(self.rfile.read(int(self.headers["content-length"]))))
            self.send_response(204)
            self.end_headers()

        def log_message(self, *args: object) -> None: ...

    server = http.server.HTTPServer(("127.0.0.1", 0), Taker)
    found.url = f"http://127.0.0.1:{server.server_port}/alerts"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield found
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
