"""What ``/health`` tells: whether requests can be taken, and how each upstream is. It asks no network.

An upstream that failed so often in a row that it is left alone takes no requests until a call may find out
how it is. From then on it counts as unknown, not as failing: were the gateway taken out of service for it,
no call would ever come to find out by. Whether the process itself lives is another question
(``/health/live``), which no upstream has a say in.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import orjson

from promptcache._version import __version__

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from promptcache_gateway.upstreams.base import Upstream
    from promptcache_gateway.upstreams.circuit import Circuit
    from promptcache_gateway.upstreams.switchboard import Line

READY, LIVE = "/health", "/health/live"
PATHS = frozenset({READY, LIVE})
"""The routes that need no key."""


class Health:
    """The answers to both questions.

    Args:
        upstreams: where requests go, as configured when it is asked.
        lines: the same with how each has been lately; where there are none no circuit is known.
        diagnosing: whether requests are looked at; that they are not is told.
    """

    def __init__(
        self,
        upstreams: Sequence[Upstream],
        lines: Callable[[], Iterable[Line]] = lambda: (),
        *,
        diagnosing: bool = True,
    ) -> None:
        self._diagnosing = diagnosing
        self._upstreams = upstreams
        self._lines = lines

    def report(self) -> tuple[int, dict[str, Any]]:
        """Status and body of ``/health``: 503 where no upstream can take requests."""
        circuits = {line.upstream.name: line.circuit for line in self._lines()}
        report = {one.name: _entry(one, circuits.get(one.name)) for one in self._upstreams}
        failing = [name for name, entry in report.items() if entry["ok"] is False]
        ill = failing or [name for name, entry in report.items() if "left_alone" in entry]
        status = "unavailable" if len(failing) == len(report) else "degraded" if ill else "ok"
        body = {"status": status, "version": __version__, "upstreams": report}
        if not self._diagnosing:
            body["diagnosis"] = "off"
        return 503 if status == "unavailable" else 200, body

    def answer(self, path: str, *, names: bool) -> tuple[int, bytes]:
        """Status and body for one of `PATHS`; ``names``: whoever asks may know where requests go."""
        status, said = self.report() if path == READY else live()
        shown = said if names else {name: said[name] for name in ("status", "version")}
        return status, orjson.dumps(shown)


def live() -> tuple[int, dict[str, Any]]:
    """Status and body of ``/health/live``: a process that answers lives, whatever its upstreams do."""
    return 200, {"status": "ok", "version": __version__}


def _entry(upstream: Upstream, circuit: Circuit | None) -> dict[str, Any]:
    """What is told of one upstream; ``ok`` is null where nothing is known, or the next call finds out."""
    entry = dict(upstream.health())
    if circuit is None or not circuit.is_open:
        return entry
    left_alone = {
        "since": round(time.time() - circuit.open_for_s, 3),
        "failures": circuit.failures,
        "next_try_s": round(circuit.probe_in_s, 1),
        "probing": circuit.is_probed,
    }
    due = circuit.probe_in_s == 0 and entry["ok"] is not False
    return {**entry, "ok": None if due else False, "left_alone": left_alone}
