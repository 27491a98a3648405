"""The OpenAPI description, tried out: no request that it allows, or nearly, makes the gateway fail."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from promptcache_gateway.settings import Settings, UpstreamSettings
from tests.gateway.mock_upstream import answer_chat, mock_upstream
from tests.gateway.serving import serve

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.gateway.serving import Served

schemathesis = pytest.importorskip("schemathesis", reason="schemathesis is not installed")
from hypothesis import HealthCheck, given, settings  # noqa: E402
from hypothesis.errors import Unsatisfiable  # noqa: E402

_ENDLESS = "/promptcache/v1/events"


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with mock_upstream(answer_chat) as mock:
        told = Settings(upstream=UpstreamSettings(url=mock.url), data_dir=tmp_path_factory.mktemp("data"))
        with serve(told) as served:
            yield served


def test_no_request_makes_it_fail(gateway: Served) -> None:
    """Every operation, with parameters that fit its description and with ones that do not."""
    schema = schemathesis.openapi.from_url(f"{gateway.url}/promptcache/v1/openapi.json")
    modes = schemathesis.GenerationMode
    tried = []
    for result in schema.get_all_operations():
        operation = result.ok()
        if operation.path == _ENDLESS:
            continue
        for mode in (modes.POSITIVE, modes.NEGATIVE):
            strategy = operation.as_strategy(generation_mode=mode)

            @given(case=strategy)
            @settings(max_examples=4, deadline=None, database=None, suppress_health_check=list(HealthCheck))
            def attempt(case: Any) -> None:
                answer = case.call(timeout=20)
                assert answer.status_code < 500, f"{case.method} {case.formatted_path}: {answer.text}"
                if answer.status_code >= 400 and case.method != "HEAD":
                    assert set(answer.json()["error"]) >= {"message", "type", "param", "code"}

            try:
                attempt()
            except Unsatisfiable:
                assert mode == modes.NEGATIVE  # nothing can be wrong where nothing is asked for
        tried.append((operation.method, operation.path))
    assert ("get", "/promptcache/v1/requests") in tried
    assert len(tried) >= 10
