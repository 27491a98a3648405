"""The real client against the built-in engine: a tiny model, everything else as it is served."""

import asyncio
import json
import socket
import threading

import openai
import pytest

from promptcache.causes import get_cause
from promptcache_engine import Engine, EngineConfig
from promptcache_engine.models.testing import tiny_model
from promptcache_engine.models.torch_operations import TorchOperations
from promptcache_gateway.errors import SettingsError
from promptcache_gateway.settings import EngineSettings, Settings
from promptcache_gateway.upstreams.local import LocalUpstream
from tests.gateway.mock_upstream import wait_until
from tests.gateway.serving import Served, serve

MODEL = "tiny"
SYSTEM = "You answer for Fabrikam's help desk, in two sentences and politely. " * 12


@pytest.fixture(scope="module")
def loaded():
    return tiny_model(seed=0)


@pytest.fixture(scope="module")
def engine_served(loaded, tmp_path_factory: pytest.TempPathFactory):
    engine = Engine.from_loaded(
        loaded, EngineConfig(model=MODEL, kv_cache_tokens=16_384, max_running=6, max_waiting=4)
    )
    upstream = LocalUpstream(EngineSettings(model=MODEL), engine)
    with serve(Settings(data_dir=tmp_path_factory.mktemp("data")), upstream=upstream) as served:
        yield served


@pytest.fixture
def local(engine_served: Served):
    with openai.OpenAI(
        base_url=f"{engine_served.url}/v1", api_key="unused", max_retries=0, timeout=30
    ) as client:
        yield client


def messages(system: str, question: str) -> list[dict[str, str]]:
    return [{"role": "system", "content": system}, {"role": "user", "content": question}]


def ask(client: openai.OpenAI, system: str, question: str, **more):
    fields = {"model": MODEL, "max_tokens": 8, "temperature": 0, **more}
    raw = client.chat.completions.with_raw_response.create(messages=messages(system, question), **fields)
    return raw.headers, raw.parse()


def test_the_second_request_reuses_the_shared_tokens(local: openai.OpenAI) -> None:
    headers, first = ask(local, "first " + SYSTEM, "Where is my parcel?")
    details = first.usage.prompt_tokens_details
    assert details.cached_tokens == 0
    assert "cached_tokens" in details.model_fields_set
    assert headers["x-promptcache-cached-tokens"] == "0"

    headers, second = ask(local, "first " + SYSTEM, "How do I return a lamp?")
    cached = second.usage.prompt_tokens_details.cached_tokens
    assert cached >= len("first " + SYSTEM)
    assert headers["x-promptcache-cached-tokens"] == str(cached)
    assert headers["x-promptcache-prompt-tokens"] == str(second.usage.prompt_tokens)
    for unknown in ("cause", "path", "char-offset", "remedy"):
        assert f"x-promptcache-{unknown}" not in headers
    assert second.usage.total_tokens == second.usage.prompt_tokens + second.usage.completion_tokens


def test_the_tree_of_prefixes_is_the_engine_s_own(engine_served: Served, local: openai.OpenAI) -> None:
    named = {"x-promptcache-template": "tree"}
    cached = [
        ask(local, "tree " + SYSTEM, question, extra_headers=named)[
            1
        ].usage.prompt_tokens_details.cached_tokens
        for question in ("Where?", "When is it?")
    ]
    found = engine_served.get("/promptcache/v1/engine/tree").json()
    assert found["available"] is True
    branches = list(found["branches"])
    while branches:
        branch = branches.pop()
        if branch["templates"] == ["tree"] and branch["prompts"] == 2:
            break
        branches.extend(branch["children"])
    assert branch["start"] + branch["tokens"] == cached[1] > cached[0]
    assert branch["cached_tokens"] == branch["tokens"]
    assert len(branch["children"]) == 2


def test_a_stream_says_the_same_as_a_whole_answer(local: openai.OpenAI) -> None:
    _, whole = ask(local, SYSTEM, "Streamed?")
    stream = local.chat.completions.create(
        model=MODEL,
        messages=messages(SYSTEM, "Streamed?"),
        max_tokens=8,
        temperature=0,
        stream=True,
        stream_options={"include_usage": True},
    )
    chunks = list(stream)
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks[:-1]) == (
        whole.choices[0].message.content
    )
    assert chunks[0].choices[0].delta.role == "assistant"
    assert [chunk.choices[0].finish_reason for chunk in chunks[-2:-1]] == [whole.choices[0].finish_reason]
    assert chunks[-1].choices == []
    assert chunks[-1].usage.prompt_tokens == whole.usage.prompt_tokens
    assert chunks[-1].usage.completion_tokens == whole.usage.completion_tokens
    assert chunks[-1].usage.prompt_tokens_details.cached_tokens > 0
    assert {chunk.usage for chunk in chunks[:-1]} == {None}
    assert len({chunk.id for chunk in chunks}) == 1


def test_the_wire_of_a_stream(engine_served: Served) -> None:
    answer = engine_served.post(
        {"model": MODEL, "messages": messages(SYSTEM, "Wire"), "max_tokens": 3, "stream": True, "seed": 1}
    )
    assert answer.headers["content-type"] == "text/event-stream; charset=utf-8"
    events = answer.text.split("\n\n")
    assert events[-3] == "data: [DONE]"
    assert events[-1] == ""
    assert events[-2].startswith(": promptcache ")
    comment = json.loads(events[-2].removeprefix(": promptcache "))
    for header in ("request-id", "template", "cached-tokens", "prompt-tokens"):
        assert str(comment[header.replace("-", "_")]) == answer.headers[f"x-promptcache-{header}"]
    assert '"usage"' not in answer.text


def test_text_completions_whole_and_streamed(local: openai.OpenAI) -> None:
    whole = local.completions.create(model=MODEL, prompt="Once upon a time", max_tokens=6, temperature=0)
    parts = list(
        local.completions.create(
            model=MODEL,
            prompt="Once upon a time",
            max_tokens=6,
            temperature=0,
            stream=True,
            stream_options={"include_usage": True},
        )
    )
    assert "".join(part.choices[0].text for part in parts[:-1]) == whole.choices[0].text
    assert parts[-1].usage.prompt_tokens_details.cached_tokens == whole.usage.prompt_tokens - 1
    assert whole.choices[0].finish_reason in {"stop", "length"}


def test_tokens_may_be_sent_instead_of_text(local: openai.OpenAI, engine_served: Served) -> None:
    tokens = engine_served.gateway.upstream.engine.encode_prompt("Once upon a time")
    by_text = local.completions.create(model=MODEL, prompt="Once upon a time", temperature=0)
    by_tokens = local.completions.create(model=MODEL, prompt=tokens, temperature=0)
    assert by_tokens.choices[0].text == by_text.choices[0].text
    assert by_tokens.usage.completion_tokens <= 16


def test_a_seed_repeats_and_a_stop_string_stops(local: openai.OpenAI) -> None:
    drawn = [ask(local, SYSTEM, "Draw", temperature=1, seed=7, max_tokens=24)[1] for _ in range(2)]
    texts = [answer.choices[0].message.content for answer in drawn]
    assert texts[0] == texts[1]
    stop = texts[0][5:7]
    _, stopped = ask(local, SYSTEM, "Draw", temperature=1, seed=7, max_tokens=24, stop=[stop])
    assert stopped.choices[0].message.content == texts[0][: texts[0].index(stop)]
    assert stopped.choices[0].finish_reason == "stop"


def test_the_cache_can_be_left_alone(local: openai.OpenAI) -> None:
    off = {"x-promptcache-cache": "off"}
    for _ in range(2):
        _, answer = ask(local, "off " + SYSTEM, "Same", extra_headers=off)
        assert answer.usage.prompt_tokens_details.cached_tokens == 0
    _, answer = ask(local, "off " + SYSTEM, "Same")
    opening = answer.usage.prompt_tokens_details.cached_tokens
    assert opening < 40, "nothing of it was left in the cache but what others put there"


def test_a_salt_keeps_prefixes_apart(local: openai.OpenAI) -> None:
    ask(local, "salted " + SYSTEM, "Same", extra_body={"cache_salt": "a"})
    _, other = ask(local, "salted " + SYSTEM, "Same", extra_body={"cache_salt": "b"})
    _, same = ask(local, "salted " + SYSTEM, "Same", extra_body={"cache_salt": "a"})
    assert other.usage.prompt_tokens_details.cached_tokens == 0
    assert same.usage.prompt_tokens_details.cached_tokens == same.usage.prompt_tokens - 1


def test_a_clock_in_the_system_prompt_is_named(local: openai.OpenAI, engine_served: Served) -> None:
    for second in (11, 52):
        system = f"It is 2026-11-29T15:03:{second}Z now.\n{SYSTEM}"
        headers, _ = ask(local, system, "Hello?", extra_headers={"x-promptcache-template": "clocked"})
    assert headers["x-promptcache-cause"] == "PC101"
    assert headers["x-promptcache-path"] == "messages[0]"
    assert headers["x-promptcache-char-offset"] == str(len("It is 2026-11-29T15:03:"))
    assert int(headers["x-promptcache-lost-tokens"]) > 500
    assert headers["x-promptcache-remedy"] == get_cause("PC101").remedy.replace("…", "...")
    record = engine_served.get(f"/promptcache/v1/requests/{headers['x-promptcache-request-id']}").json()
    assert record["diagnosis"]["char_offset"] == len("It is 2026-11-29T15:03:")
    assert record["diagnosis"]["lost_tokens"] > 500
    assert record["ttft_ms"] > 0


def test_models(local: openai.OpenAI) -> None:
    assert [model.id for model in local.models.list()] == [MODEL]
    assert local.models.retrieve(MODEL).id == MODEL
    with pytest.raises(openai.NotFoundError, match="tiny"):
        local.models.retrieve("gpt-9")


def test_an_unknown_model_lists_those_there_are(local: openai.OpenAI) -> None:
    with pytest.raises(openai.NotFoundError, match="'tiny'") as caught:
        ask(local, SYSTEM, "Hi", model="gpt-9")
    assert (caught.value.code, caught.value.param) == ("model_not_found", "model")


def test_a_prompt_longer_than_the_context(local: openai.OpenAI) -> None:
    for stream in (False, True):
        with pytest.raises(openai.BadRequestError, match="2048") as caught:
            ask(local, "x" * 5_000, "Hi", stream=stream)
        assert (caught.value.code, caught.value.param) == ("context_length_exceeded", "messages")
    with pytest.raises(openai.BadRequestError) as caught:
        local.completions.create(model=MODEL, prompt="x" * 30_000)
    assert (caught.value.code, caught.value.param) == ("context_length_exceeded", "prompt")


@pytest.mark.parametrize(
    ("change", "param"),
    [
        ({"messages": []}, "messages"),
        ({"messages": "hi"}, "messages"),
        ({"messages": [{"role": "user", "content": 5}]}, "messages[0].content"),
        ({"n": 0}, "n"),
        ({"n": 129}, "n"),
        ({"n": True}, "n"),
        ({"priority": "high"}, "priority"),
        ({"tools": [{"type": "function", "function": {"name": "f g"}}]}, "tools[0].function.name"),
        ({"response_format": {"type": "json"}}, "response_format.type"),
        ({"logit_bias": {"10000": 1}}, "logit_bias"),
        ({"guided_regex": "("}, "guided_regex"),
        ({"max_tokens": "many"}, "max_tokens"),
        ({"max_tokens": 10**6}, "messages"),
        ({"metadata": "x"}, "metadata"),
        ({"model": ""}, "model"),
        ({"messages": None}, "messages"),
    ],
)
def test_bad_requests_name_what_is_wrong(engine_served: Served, change: dict, param: str) -> None:
    body = {"model": MODEL, "messages": messages("s", "q"), **change}
    for stream in (False, True):
        answer = engine_served.post({**body, "stream": stream})
        assert answer.status_code == 400, answer.text
        assert answer.json()["error"]["param"] == param


def test_several_choices_share_one_prompt(local: openai.OpenAI, engine_served: Served) -> None:
    stats = engine_served.gateway.upstream.engine.stats
    before = stats().prefill_tokens
    _, answer = ask(local, "several " + SYSTEM, "Choose?", n=3, temperature=1.0, seed=4)
    assert [choice.index for choice in answer.choices] == [0, 1, 2]
    texts = [choice.message.content for choice in answer.choices]
    assert len(set(texts)) == 3
    assert {choice.finish_reason for choice in answer.choices} == {"length"}
    usage = answer.usage
    assert usage.completion_tokens == 24
    missing = usage.prompt_tokens - usage.prompt_tokens_details.cached_tokens
    assert stats().prefill_tokens - before == missing + 2  # each fork computes the last token
    _, alone = ask(local, "several " + SYSTEM, "Choose?", temperature=1.0, seed=4)
    assert alone.choices[0].message.content == texts[0]

    stream = local.chat.completions.create(
        model=MODEL,
        messages=messages("several " + SYSTEM, "Choose?"),
        max_tokens=8,
        temperature=1.0,
        seed=4,
        n=3,
        stream=True,
        stream_options={"include_usage": True},
    )
    chunks = list(stream)
    streamed = ["", "", ""]
    for chunk in chunks:
        for choice in chunk.choices:
            streamed[choice.index] += choice.delta.content or ""
    assert streamed == texts
    roles = [(c.index, c.delta.role) for chunk in chunks for c in chunk.choices if c.delta.role]
    assert roles == [(0, "assistant"), (1, "assistant"), (2, "assistant")]
    ends = [c.index for chunk in chunks for c in chunk.choices if c.finish_reason]
    assert sorted(ends) == [0, 1, 2]
    assert chunks[-1].usage.completion_tokens == 24
    assert chunks[-1].usage.prompt_tokens == usage.prompt_tokens


@pytest.mark.parametrize("stream", [False, True])
def test_several_completions(local: openai.OpenAI, stream: bool) -> None:
    fields = {"model": MODEL, "prompt": "Once upon a time", "max_tokens": 5, "temperature": 0, "n": 2}
    alone = local.completions.create(**{**fields, "n": 1}).choices[0].text
    answer = local.completions.create(**fields, stream=stream)
    texts = ["", ""]
    for chunk in answer if stream else [answer]:
        for choice in chunk.choices:
            texts[choice.index] += choice.text
    assert texts == [alone, alone]


def test_token_ids_outside_the_vocabulary(engine_served: Served) -> None:
    for tokens in ([10**6], [-1], [2**80]):
        answer = engine_served.post({"model": MODEL, "prompt": tokens}, path="/v1/completions")
        assert answer.status_code == 400, answer.text
        assert answer.json()["error"]["param"] == "prompt"


def test_a_caller_who_hangs_up_frees_the_sequence(engine_served: Served) -> None:
    stats = engine_served.gateway.upstream.engine.stats
    before = stats().cancelled
    body = {"model": MODEL, "messages": messages("hang", "up"), "max_tokens": 1500, "ignore_eos": True}
    for stream, n, cancelled in ((True, 1, 1), (False, 1, 2), (True, 3, 5)):
        payload = json.dumps({**body, "stream": stream, "n": n}).encode()
        head = (
            f"POST /v1/chat/completions HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: {len(payload)}\r\n\r\n"
        )
        with socket.create_connection(("127.0.0.1", int(engine_served.url.rpartition(":")[2]))) as caller:
            caller.sendall(head.encode() + payload)
            wait_until(lambda n=n: stats().running == n)
        wait_until(lambda: stats().running == 0)
        assert stats().cancelled - before == cancelled
        assert stats().pages_held == 0


def test_many_requests_at_once_each_get_their_own_answer(engine_served: Served) -> None:
    async def main() -> list[str]:
        async with openai.AsyncOpenAI(
            base_url=f"{engine_served.url}/v1", api_key="k", max_retries=8, timeout=60
        ) as client:

            async def ask_one(index: int) -> str:
                stream = await client.chat.completions.create(
                    model=MODEL,
                    messages=messages(SYSTEM, f"{'abcxyz'[index] * 9}?"),
                    max_tokens=12,
                    temperature=0,
                    stream=True,
                )
                return "".join([part.choices[0].delta.content or "" async for part in stream])

            return await asyncio.gather(*[ask_one(index % 6) for index in range(24)])

    answers = asyncio.run(main())
    assert answers[:6] * 4 == answers
    assert len(set(answers)) > 1


def test_a_full_queue_says_when_to_come_back(engine_served: Served) -> None:
    body = {"model": MODEL, "messages": messages("queue", "q"), "max_tokens": 60, "ignore_eos": True}
    statuses: list[tuple[int, str | None]] = []

    def post() -> None:
        answer = engine_served.post(body)
        statuses.append((answer.status_code, answer.headers.get("retry-after")))

    threads = [threading.Thread(target=post) for _ in range(24)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {status for status, _ in statuses} == {200, 429}
    assert {after for status, after in statuses if status == 429} == {"1"}


def test_warming_fills_the_cache_and_resetting_empties_it(
    engine_served: Served, local: openai.OpenAI
) -> None:
    body = {"model": MODEL, "messages": messages("warm " + SYSTEM, "Q1")}
    assert engine_served.post(body, path="/promptcache/v1/cache/warm").status_code == 200
    _, answer = ask(local, "warm " + SYSTEM, "Q2")
    assert answer.usage.prompt_tokens_details.cached_tokens > len(SYSTEM)
    assert engine_served.post({}, path="/promptcache/v1/cache/reset").json() == {"success": True}
    _, answer = ask(local, "warm " + SYSTEM, "Q3")
    assert answer.usage.prompt_tokens_details.cached_tokens == 0


def test_a_dead_engine_is_a_503_and_health_says_so(loaded, tmp_path) -> None:
    engine = Engine.from_loaded(loaded, EngineConfig(model=MODEL, kv_cache_tokens=4_096))
    upstream = LocalUpstream(EngineSettings(model=MODEL), engine)
    with serve(Settings(data_dir=tmp_path), upstream=upstream) as served:
        assert served.get("/health").json()["status"] == "ok"
        engine.close()
        answer = served.post({"model": MODEL, "messages": messages("s", "q")})
        assert (answer.status_code, answer.json()["error"]["code"]) == (503, "engine_unavailable")
        health = served.get("/health")
        assert (health.status_code, health.json()["status"]) == (503, "unavailable")
        reset = served.post({}, path="/promptcache/v1/cache/reset")
        assert (reset.status_code, reset.json()["error"]["code"]) == (503, "engine_unavailable")


def test_health_says_what_computes_and_what_was_to() -> None:
    for because, told in (("", None), ("no C compiler", "no C compiler")):
        made = tiny_model(operations=TorchOperations(because))
        with Engine.from_loaded(made, EngineConfig(model=MODEL, kv_cache_tokens=64)) as engine:
            health = LocalUpstream(EngineSettings(model=MODEL), engine).health()
        assert health["attention_backend"] == "torch"
        assert health.get("attention_fallback") == told


def test_health_recovers_when_a_dead_worker_is_replaced(
    loaded, tmp_path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = Engine.from_loaded(loaded, EngineConfig(model=MODEL, kv_cache_tokens=4_096))
    upstream = LocalUpstream(EngineSettings(model=MODEL), engine)
    with serve(Settings(data_dir=tmp_path), upstream=upstream) as served:

        def broken() -> None:
            raise KeyError("page 7")

        monkeypatch.setattr(engine._worker._core._scheduler, "plan", broken)
        body = {"model": MODEL, "messages": messages("s", "q"), "max_tokens": 4}
        answer = served.post(body)
        assert (answer.status_code, answer.json()["error"]["code"]) == (503, "engine_unavailable")
        wait_until(lambda: served.get("/health").status_code == 200)
        assert served.post(body).status_code == 200
        assert engine.stats().restarts == 1


def test_an_answer_that_does_not_fit_beside_the_prompt_is_refused(
    local: openai.OpenAI, engine_served
) -> None:
    limit = engine_served.gateway.upstream.engine.info.context_length
    with pytest.raises(openai.BadRequestError, match=f"{limit} tokens.*for the answer") as caught:
        ask(local, SYSTEM, "Long?", max_tokens=limit)
    assert (caught.value.code, caught.value.param) == ("context_length_exceeded", "messages")
    prompt = ask(local, SYSTEM, "Long?")[1].usage.prompt_tokens
    with pytest.raises(openai.BadRequestError, match=rf"{limit + 1} were asked for: {prompt} in"):
        ask(local, SYSTEM, "Long?", max_tokens=limit - prompt + 1)
    tokens = [65] * (limit - 3)
    answer = local.completions.create(
        model=MODEL, prompt=tokens, temperature=0, extra_body={"ignore_eos": True}
    )
    assert answer.usage.completion_tokens == 3, "the API's own limit of 16 gives way to the context"
    with pytest.raises(openai.BadRequestError, match="16 for the answer"):
        local.completions.create(model=MODEL, prompt=tokens, max_tokens=16)


def test_a_hopeless_prompt_is_refused_without_tokenizing_it(
    engine_served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    tokenizer = engine_served.gateway.upstream.engine.tokenizer

    def never(text: str) -> list[int]:
        raise AssertionError("it was tokenized")

    monkeypatch.setattr(tokenizer, "encode", never)
    for path, field in (("chat/completions", "messages"), ("completions", "prompt")):
        text = "word " * 100_000
        body = {"model": MODEL, field: text if field == "prompt" else messages("s", text)}
        answer = engine_served.post(body, path=f"/v1/{path}")
        assert answer.status_code == 400, answer.text
        error = answer.json()["error"]
        assert (error["code"], error["param"]) == ("context_length_exceeded", field)
        assert "has at least 3" in error["message"]


def test_a_cache_that_holds_no_chat_is_refused_at_the_start(loaded, tmp_path) -> None:
    engine = Engine.from_loaded(loaded, EngineConfig(model=MODEL, kv_cache_tokens=5))
    upstream = LocalUpstream(EngineSettings(model=MODEL, kv_cache_tokens=5), engine)
    with pytest.raises(
        SettingsError, match=r"engine\.kv_cache_tokens: .* holds 16 tokens.*needs \d+"
    ) as caught:
        asyncio.run(upstream.start())
    assert "\n" not in str(caught.value)
    assert not engine.healthy
