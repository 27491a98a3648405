"""Workers of one gateway: whichever takes the next turn knows the one before, wherever it is kept."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from tests.gateway.mock_upstream import answer_chat, mock_upstream, wait_until
from tests.gateway.shared.processes import Crewed, crew

if TYPE_CHECKING:
    from pathlib import Path

SECRET = "zebra-quartz-violin"


def respond(served: Crewed, text: str, previous: str | None = None) -> dict[str, Any]:
    """A response on a connection of its own, so that any worker may answer."""
    body = {"model": "m", "input": text, **({} if previous is None else {"previous_response_id": previous})}
    answer = httpx.post(f"{served.url}/v1/responses", json=body, timeout=30)
    assert answer.status_code == 200, answer.text
    told: dict[str, Any] = answer.json()
    return told


def statuses(served: Crewed, name: str) -> set[int]:
    """What asking for a response is answered, at once and at any worker."""
    with ThreadPoolExecutor(6) as at_once:
        return set(at_once.map(lambda _: served.get(f"/v1/responses/{name}").status_code, range(6)))


@pytest.mark.parametrize("place", ["memory", "database"])
def test_a_conversation_goes_on_at_any_worker(tmp_path: Path, place: str) -> None:
    config = tmp_path / "promptcache.toml"
    with mock_upstream(answer_chat) as mock:
        config.write_text(
            f'[upstreams.one]\nurl = "{mock.url}"\napis = ["chat"]\n[responses]\nkeep = "{place}"\n'
        )
        with crew(tmp_path, "--config", config) as served:
            root = name = respond(served, SECRET)["id"]
            for turn in range(12):
                name = respond(served, f"turn {turn}", name)["id"]
            said = [one["content"] for one in json.loads(mock.last.body)["messages"] if one["role"] == "user"]
            assert said == [SECRET, *(f"turn {turn}" for turn in range(12))]
            assert statuses(served, name) == {200}
            assert httpx.delete(f"{served.url}/v1/responses/{root}").json()["deleted"] is True
            wait_until(lambda: statuses(served, root) == {404})
            httpx.delete(f"{served.url}/promptcache/v1/tenants/default", timeout=30).raise_for_status()
            wait_until(lambda: statuses(served, name) == {404})
    files = [file.read_bytes() for file in (tmp_path / "data").rglob("*") if file.is_file()]
    assert files
    assert not any(SECRET.encode() in data for data in files)
