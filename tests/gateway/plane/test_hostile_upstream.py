"""Whatever an upstream does: a clear answer in the caller's API, closed books, the next one is served."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

import orjson
import pytest

from promptcache_gateway.settings import Settings, UpstreamSettings
from tests.gateway.mock_upstream import MockUpstream, mock_upstream, wait_until
from tests.gateway.plane.hostile import CUT, GOOD, TABLE, THEIRS, Behaviour, whole
from tests.gateway.serving import Served, serve

if TYPE_CHECKING:
    from collections.abc import Iterator

    import httpx

MESSAGES = [{"role": "user", "content": "Hi"}]
CHAT = {"model": "m", "messages": MESSAGES}
BODIES = {
    "/v1/chat/completions": CHAT,
    "/v1/completions": {"model": "m", "prompt": "Hi"},
    "/v1/responses": {"model": "m", "input": "Hi"},
    "/v1/messages": {**CHAT, "max_tokens": 8},
}
TRANSLATED = [
    ("openai", "/v1/messages"),
    ("anthropic", "/v1/chat/completions"),
    ("chat only", "/v1/responses"),
]
KINDS = ("openai", "anthropic", "chat only")


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, tuple[MockUpstream, Served]]]:
    """A hostile upstream of each kind, and a gateway in front of it that waits a third of a second."""
    with ExitStack() as stack:
        yield {kind: stack.enter_context(_pair(tmp_path_factory, kind)) for kind in KINDS}


@contextmanager
def _pair(folders: pytest.TempPathFactory, kind: str) -> Iterator[tuple[MockUpstream, Served]]:
    with mock_upstream(whole(GOOD)) as mock:
        upstream = UpstreamSettings(
            url=mock.url,
            kind="anthropic" if kind == "anthropic" else "openai",
            apis=("chat",) if kind == "chat only" else (),
            read_timeout_s=0.3,
            include_usage=False,
        )
        with serve(Settings(upstream=upstream, data_dir=folders.mktemp("data"))) as served:
            yield mock, served


def ask(
    mock: MockUpstream, served: Served, behaviour: Behaviour, path: str, stream: bool
) -> tuple[httpx.Response, bytes]:
    """One request while the upstream behaves so; the answer and its body as it came over the wire."""
    served.gateway._switchboard.lines[0].circuit.succeeded()  # what others did before is forgiven
    mock.script = behaviour.script
    body = {**BODIES[path], **({"stream": True} if stream else {})}
    with served.http.stream("POST", path, json=body) as answer:
        received = b"".join(answer.iter_raw())
    return answer, received


def check_books(mock: MockUpstream, served: Served, answer: httpx.Response, path: str) -> None:
    """The request is closed and recorded, and the gateway serves on."""
    request_id = answer.headers["x-promptcache-request-id"]
    wait_until(lambda: not served.gateway.observer.is_open(request_id))
    assert request_id.startswith("pcr_")
    assert served.get(f"/promptcache/v1/requests/{request_id}").status_code == 200
    mock.script = whole(GOOD)
    served.gateway._switchboard.lines[0].circuit.succeeded()
    assert served.get("/health").status_code in {200, 503}


def check_error(path: str, payload: dict[str, object]) -> None:
    """An error in the shape of the API that was called."""
    error = payload["error"]
    assert isinstance(error, dict)
    assert isinstance(error["message"], str)
    assert isinstance(error["type"], str)
    if path == "/v1/messages":
        assert payload["type"] == "error"
    else:
        assert {"message", "type", "param", "code"} <= set(error)


CASES = [
    pytest.param(behaviour, path, stream, id=f"{behaviour.name}-{path[4:]}{'-stream' if stream else ''}")
    for behaviour in TABLE
    for path in BODIES
    for stream in (False, True)
    if stream or not behaviour.streams_only
]


@pytest.mark.parametrize(("behaviour", "path", "stream"), CASES)
def test_the_same_api(
    pairs: dict[str, tuple[MockUpstream, Served]], behaviour: Behaviour, path: str, stream: bool
) -> None:
    mock, served = pairs["anthropic" if path == "/v1/messages" else "openai"]
    answer, received = ask(mock, served, behaviour, path, stream)

    if isinstance(behaviour.expected, int):
        assert answer.status_code == behaviour.expected
        check_error(path, orjson.loads(received))
    elif behaviour.expected == CUT:
        assert answer.status_code == 200
        assert b"Hello" in received
        assert b"error" in received
        assert received.rstrip().rsplit(b"\n", 1)[-1].startswith(b": promptcache {")
    else:
        assert behaviour.expected == THEIRS
        assert b"upstream_" not in received
    check_books(mock, served, answer, path)


ACROSS = [
    pytest.param(
        behaviour,
        kind,
        path,
        stream,
        id=f"{behaviour.name}-{path[4:]} over {kind}{'-stream' if stream else ''}",
    )
    for behaviour in TABLE
    for kind, path in TRANSLATED
    for stream in (False, True)
    if stream or not behaviour.streams_only
]


@pytest.mark.parametrize(("behaviour", "kind", "path", "stream"), ACROSS)
def test_from_one_api_to_another(
    pairs: dict[str, tuple[MockUpstream, Served]], behaviour: Behaviour, kind: str, path: str, stream: bool
) -> None:
    mock, served = pairs[kind]
    answer, received = ask(mock, served, behaviour, path, stream)

    assert answer.status_code != 500 or behaviour.name == "breaks"
    if answer.status_code >= 400:
        check_error(path, orjson.loads(received))
    elif isinstance(behaviour.expected, int):
        pytest.fail(f"a {behaviour.expected} was expected, not {received[:200]!r}")
    check_books(mock, served, answer, path)


def test_the_table_is_long_enough_and_names_each_once() -> None:
    assert len({behaviour.name for behaviour in TABLE}) == len(TABLE) >= 60
