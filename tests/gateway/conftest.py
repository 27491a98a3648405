"""What the gateway's tests share: a scripted upstream, and a gateway in front of it on a real socket."""

from __future__ import annotations

from typing import TYPE_CHECKING

import openai
import pytest

from promptcache_gateway.settings import Settings, UpstreamSettings
from tests.gateway.mock_upstream import answer_chat, mock_upstream
from tests.gateway.serving import serve

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.gateway.mock_upstream import MockUpstream
    from tests.gateway.serving import Served


@pytest.fixture
def mock() -> Iterator[MockUpstream]:
    """An upstream that answers chats as OpenAI does until a test gives it another script."""
    with mock_upstream(answer_chat) as server:
        yield server


@pytest.fixture
def proxied(mock: MockUpstream, tmp_path: Path) -> Iterator[Served]:
    """A gateway in front of the scripted upstream."""
    upstream = UpstreamSettings(url=mock.url)
    with serve(Settings(upstream=upstream, data_dir=tmp_path, max_body_bytes=1_000_000)) as served:
        yield served


@pytest.fixture
def impatient(mock: MockUpstream, tmp_path: Path) -> Iterator[Served]:
    """The same, but it waits half a second for the upstream and no longer."""
    upstream = UpstreamSettings(url=mock.url, read_timeout_s=0.5)
    with serve(Settings(upstream=upstream, data_dir=tmp_path)) as served:
        yield served


@pytest.fixture
def client(proxied: Served) -> Iterator[openai.OpenAI]:
    """The real client against the gateway."""
    with openai.OpenAI(base_url=f"{proxied.url}/v1", api_key="sk-caller", max_retries=0, timeout=20) as made:
        yield made
