"""Tenants behind one address: each with its key, its limits, its own requests and prefixes."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from promptcache_engine import Engine, EngineConfig
from promptcache_engine.models.testing import tiny_model
from promptcache_gateway.settings import EngineSettings, Settings, UpstreamSettings
from promptcache_gateway.tenancy import TenantLimits
from promptcache_gateway.tenancy.key_file import KeyFile
from promptcache_gateway.upstreams.local import LocalUpstream
from tests.gateway.mock_upstream import MockUpstream, wait_until
from tests.gateway.serving import Served, serve

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

BODY = b'{"model":"m","cache_salt":"mine","messages":[{"role":"user","content":"Hi"}]}'


class Keys:
    """Keys in a folder that a gateway will use."""

    def __init__(self, folder: Path) -> None:
        self.file = KeyFile(folder / "keys.json")
        self.one, _ = self.file.create("one")
        self.two, self.stored_two = self.file.create("two")
        self.admin, _ = self.file.create("boss", admin=True)


@pytest.fixture
def keys(tmp_path: Path) -> Keys:
    return Keys(tmp_path)


@pytest.fixture
def served(mock: MockUpstream, tmp_path: Path, keys: Keys) -> Iterator[Served]:
    settings = Settings(
        upstream=UpstreamSettings(url=mock.url, api_key="sk-up", tenant_salt=True),
        data_dir=tmp_path,
        tenants={"two": TenantLimits(requests_per_minute=2)},
    )
    with serve(settings) as made:
        yield made


def test_a_key_s_tenant_is_recorded_and_the_key_stays_here(
    served: Served, mock: MockUpstream, keys: Keys
) -> None:
    served.post(BODY, authorization=f"Bearer {keys.one}")
    served.post(BODY, x_api_key=keys.two)
    wait_until(lambda: len(mock.seen) == 2)
    assert all(seen.headers["authorization"] == "Bearer sk-up" for seen in mock.seen)
    assert all("pck_" not in str(seen) for seen in mock.seen)
    listed = served.http.get("/promptcache/v1/requests", headers={"x-api-key": keys.admin}).json()["data"]
    assert [row["tenant"] for row in listed] == ["two", "one"]


@pytest.mark.parametrize("path", ["/v1/messages", "/v1/messages/count_tokens", "/v1/chat/completions"])
def test_no_key_no_answer_in_the_api_s_shape(served: Served, mock: MockUpstream, path: str) -> None:
    answer = served.post(BODY, path=path)
    error = answer.json()["error"]
    assert (answer.status_code, error["type"]) == (401, "authentication_error")
    assert ("type" in answer.json()) == path.startswith("/v1/messages")
    assert mock.seen == []


@pytest.mark.parametrize(
    "path", ["/promptcache/v1/costs", "/promptcache/v1/timeline", "/promptcache/v1/events", "/metrics",
             "/dashboard", "/promptcache/v1/openapi.json"]
)  # fmt: skip
def test_what_shows_all_tenants_needs_an_admin_key(served: Served, keys: Keys, path: str) -> None:
    assert served.get(path).status_code == 401
    answer = served.http.get(path, headers={"x-api-key": keys.one})
    assert (answer.status_code, answer.json()["error"]["code"]) == (403, "admin_key_required")
    if not path.endswith("events"):
        assert served.http.get(path, headers={"x-api-key": keys.admin}).status_code == 200


def test_a_tenant_s_limit_is_its_own(served: Served, mock: MockUpstream, keys: Keys) -> None:
    statuses = [served.post(BODY, x_api_key=keys.two) for _ in range(3)]
    assert [answer.status_code for answer in statuses] == [200, 200, 429]
    assert statuses[-1].json()["error"]["code"] == "rate_limit_exceeded"
    assert int(statuses[-1].headers["retry-after"]) in {29, 30}
    assert len(mock.seen) == 2
    assert served.post(BODY, x_api_key=keys.one).status_code == 200


def test_tokens_are_charged(mock: MockUpstream, tmp_path: Path, keys: Keys) -> None:
    limits = {"one": TenantLimits(tokens_per_minute=1000)}  # the scripted answer's usage is 2009
    settings = Settings(upstream=UpstreamSettings(url=mock.url), data_dir=tmp_path, tenants=limits)
    with serve(settings) as served:
        assert served.post(BODY, x_api_key=keys.one).status_code == 200
        wait_until(lambda: served.post(BODY, x_api_key=keys.one).status_code == 429)
        stream = BODY.replace(b'"model"', b'"stream":true,"model"')
        assert served.post(stream, x_api_key=keys.one).status_code == 429
        assert served.post(stream, x_api_key=keys.two).status_code == 200


def test_a_revoked_key_closes(served: Served, keys: Keys) -> None:
    assert served.post(BODY, x_api_key=keys.one).status_code == 200
    keys.file.revoke("one")
    wait_until(lambda: served.post(BODY, x_api_key=keys.one).status_code == 401)


def test_every_tenant_gets_its_own_salt_and_no_other_byte_changes(
    served: Served, mock: MockUpstream, keys: Keys
) -> None:
    served.post(BODY, x_api_key=keys.one)
    served.post(BODY, x_api_key=keys.one)
    served.post(BODY, x_api_key=keys.two)
    salts = [json.loads(seen.body)["cache_salt"] for seen in mock.seen]
    assert salts[0] == salts[1] != salts[2]
    assert "mine" not in salts, "a caller cannot choose it"
    assert mock.seen[0].body == BODY.replace(b"mine", salts[0].encode())


def test_a_key_may_be_asked_for_where_there_is_none(mock: MockUpstream, tmp_path: Path) -> None:
    settings = Settings(upstream=UpstreamSettings(url=mock.url), data_dir=tmp_path, api_key_required=True)
    with serve(settings) as served:
        assert served.post(BODY).status_code == 401
        secret, _ = KeyFile(tmp_path / "keys.json").create("late")
        wait_until(lambda: served.post(BODY, x_api_key=secret).status_code == 200)


def test_what_is_cached_for_others_is_the_admin_s_to_know(tmp_path: Path, keys: Keys) -> None:
    """Two salts are isolated as two tenants are; the engine's count of it must not reach a tenant."""
    engine = Engine.from_loaded(tiny_model(seed=0), EngineConfig(model="tiny", kv_cache_tokens=8192))
    upstream = LocalUpstream(EngineSettings(model="tiny"), engine)
    system = {"role": "system", "content": "A secret that two callers share. " * 12}
    body = {"model": "tiny", "max_tokens": 3, "messages": [system, {"role": "user", "content": "Hi"}]}
    admin = {"x-api-key": keys.admin}
    with serve(Settings(data_dir=tmp_path), upstream=upstream) as served:
        served.post(body, x_api_key=keys.one)
        again = served.post({**body, "cache_salt": "a"}, x_api_key=keys.one, x_promptcache_diagnose="body")
        streamed = served.post({**body, "cache_salt": "b", "stream": True}, x_api_key=keys.one)
        path = f"/promptcache/v1/requests/{again.headers['x-promptcache-request-id']}"
        seen = served.http.get(path, headers=admin).json()
        served.post(body, x_api_key=keys.admin)
        ours = served.post({**body, "cache_salt": "c"}, x_api_key=keys.admin)
        other = served.post(body, x_api_key=keys.two)
    assert seen["diagnosis"]["cause"] == "PC808"
    assert ours.headers["x-promptcache-cause"] == "PC808"
    for answer in (again, streamed, other):
        assert answer.headers["x-promptcache-cause"] == "PC801"
        assert "PC808" not in answer.text + str(answer.headers)
    assert again.json()["promptcache"]["cached_tokens"] == 0
