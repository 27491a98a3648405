"""An upstream that calls its failure what the gateway calls one of its own is blamed for it all the same."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from promptcache_gateway.settings import Settings, UpstreamSettings
from tests.gateway.serving import serve

if TYPE_CHECKING:
    from pathlib import Path

    from tests.gateway.mock_upstream import MockUpstream, Wire

ASKED = {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}
SAID = {"internal_error": "server_error", "shutting_down": None, "overloaded": "overloaded_error"}


def script(error: dict[str, str | None], *, whole: bool):
    body = json.dumps({"error": error}).encode()

    async def answer(wire: Wire) -> None:
        if whole:
            await wire.respond(body, status="500 Internal Server Error")
        else:
            await wire.events(b'data: {"choices": []}\n\n', b"data: " + body + b"\n\n")

    return answer


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("code", SAID)
def test_what_an_upstream_says_is_not_the_gateway_s(
    mock: MockUpstream, tmp_path: Path, code: str, whole: bool
) -> None:
    mock.script = script({"message": "boom", "type": SAID[code], "code": code}, whole=whole)
    upstream = UpstreamSettings(url=mock.url, name="u", retries=0)
    with serve(Settings(upstreams=(upstream,), data_dir=tmp_path)) as served:
        answer = served.post({**ASKED, "stream": not whole})
        record = served.record(answer)
    assert code in answer.text, "the caller gets its bytes"
    assert record["error"] == (SAID[code] or ("upstream_500" if whole else "upstream_error"))
    assert record["failure"]["whose"] == "upstream"
