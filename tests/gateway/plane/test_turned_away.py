"""Requests that the gateway refuses itself leave no record: they are counted by reason, and have a line."""

from __future__ import annotations

import json
import logging
import re
import socket
from typing import TYPE_CHECKING

import pytest

from promptcache_gateway.errors import ApiError, invalid_request
from promptcache_gateway.logs import JsonFormatter
from promptcache_gateway.plane.turned_away import TurnedAway
from promptcache_gateway.settings import Settings, UpstreamSettings
from promptcache_gateway.tenancy import TenantLimits
from tests.gateway.mock_upstream import MockUpstream, wait_until
from tests.gateway.serving import Served, serve

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SECRET = "the caller's own words"
KEY = "sk-operator-0123456789"
BODY = {"model": "m", "messages": [{"role": "user", "content": SECRET}]}


@pytest.fixture
def served(mock: MockUpstream, tmp_path: Path) -> Iterator[Served]:
    settings = Settings(
        upstreams=(UpstreamSettings(url=mock.url, name="u", models=("m",)),),
        tenants={"default": TenantLimits(requests_per_minute=6)},
        api_keys=(KEY,),
        max_body_bytes=5_000,
        max_header_bytes=2_000,
        log_requests=True,
        data_dir=tmp_path,
    )
    with serve(settings) as served:
        yield served


def counted(served: Served) -> dict[str, float]:
    page = served.http.get("/metrics", headers={"authorization": f"Bearer {KEY}"}).text
    found = re.findall(r'^promptcache_refused_requests_total\{reason="(\w+)"\} (\S+)$', page, re.MULTILINE)
    return {reason: float(count) for reason, count in found}


def test_each_is_counted_by_its_reason_and_has_a_line_without_its_text(
    served: Served, mock: MockUpstream, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "promptcache.requests")
    own = {"authorization": f"Bearer {KEY}"}
    answers = [
        served.post(json.dumps(BODY).encode()[:-1], **own),
        served.post(b"[]", **own),
        served.post({**BODY, "model": SECRET}, **own),
        served.post({**BODY, "stream": SECRET}, path="/v1/messages", **own),
        served.post({**BODY, "user": "x" * 5_000}, path="/v1/responses", **own),
        served.post(BODY),
        served.post(BODY, path="/v1/messages", authorization="Bearer sk-nobody"),
        served.post(BODY, path="/v1/embeddings-of-mine", **own),
        served.http.get("/v1/chat/completions", headers=own),
    ]
    assert [answer.status_code for answer in answers] == [400, 400, 404, 400, 413, 401, 401, 404, 405]
    served.post(BODY, **own)
    answers += [served.post(BODY, **own) for _ in range(2)]
    assert {answer.status_code for answer in answers[-2:]} == {429}
    with socket.create_connection(("127.0.0.1", int(served.url.rpartition(":")[2])), timeout=20) as caller:
        caller.sendall(b"POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\nx: " + b"y" * 3_000)
        assert caller.recv(100).startswith(b"HTTP/1.1 431 ")
    reasons = {
        "invalid_json": 1,
        "invalid_request": 1,
        "model_not_found": 1,
        "invalid_type": 1,
        "request_too_large": 1,
        "invalid_api_key": 2,
        "unknown_url": 1,
        "method_not_allowed": 1,
        "rate_limit_exceeded": 2,
        "headers_too_large": 1,
    }
    assert counted(served) == reasons
    assert len(mock.seen) == 1
    data = served.http.get("/promptcache/v1/requests", headers=own).json()["data"]
    assert len(data) == 1, "only what was sent has a record"

    lines = [record for record in caplog.records if "refused" in getattr(record, "fields", {})]
    assert len(lines) == sum(reasons.values())
    told = [json.loads(JsonFormatter().format(line)) for line in lines]
    assert {line["error"] for line in told} == set(reasons)
    by_id = {line["request"]: line for line in told if "request" in line}
    for answer in answers:
        line = by_id[answer.headers["x-promptcache-request-id"]]
        assert line["status"] == answer.status_code
        assert line["api"] == ("anthropic.messages" if "messages" in str(answer.url) else line["api"])
    assert {line.get("tenant") for line in told} == {"default", None}
    for line in lines:
        assert SECRET not in JsonFormatter().format(line) + line.getMessage()
        assert "embeddings-of-mine" not in JsonFormatter().format(line)


def test_one_is_refused_that_finds_too_many_others_and_without_lines_there_are_none(
    mock: MockUpstream, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "promptcache.requests")
    settings = Settings(upstream=UpstreamSettings(url=mock.url), max_requests=1, data_dir=tmp_path)
    with serve(settings) as served:
        head = b"POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-length: 9\r\n\r\n"
        with socket.create_connection(("127.0.0.1", int(served.url.rpartition(":")[2]))) as caller:
            caller.sendall(head)
            wait_until(lambda: served.gateway.traffic().running == 1)
            assert served.post(BODY).status_code == 503
        assert served.gateway.traffic().turned_away == {"overloaded": 1}
    assert not caplog.records


def test_a_reason_without_a_code_is_its_status_s() -> None:
    away = TurnedAway()
    away.note(invalid_request("No."))
    away.note(ApiError(418, "No."))
    away.note(ApiError(503, "No."))
    assert away.counts == {"invalid_request": 1, "http_418": 1, "http_503": 1}
