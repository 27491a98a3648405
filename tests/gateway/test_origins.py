"""Whom the gateway answers: a page of another site, or another site's name that leads here, it does not."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import openai
import pytest

from promptcache_gateway.settings import Settings, UpstreamSettings
from tests.gateway.mock_upstream import CHAT_BYTES, MockUpstream
from tests.gateway.serving import Served, serve

BODY = {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}
KEY = "pc-0123456789abcdef"
PATHS = ["/v1/models", "/health", "/metrics", "/dashboard", "/promptcache/v1/templates"]
FOREIGN = ["evil.example", "evil.example:{port}", "localhost.evil.example", "192.168.1.9", "@", ":80"]

OWN = ["localhost", "LOCALHOST:{port}", "127.0.0.1", "127.9.9.9:1", "[::1]:{port}"]


def port(served: Served) -> str:
    return served.url.rpartition(":")[2]


def refused(answer, code: str) -> None:
    assert answer.status_code == 403, answer.text
    error = answer.json()["error"]
    assert set(error) == {"message", "type", "param", "code"}
    assert (error["type"], error["code"]) == ("permission_error", code)
    assert "--allowed-host" in error["message"]


@pytest.mark.parametrize("host", FOREIGN)
def test_a_foreign_name_that_leads_here_is_not_answered(
    proxied: Served, mock: MockUpstream, host: str
) -> None:
    named = host.format(port=port(proxied))
    for path in PATHS:
        refused(proxied.http.get(path, headers={"host": named}), "host_not_allowed")
    refused(proxied.post(BODY, host=named), "host_not_allowed")
    assert mock.seen == []


@pytest.mark.parametrize(
    "host", ["localhost", "LOCALHOST:{port}", "127.0.0.1", "127.9.9.9:1", "[::1]:{port}"]
)
def test_this_machine_s_own_names_are_answered(proxied: Served, host: str) -> None:
    named = host.format(port=port(proxied))
    assert proxied.post(BODY, host=named).content == CHAT_BYTES
    assert proxied.http.get("/dashboard", headers={"host": named}).status_code == 200


@pytest.mark.parametrize(
    "origin",
    ["http://evil.example", "null", "http://localhost:3000", "https://127.0.0.1", "garbage", "http://[x"],
)
def test_another_site_s_page_may_not_call(proxied: Served, mock: MockUpstream, origin: str) -> None:
    for path in ("/v1/chat/completions", "/promptcache/v1/cache/reset", "/promptcache/v1/cache/warm"):
        refused(proxied.post(BODY, path=path, origin=origin, content_type="text/plain"), "cross_origin")
    for path in ("/promptcache/v1/requests", "/promptcache/v1/events", "/metrics"):
        refused(proxied.http.get(path, headers={"origin": origin}), "cross_origin")
    assert mock.seen == []


def test_a_request_that_hides_its_page_is_told_by_the_browser(proxied: Served) -> None:
    headers = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors"}
    refused(proxied.http.get("/promptcache/v1/templates", headers=headers), "cross_origin")
    link = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}
    assert proxied.http.get("/promptcache/v1/templates", headers=link).status_code == 200
    assert proxied.http.get("/dashboard", headers=headers).status_code == 200


def test_the_gateway_s_own_pages_may_call(proxied: Served) -> None:
    own = {"origin": proxied.url, "sec_fetch_site": "same-origin"}
    assert proxied.post(BODY, **own).content == CHAT_BYTES
    reset = proxied.post(BODY, path="/promptcache/v1/cache/reset", **own)
    assert (reset.status_code, reset.json()["error"]["code"]) == (400, "unsupported")


def test_real_clients_are_unaffected(proxied: Served) -> None:
    with openai.OpenAI(base_url=f"http://localhost:{port(proxied)}/v1", api_key="k", max_retries=0) as client:
        assert client.chat.completions.create(**BODY).id == "chatcmpl-mock"
    curl = ["curl", "-s", f"{proxied.url}/v1/chat/completions", "-d", '{"model":"m","messages":[]}']
    assert subprocess.run(curl, capture_output=True, check=True).stdout == CHAT_BYTES


@pytest.fixture
def named(mock: MockUpstream, tmp_path: Path) -> Iterator[Served]:
    upstream = UpstreamSettings(url=mock.url)
    with serve(Settings(upstream=upstream, data_dir=tmp_path, allowed_hosts=("Gateway.example",))) as served:
        yield served


def test_further_names_are_configured(named: Served) -> None:
    assert named.post(BODY, host="gateway.example:443").content == CHAT_BYTES
    assert named.post(BODY, origin="https://gateway.example").content == CHAT_BYTES
    refused(named.post(BODY, host="other.example"), "host_not_allowed")
    refused(named.post(BODY, origin="https://other.example"), "cross_origin")


def test_with_keys_any_name_is_answered_and_a_foreign_page_is_not(mock: MockUpstream, tmp_path: Path) -> None:
    upstream = UpstreamSettings(url=mock.url)
    with serve(Settings(upstream=upstream, data_dir=tmp_path, api_keys=(KEY,))) as served:
        assert served.post(BODY, host="any.example", x_api_key=KEY).content == CHAT_BYTES
        refused(served.post(BODY, origin="http://evil.example", x_api_key=KEY), "cross_origin")
