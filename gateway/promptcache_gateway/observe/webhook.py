"""Posts alerts as JSON to an address of the operator's choice, from a thread that nothing waits for.

What the receiver does not take is posted again, later and later, and given up after `RETRY_S` seconds. No
answer of a receiver, an HTTP one or not, ends the thread. What is given up, or does not fit, is counted and
logged by kind and template, with what the receiver said. The address, which may hold a secret, is not logged,
and an alert holds names, codes and counts, no text of a prompt.
"""

from __future__ import annotations

import heapq
import http.client
import json
import logging
import socket
import threading
import time
import urllib.error
import urllib.request
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

RETRY_S = 900.0
"""How long an alert is posted again for, in seconds."""

_CAPACITY = 64
_TIMEOUT_S = 5.0
_PAUSES_S = (1.0, 4.0, 16.0, 64.0, 256.0, 512.0)  # together less than RETRY_S
_log = logging.getLogger(__name__)

_LEFT = float("inf")
"""When an alert is due that was posted once more while the thread ends."""


@dataclass(order=True, slots=True)
class _Waiting:
    """An alert that has not been taken yet; the one that is due first comes first."""

    due: float
    number: int
    body: bytes = field(compare=False)
    about: str = field(compare=False)
    since: float = field(compare=False)
    failures: int = field(default=0, compare=False)


class Webhook:
    """One address. Safe to post to from any thread.

    Args:
        url: where alerts are posted; http or https, as `alert_settings` has seen to.
        send: posts a body to an address and raises where it is not taken.
        clock: seconds that never go back.

    Attributes:
        dropped: alerts that nobody took.
    """

    def __init__(
        self,
        url: str,
        *,
        send: Callable[[str, bytes], None] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._url = url
        self._send = send or _post
        self._clock = clock
        self._changed = threading.Condition()
        self._waiting: list[_Waiting] = []
        self._number = 0
        self._ending = self._ended = False
        self._thread: threading.Thread | None = None
        self._successor: Webhook | None = None
        self.dropped = 0

    def start(self) -> None:
        """Start the thread, also where it ended though nobody stopped it."""
        if self._thread is None or not self._thread.is_alive():
            self._ending = self._ended = False
            self._thread = threading.Thread(target=self._run, name="promptcache-alerts", daemon=True)
            self._thread.start()

    def stop(self, successor: Webhook | None = None) -> None:
        """Post what waits once more, within the time one post may take, and end the thread.

        Args:
            successor: takes what was not taken; None: it is dropped.
        """
        if self._thread is not None:
            with self._changed:
                self._ending = True
                self._changed.notify()
            self._thread.join(_TIMEOUT_S)
            self._thread = None
        with self._changed:
            self._ended, self._successor = True, successor
            left, self._waiting = self._waiting, []
        for waiting in sorted(left):
            self._leave(waiting, "the gateway stops")

    def post(self, alert: Mapping[str, Any]) -> None:
        """Queue an alert; never waits."""
        about = f"{alert.get('kind', '')} of {alert.get('template') or alert.get('tenant') or 'the gateway'}"
        self.queue(json.dumps(dict(alert)).encode(), about)
        if self._thread is not None and not self._ending:
            self.start()

    def queue(self, body: bytes, about: str) -> None:
        """Queue a body; ``about`` is what the log calls it."""
        now = self._clock()
        with self._changed:
            fits = len(self._waiting) < _CAPACITY
            if fits:
                self._number += 1
                heapq.heappush(self._waiting, _Waiting(now, self._number, body, about, now))
                self._changed.notify()
        if not fits:
            self._drop(about, f"{_CAPACITY} wait already")

    def _run(self) -> None:
        while (waiting := self._next()) is not None:
            try:
                self._send(self._url, waiting.body)
            except Exception as error:  # noqa: BLE001 - whatever a receiver says, the next alert is posted
                self._put_off(waiting, told(error))

    def _next(self) -> _Waiting | None:
        """The alert that is due, waited for; while it ends each once, and None behind the last."""
        with self._changed:
            while True:
                due = self._waiting[0].due - self._clock() if self._waiting else None
                if self._ending:
                    fresh = [one for one in self._waiting if one.due != _LEFT]
                    if not fresh:
                        return None
                    return self._take(min(fresh))
                if due is not None and due <= 0:
                    return heapq.heappop(self._waiting)
                self._changed.wait(due)

    def _take(self, waiting: _Waiting) -> _Waiting:
        self._waiting.remove(waiting)
        heapq.heapify(self._waiting)
        return waiting

    def _put_off(self, waiting: _Waiting, why: str) -> None:
        """Post it again later, or give it up."""
        now = self._clock()
        pause = _PAUSES_S[min(waiting.failures, len(_PAUSES_S) - 1)]
        waiting.failures += 1
        last = waiting.failures > len(_PAUSES_S) or now + pause - waiting.since > RETRY_S
        with self._changed:
            ending, ended = self._ending, self._ended
            kept = not ended and (ending or not last)
            if kept:
                waiting.due = _LEFT if ending else now + pause
                heapq.heappush(self._waiting, waiting)
        if not kept:
            self._leave(waiting, why)
        elif not ending:
            _log.warning("alert: %s was not taken: %s; again in %d s", _clean(waiting.about), why, pause)

    def _leave(self, waiting: _Waiting, why: str) -> None:
        """Have the one that comes after this take it, where there is one."""
        if self._successor is None:
            self._drop(waiting.about, why)
        else:
            self._successor.queue(waiting.body, waiting.about)

    def _drop(self, about: str, why: str) -> None:
        with self._changed:
            self.dropped += 1
        _log.warning("alert: %s is lost to the webhook: %s", _clean(about), why)


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Leaves an answer that names another address as it is: a POST would be followed by a GET without it."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None


class _Plain(http.client.HTTPConnection):
    def connect(self) -> None:
        super().connect()
        _hang_up_later(self.sock)


class _Secure(http.client.HTTPSConnection):
    def connect(self) -> None:
        super().connect()
        _hang_up_later(self.sock)


class _Hurried(urllib.request.HTTPHandler, urllib.request.HTTPSHandler):
    """Hangs up on who answers a byte now and then: a socket's own time begins anew with each."""

    def http_open(self, req: urllib.request.Request) -> http.client.HTTPResponse:
        return self.do_open(_Plain, req)

    def https_open(self, req: urllib.request.Request) -> http.client.HTTPResponse:
        return self.do_open(_Secure, req)


def _hang_up_later(connected: socket.socket) -> None:
    def hang_up() -> None:
        with suppress(OSError):
            connected.shutdown(socket.SHUT_RDWR)

    timer = threading.Timer(1.2 * _TIMEOUT_S, hang_up)  # behind the socket's own time, which says what it is
    timer.daemon = True
    timer.start()


def _post(url: str, body: bytes) -> None:
    headers = {"content-type": "application/json"}
    request = urllib.request.Request(url, body, headers, method="POST")  # noqa: S310 - http or https, see alert_settings
    with urllib.request.build_opener(_NoRedirects, _Hurried).open(request, timeout=_TIMEOUT_S):
        pass


def told(error: Exception) -> str:
    """What a receiver said, without its words: they may repeat the address."""
    if isinstance(error, urllib.error.HTTPError):
        error.close()
        return f"HTTP {error.code}" + (", and no redirect is followed" if 300 <= error.code < 400 else "")
    if isinstance(error, urllib.error.URLError) and isinstance(error.reason, Exception):
        error = error.reason
    return "no answer in time" if isinstance(error, TimeoutError) else f"no answer ({type(error).__name__})"


def _clean(about: str) -> str:
    """Names are the callers': one line of the log, and no longer than a name may be."""
    return "".join(letter if letter.isprintable() else "?" for letter in about[:160])
