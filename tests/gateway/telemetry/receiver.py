"""A collector on loopback: what is posted to it in OTLP, decoded."""

from __future__ import annotations

import gzip
import http.server
import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass
class Receiver:
    """The address, and the spans that came, as plain values."""

    url: str = ""
    paths: list[str] = field(default_factory=list)
    spans: list[dict[str, Any]] = field(default_factory=list)
    resources: list[dict[str, Any]] = field(default_factory=list)

    def take(self, path: str, body: bytes) -> None:
        self.paths.append(path)
        for group in ExportTraceServiceRequest.FromString(body).resource_spans:
            self.resources.append(_plain(group.resource.attributes))
            for scope in group.scope_spans:
                self.spans += [
                    {"name": span.name, "span": span, "attributes": _plain(span.attributes)}
                    for span in scope.spans
                ]


def _plain(pairs: Any) -> dict[str, Any]:
    return {pair.key: _value(pair.value) for pair in pairs}


def _value(value: Any) -> Any:
    kind = value.WhichOneof("value")
    found = getattr(value, kind)
    return [_value(item) for item in found.values] if kind == "array_value" else found


@contextmanager
def receiver() -> Iterator[Receiver]:
    """Take spans until the block ends."""
    found = Receiver()

    class Taker(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            packed = self.headers.get("content-encoding") == "gzip"
            found.take(self.path, gzip.decompress(body) if packed else body)
            self.send_response(200)
            self.send_header("content-type", "application/x-protobuf")
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, *args: object) -> None: ...

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Taker)
    found.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield found
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
