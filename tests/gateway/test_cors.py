"""Pages of origins the operator named may use the model APIs; the admin API stays closed to them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from promptcache_gateway.errors import SettingsError
from promptcache_gateway.settings import Settings, UpstreamSettings
from tests.gateway.serving import serve

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.gateway.mock_upstream import MockUpstream
    from tests.gateway.serving import Served

APP = "https://app.example"
BODY = {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}


@pytest.fixture
def open_to_app(mock: MockUpstream, tmp_path: Path) -> Iterator[Served]:
    upstream = UpstreamSettings(url=mock.url)
    with serve(Settings(upstream=upstream, data_dir=tmp_path, cors_origins=(APP,))) as served:
        yield served


def ask_first(served: Served, origin: str, path: str = "/v1/chat/completions"):
    headers = {
        "origin": origin,
        "access-control-request-method": "POST",
        "access-control-request-headers": "authorization,content-type",
    }
    return served.http.options(path, headers=headers)


def test_a_named_page_asks_and_calls(open_to_app: Served) -> None:
    allowed = ask_first(open_to_app, APP)
    assert allowed.status_code == 204
    assert allowed.headers["access-control-allow-origin"] == APP
    assert "POST" in allowed.headers["access-control-allow-methods"]
    assert allowed.headers["access-control-allow-headers"] == "authorization,content-type"
    assert "access-control-allow-credentials" not in allowed.headers

    for body in (BODY, {**BODY, "stream": True}, {**BODY, "stream": 3}):
        answer = open_to_app.post(body, origin=APP)
        assert answer.headers["access-control-allow-origin"] == APP
        exposed = answer.headers["access-control-expose-headers"].split(", ")
        assert {"x-promptcache-cause", "x-promptcache-mutations", "retry-after"} <= set(exposed)
        assert "origin" in answer.headers["vary"]


def test_another_page_is_told_nothing_and_refused(open_to_app: Served) -> None:
    for origin in ("https://evil.example", "https://app.example.evil", "null"):
        assert "access-control-allow-origin" not in ask_first(open_to_app, origin).headers
        refused = open_to_app.post(BODY, origin=origin)
        assert refused.status_code == 403
        assert "--cors-origin" in refused.json()["error"]["message"]
        assert "access-control-allow-origin" not in refused.headers


def test_the_admin_api_stays_closed(open_to_app: Served) -> None:
    for path in ("/promptcache/v1/requests", "/metrics"):
        answer = open_to_app.http.get(path, headers={"origin": APP})
        assert answer.status_code == 403
        assert "access-control-allow-origin" not in answer.headers


def test_without_the_setting_nothing_is_said(proxied: Served) -> None:
    assert "access-control-allow-origin" not in ask_first(proxied, APP).headers
    assert "access-control-allow-origin" not in proxied.post(BODY).headers


def test_an_upstreams_own_permission_is_replaced(open_to_app: Served, mock: MockUpstream) -> None:
    async def lavish(wire) -> None:
        await wire.respond(b"{}", headers=("access-control-allow-origin: *",))

    mock.script = lavish
    answer = open_to_app.post(BODY, origin=APP)
    assert answer.headers.get_list("access-control-allow-origin") == [APP]


def test_any_page_needs_keys() -> None:
    with pytest.raises(SettingsError, match="no key is asked for"):
        Settings(cors_origins=("*",))
    Settings(cors_origins=("*",), api_keys=("0123456789abcdef",))


@pytest.mark.parametrize(
    "origin", ["app.example", "https://app.example/", "https://App.example", "ftp://x", ""]
)
def test_what_is_no_origin_is_refused(origin: str) -> None:
    with pytest.raises(SettingsError, match="is no origin"):
        Settings(cors_origins=(origin,))
