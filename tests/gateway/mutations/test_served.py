"""Through the running gateway: what arrives at the upstream, and what the record says of it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from promptcache_gateway.mutations import read_mutations
from promptcache_gateway.settings import ModelSettings, Settings, UpstreamSettings
from promptcache_gateway.upstream_settings import Target
from tests.gateway.anthropic_wire import answer_messages
from tests.gateway.mock_upstream import call
from tests.gateway.mutations.stage import messages
from tests.gateway.serving import serve

if TYPE_CHECKING:
    from pathlib import Path

    from tests.gateway.mock_upstream import MockUpstream

CHAT: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": "Hi there"}]}


def test_marks_arrive_and_are_recorded_until_the_settings_change(mock: MockUpstream, tmp_path: Path) -> None:
    mock.script = answer_messages
    upstream = UpstreamSettings(url=mock.url, name="claude", kind="anthropic")
    settings = Settings(
        upstreams=(upstream,), data_dir=tmp_path, mutations=read_mutations({"breakpoints": True})
    )
    with serve(settings) as served:
        for _ in range(3):
            answer = served.post(messages(), path="/v1/messages")
        assert mock.last.body.count(b'"cache_control"') == 2
        assert answer.headers["x-promptcache-mutations"] == "breakpoints"
        (change,) = served.record(answer)["changes"]
        assert change == {
            "name": "breakpoints",
            "paths": ["system[0]", "messages[0].content[0]"],
            "skipped": [],
        }
        assert "PC602" not in served.record(answer)["diagnosis"]["causes"]

        assert served.loop is not None
        call(served.loop, served.gateway.reload(replace(settings, mutations=read_mutations({}))))
        answer = served.post(messages(), path="/v1/messages")
        assert b"cache_control" not in mock.last.body
        assert "x-promptcache-mutations" not in answer.headers
        assert served.record(answer)["changes"] == []


def test_every_exception_to_the_callers_bytes_is_named(mock: MockUpstream, tmp_path: Path) -> None:
    upstream = UpstreamSettings(url=mock.url, name="u", tenant_salt=True)
    rules = {"prompt_cache_key": "tenant", "session_header": "x-session-affinity"}
    settings = Settings(
        upstreams=(upstream,),
        models=(ModelSettings("fast", (Target("u", "m"),)),),
        data_dir=tmp_path,
        mutations=read_mutations(rules),
    )
    with serve(settings) as served:
        record = served.record(served.post({**CHAT, "model": "fast", "stream": True}))
        assert [change["name"] for change in record["changes"]] == [
            "model",
            "include_usage",
            "tenant_salt",
            "prompt_cache_key",
            "session_header",
        ]
        assert len(mock.last.headers["x-session-affinity"]) == 32
        listed = served.get("/promptcache/v1/requests").json()["data"][0]
        assert listed["changes"] == record["changes"]

        told = served.post(CHAT, x_promptcache_diagnose="body")
        assert told.json()["promptcache"]["mutations"] == ["prompt_cache_key", "session_header"]
        assert told.headers["x-promptcache-mutations"] == "prompt_cache_key, session_header"
        translated = served.record(served.post({**messages(), "model": "fast"}, path="/v1/messages"))
        assert translated["changes"][0]["name"] == "translation"


def test_a_question_about_the_cache_that_is_taken_out_is_named(mock: MockUpstream, tmp_path: Path) -> None:
    mock.script = answer_messages
    upstream = UpstreamSettings(url=mock.url, name="claude", kind="anthropic")
    with serve(Settings(upstreams=(upstream,), data_dir=tmp_path)) as served:
        asking = {**messages(), "diagnostics": {"previous_message_id": None}}
        record = served.record(served.post(asking, path="/v1/messages"))
        assert record["changes"] == [{"name": "diagnostics", "paths": ["diagnostics"], "skipped": []}]
        assert b"diagnostics" not in mock.last.body


def test_what_is_changed_before_a_prompt_is_counted_is_named(mock: MockUpstream, tmp_path: Path) -> None:
    mock.script = answer_messages
    upstream = UpstreamSettings(url=mock.url, name="claude", kind="anthropic")
    rules = read_mutations({"drop_billing_header": True})
    billing = [{"type": "text", "text": "x-anthropic-billing-header: cc_version=1; cch=9f;"}]
    with serve(Settings(upstreams=(upstream,), data_dir=tmp_path, mutations=rules)) as served:
        asked = messages(metadata={"promptcache_template": "t", "user_id": "u"})
        answer = served.post(asked, path="/v1/messages/count_tokens")
        assert "x-promptcache-mutations" not in answer.headers
        assert b'"metadata":{"user_id":"u"}' in mock.last.body.replace(b" ", b"")
        asked["system"] = [*billing, *asked["system"]]
        answer = served.post(asked, path="/v1/messages/count_tokens")
        assert answer.headers["x-promptcache-mutations"] == "billing_header"
        assert b"billing" not in mock.last.body
