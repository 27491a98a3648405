"""What becomes of a foreign server's failures: whether it is safe to ask again."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from promptcache_gateway.errors import ApiError
from promptcache_gateway.settings import UpstreamSettings
from promptcache_gateway.upstreams.http_server import HttpServer

if TYPE_CHECKING:
    from tests.gateway.mock_upstream import MockUpstream, Wire


@pytest.mark.parametrize(
    ("said", "method", "again"), [(b"", "POST", True), (b"HTTP", "POST", False), (b"HTTP", "GET", True)]
)
async def test_when_it_is_safe_to_ask_again(
    mock: MockUpstream, said: bytes, method: str, again: bool
) -> None:
    async def breaks_off(wire: Wire) -> None:
        await wire.send(said)
        wire.writer.close()

    mock.script = breaks_off
    server = HttpServer(UpstreamSettings(url=mock.url), "theirs", mock.url)
    await server.start()
    try:
        with pytest.raises(ApiError, match="The upstream theirs") as caught:
            await server.request(method, "/v1/models", b"", {}, None)
    finally:
        await server.close()
    assert (caught.value.status, caught.value.unanswered) == (502, again)
