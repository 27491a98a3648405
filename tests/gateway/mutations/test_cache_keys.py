"""Keys, salts and session headers: by policy, the same for what belongs together, never over the caller's."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import pytest

from tests.gateway.mutations.stage import Stage

WEIRD = b' { "messages":[{"role":"user","content":"caf\\u00e9"}],"model" : "gpt-4.1", "n":1.0E+0 } \n'


def chat(*texts: str, **more: Any) -> dict[str, Any]:
    roles = ["user", "assistant"]
    turns = [{"role": roles[at % 2], "content": text} for at, text in enumerate(texts)]
    return {"model": "gpt-4.1", "messages": [{"role": "system", "content": "Be brief."}, *turns], **more}


@pytest.mark.parametrize("member", ["prompt_cache_key", "cache_salt"])
def test_one_member_is_added_and_no_other_byte_changes(member: str) -> None:
    sent = Stage({member: "tenant"}).send(WEIRD, dialect="openai.chat")
    value = sent.json[member]
    assert len(value) == 32
    assert sent.body.replace(b',"%s":"%s"' % (member.encode(), value.encode()), b"") == WEIRD
    assert sent.change(member).paths == (member,)


@pytest.mark.parametrize("said", ['"mine"', "null", '""'])
@pytest.mark.parametrize("member", ["prompt_cache_key", "cache_salt"])
def test_the_callers_own_stays(member: str, said: str) -> None:
    body = b'{"model":"m","messages":[],"%s":%s}' % (member.encode(), said.encode())
    sent = Stage({member: "tenant"}).send(body, dialect="openai.chat")
    assert sent.body == body
    assert sent.change(member).skipped == ((member, "the caller set it"),)


def key(stage: Stage, body: dict[str, Any], **more: Any) -> str:
    value: str = stage.send(body, dialect="openai.chat", **more).json["prompt_cache_key"]
    return value


def test_by_tenant() -> None:
    stage = Stage({"prompt_cache_key": "tenant"})
    assert key(stage, chat("a")) == key(stage, chat("b"))
    assert key(stage, chat("a")) != key(stage, chat("a"), tenant="other")


def test_by_template() -> None:
    stage = Stage({"prompt_cache_key": "template"})
    named = {"headers": ((b"x-promptcache-template", b"support"),)}
    assert key(stage, chat("a"), **named) == key(stage, chat("b", "c", "d"), **named)
    assert key(stage, chat("a"), **named) != key(stage, chat("a"))
    assert key(stage, chat("a"), **named) != key(stage, chat("a"), tenant="other", **named)


def test_by_conversation_it_stays_while_the_conversation_grows() -> None:
    stage = Stage({"prompt_cache_key": "conversation"})
    first = key(stage, chat("Where is my order?"))
    assert key(stage, chat("Where is my order?", "Which one?", "The last.")) == first
    assert key(stage, chat("Another question")) != first
    assert key(stage, chat("Where is my order?"), tenant="other") != first


@pytest.mark.parametrize(
    ("body", "dialect", "reason"),
    [
        ({"model": "m", "input": "a", "previous_response_id": "r"}, "openai.responses", "the upstream keeps"),
        ({"model": "m", "messages": [{"role": "system", "content": "s"}]}, "openai.chat", "no first message"),
        ({"model": "m", "messages": 5}, "openai.chat", "no first message"),
    ],
)
def test_a_conversation_that_cannot_be_known(body: dict[str, Any], dialect: Any, reason: str) -> None:
    sent = Stage({"prompt_cache_key": "conversation"}).send(body, dialect=dialect)
    assert sent.json == body
    assert reason in sent.change("prompt_cache_key").skipped[0][1]


def test_what_takes_none_gets_none() -> None:
    both = {"prompt_cache_key": "tenant", "cache_salt": "tenant"}
    assert Stage(both).send({"model": "m", "input": "a"}, dialect="openai.embeddings").names == []
    completion = Stage(both).send({"model": "m", "prompt": "a"}, dialect="openai.completions")
    assert completion.names == ["cache_salt"]
    claude = Stage(both, kind="anthropic").send(chat("a"), dialect="openai.chat")
    assert claude.change("cache_salt").skipped[0][1] == "this kind of upstream takes none"
    salted = Stage(both, tenant_salt=True).send(chat("a"), dialect="openai.chat")
    assert salted.change("cache_salt").skipped[0][1] == "tenant_salt sets it"
    assert salted.change("tenant_salt").paths == ("cache_salt",)
    across = Stage(both, apis=("chat",)).send({"model": "m", "input": "a"}, dialect="openai.responses")
    assert across.change("cache_salt").skipped[0][1] == "the request is translated"
    assert "translation" in across.names


def test_a_session_header() -> None:
    stage = Stage({"session_header": "X-Session-Affinity", "session": "conversation"})
    sent = stage.send(chat("a"), dialect="openai.chat")
    ((name, value),) = sent.inbound.headers
    assert (name, len(value)) == (b"x-session-affinity", 32)
    assert sent.body == json.dumps(chat("a")).encode()
    assert sent.change("session_header").paths == ("x-session-affinity",)

    own = ((b"x-session-affinity", b"mine"),)
    kept = stage.send(chat("a"), dialect="openai.chat", headers=own)
    assert kept.inbound.headers == list(own)
    assert kept.change("session_header").skipped == (("x-session-affinity", "the caller sent it"),)


def test_the_diagnosis_knows_the_key() -> None:
    sent = Stage({"prompt_cache_key": "conversation"}).send(chat("a"), dialect="openai.chat")
    prompt = sent.flight._observation.sight.prompt
    assert prompt is not None
    assert prompt.parameters["prompt_cache_key"] == sent.json["prompt_cache_key"]


def test_a_name_is_the_same_in_every_process() -> None:
    code = (
        "from tests.gateway.mutations.stage import Stage\n"
        "from tests.gateway.mutations.test_cache_keys import chat, key\n"
        "print(key(Stage({'prompt_cache_key': 'conversation'}), chat('Where?')))"
    )
    found = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(found) == 1
