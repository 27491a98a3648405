"""The webhook: whatever a receiver answers, alerts go on, are posted again, and what is lost is counted."""

from __future__ import annotations

import http.client
import json
import logging
import socket
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from promptcache_gateway.alert_settings import AlertSettings
from promptcache_gateway.observe import Journal, webhook
from promptcache_gateway.observe.alerts import Alerts
from promptcache_gateway.observe.webhook import Webhook
from tests.gateway.observe.hooks import listening
from tests.gateway.store.records import miss, record

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SOON = (0.01,) * 6
TAKEN = b"HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n"
ANSWERS = {
    "garbage": (b"hello, this is no HTTP\r\n\r\n", "no answer (BadStatusLine)"),
    "a long line": (b"HTTP/1.1 200 OK\r\nA: " + b"a" * 70_000 + b"\r\n\r\n", "no answer (LineTooLong)"),
    "refused": (b"HTTP/1.1 500 Oops\r\ncontent-length: 0\r\n\r\n", "HTTP 500"),
    "closed": (b"", "no answer (RemoteDisconnected)"),
    "elsewhere": (
        b"HTTP/1.1 302 Found\r\nlocation: /other\r\ncontent-length: 0\r\n\r\n",
        "HTTP 302, and no redirect is followed",
    ),
}


class Receiver:
    """Takes posts and answers each of the first with the next of some answers, then takes all."""

    def __init__(self, answers: list[bytes]) -> None:
        self.answers = answers
        self.lines: list[str] = []
        self.kinds: list[str] = []
        self.done = threading.Semaphore(0)
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}/secret"
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def close(self) -> None:
        with socket.create_connection(self._socket.getsockname()):
            pass  # wakes it: nothing is sent
        self._thread.join()
        self._socket.close()

    def _serve(self) -> None:
        while True:
            peer, _ = self._socket.accept()
            with peer, peer.makefile("rb") as sent:
                first = sent.readline().decode()
                if not first:
                    return
                size = 0
                while (line := sent.readline().strip()) != b"":
                    if line.lower().startswith(b"content-length:"):
                        size = int(line.split(b":")[1])
                self.lines.append(first.split(" HTTP")[0])
                self.kinds.append(json.loads(sent.read(size))["kind"])
                peer.sendall(self.answers.pop(0) if self.answers else TAKEN)
            self.done.release()

    def wait(self, posts: int) -> None:
        for _ in range(posts):
            assert self.done.acquire(timeout=10)


@contextmanager
def receiver(*answers: bytes) -> Iterator[Receiver]:
    found = Receiver(list(answers))
    try:
        yield found
    finally:
        found.close()


@pytest.mark.parametrize("answer", ANSWERS)
def test_what_is_not_taken_is_posted_again(
    answer: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(webhook, "_PAUSES_S", SOON)
    sent, why = ANSWERS[answer]
    with receiver(sent, sent) as found, caplog.at_level(logging.WARNING):
        hook = Webhook(found.url)
        hook.start()
        hook.post({"kind": "regression", "template": "support\n"})
        found.wait(3)
        hook.post({"kind": "loss", "template": "support"})
        found.wait(1)
        hook.stop()
    assert found.kinds == ["regression"] * 3 + ["loss"]
    assert set(found.lines) == {"POST /secret"}
    assert hook.dropped == 0
    assert [one.getMessage() for one in caplog.records] == [
        f"alert: regression of support? was not taken: {why}; again in 0 s"
    ] * 2


def test_who_never_takes_it_is_left_in_the_end(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(webhook, "_PAUSES_S", SOON)
    tries: list[bytes] = []
    given_up = threading.Event()

    def refuse(url: str, body: bytes) -> None:
        tries.append(body)
        if len(tries) == 7:
            given_up.set()
        raise ValueError(url)

    with caplog.at_level(logging.WARNING):
        hook = Webhook("http://127.0.0.1:9/secret", send=refuse)
        hook.start()
        hook.post({"kind": "budget", "template": "", "tenant": "shop"})
        assert given_up.wait(10)
        hook.stop()
    assert (len(tries), hook.dropped) == (7, 1)
    assert caplog.messages[-1] == "alert: budget of shop is lost to the webhook: no answer (ValueError)"
    assert "secret" not in caplog.text


def test_the_pauses_end_within_the_stated_time() -> None:
    assert sum(webhook._PAUSES_S) + len(webhook._PAUSES_S) * webhook._TIMEOUT_S <= webhook.RETRY_S


def test_who_answers_byte_by_byte_is_hung_up_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(webhook, "_TIMEOUT_S", 0.2)
    ended = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as server:

        def drip() -> None:
            peer, _ = server.accept()
            with peer:
                peer.recv(65_536)
                try:
                    while not ended.wait(0.05):
                        peer.sendall(b"H")
                except OSError:
                    return

        thread = threading.Thread(target=drip)
        thread.start()
        try:
            with pytest.raises((OSError, http.client.HTTPException)) as raised:
                webhook._post(f"http://127.0.0.1:{server.getsockname()[1]}/", b"{}")
        finally:
            ended.set()
            thread.join()
    assert webhook.told(raised.value).startswith("no answer (")


def test_another_address_takes_what_the_first_did_not() -> None:
    with receiver(*[ANSWERS["refused"][0]] * 2) as first, listening() as second:
        alerts = Alerts(AlertSettings(webhook=first.url), lambda _: None)
        alerts.start()
        alerts.watch(record(miss("PC101")))
        first.wait(1)
        alerts.renew(AlertSettings(webhook=second.url))
        alerts.stop()
    assert [alert["cause"] for alert in second.taken] == ["PC101"]
    assert alerts.dropped == 0


def test_what_is_lost_is_a_series(tmp_path: Path) -> None:
    with receiver(*[ANSWERS["refused"][0]] * 2) as found:
        journal = Journal(tmp_path / "p.db", AlertSettings(webhook=found.url))
        journal.alerts.start()
        journal.record(record(miss("PC101")))
        journal.alerts.stop()
        assert journal.alerts.dropped == 1
        journal.alerts.renew(AlertSettings())
    assert "promptcache_alerts_dropped_total 1.0" in journal.metrics.render().decode()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_thread_that_ended_is_started_again() -> None:
    taken: list[Any] = []

    def send(url: str, body: bytes) -> None:
        taken.append(body)
        if len(taken) == 1:
            raise SystemExit  # what nobody expects of a receiver

    hook = Webhook("http://127.0.0.1:9/", send=send)
    hook.start()
    hook.post({"kind": "loss"})
    assert hook._thread is not None
    hook._thread.join(10)
    hook.post({"kind": "loss"})
    hook.stop()
    assert len(taken) == 2


def test_too_many_alerts_are_let_go() -> None:
    hook = Webhook("http://127.0.0.1:9/")
    for _ in range(100):
        hook.post({})
    assert hook.dropped == 36
