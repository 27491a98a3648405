"""Keys: who shows one gets in, on every route, and a key of ours never reaches an upstream."""

import base64
from pathlib import Path

import pytest

from promptcache_gateway.settings import Settings, UpstreamSettings
from promptcache_gateway.tenancy.key_file import KeyFile
from tests.gateway.mock_upstream import CHAT_BYTES, MockUpstream, wait_until
from tests.gateway.serving import Served, serve

KEY = "pc-0123456789abcdef"
BODY = {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}


@pytest.fixture
def guarded(mock: MockUpstream, tmp_path):
    upstream = UpstreamSettings(url=f"{mock.url}/v1", api_key="sk-upstream")
    with serve(
        Settings(upstream=upstream, api_keys=("pc-another-key-abcd", KEY), data_dir=tmp_path)
    ) as served:
        yield served


@pytest.mark.parametrize(
    "headers",
    [
        {"authorization": f"Bearer {KEY}"},
        {"authorization": f"bearer  {KEY}"},
        {"x_api_key": KEY},
        {"authorization": "Basic " + base64.b64encode(f"any:{KEY}".encode()).decode()},
    ],
)
def test_a_key_opens_and_stays_here(guarded: Served, mock: MockUpstream, headers: dict[str, str]) -> None:
    assert guarded.post(BODY, **headers).content == CHAT_BYTES
    assert mock.last.headers["authorization"] == "Bearer sk-upstream"
    assert KEY not in str(mock.last)


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"authorization": f"Bearer {KEY[:-1]}"},
        {"authorization": KEY},
        {"authorization": "Basic !!!"},
        {"authorization": "Basic " + base64.b64encode(KEY.encode()).decode()},
        {"x_api_key": ""},
    ],
)
def test_no_key_no_answer(guarded: Served, mock: MockUpstream, headers: dict[str, str]) -> None:
    answer = guarded.post(BODY, **headers)
    assert answer.status_code == 401
    assert answer.json()["error"]["code"] == "invalid_api_key"
    assert mock.seen == []


@pytest.mark.parametrize(
    "path", ["/v1/models", "/promptcache/v1/requests", "/promptcache/v1/templates", "/metrics", "/dashboard"]
)
def test_every_route_but_health_asks_for_a_key(guarded: Served, path: str) -> None:
    assert guarded.get(path).status_code == 401
    assert guarded.http.get(path, headers={"x-api-key": KEY}).status_code == 200
    assert guarded.get("/health").status_code == 200


def test_health_names_upstreams_to_admins_only(guarded: Served, mock: MockUpstream, tmp_path: Path) -> None:
    key, _ = KeyFile(tmp_path / "keys.json").create("team")
    wait_until(lambda: guarded.http.get("/v1/models", headers={"x-api-key": key}).status_code == 200)
    for headers in ({}, {"x-api-key": "wrong" * 5}, {"x-api-key": key}):
        answer = guarded.http.get("/health", headers=headers)
        assert (answer.status_code, set(answer.json())) == (200, {"status", "version"})
        assert mock.url not in answer.text
    shown = guarded.http.get("/health", headers={"x-api-key": KEY}).json()
    assert mock.url in str(shown["upstreams"])
    assert guarded.http.head("/health").status_code == 200
    assert guarded.http.delete("/health").status_code == 401


def test_a_browser_is_asked_for_a_password(guarded: Served) -> None:
    assert guarded.get("/dashboard").headers["www-authenticate"].startswith("Basic")


def test_without_keys_the_caller_s_own_credentials_pass(proxied: Served, mock: MockUpstream) -> None:
    proxied.post(BODY, authorization="Bearer sk-caller")
    assert mock.last.headers["authorization"] == "Bearer sk-caller"
