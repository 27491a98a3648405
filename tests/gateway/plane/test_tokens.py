"""``/tokenize``, ``/detokenize``, a chat continued on its own tokens, and warming with tools."""

import openai
import pytest

from promptcache_engine import Engine, EngineConfig
from promptcache_engine.models.testing import tiny_model
from promptcache_gateway.settings import EngineSettings, Settings, UpstreamSettings
from promptcache_gateway.upstreams.local import LocalUpstream
from tests.gateway.serving import Served, serve

MODEL = "tiny"
CHAT = [{"role": "user", "content": "Which lamp, \u00e9 or 😀?"}]
TOOLS = [{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory):
    engine = Engine.from_loaded(tiny_model(seed=0), EngineConfig(model=MODEL, kv_cache_tokens=8_192))
    upstream = LocalUpstream(EngineSettings(model=MODEL), engine)
    with serve(Settings(data_dir=tmp_path_factory.mktemp("data")), upstream=upstream) as running:
        yield running


def post(served: Served, path: str, **body: object) -> dict:
    answer = served.post(body, path=path)
    assert answer.status_code == 200, answer.text
    return answer.json()


@pytest.mark.parametrize("prefix", ["", "/v1"])
def test_a_text_and_back(served: Served, prefix: str) -> None:
    made = post(served, f"{prefix}/tokenize", model=MODEL, prompt="héy<|im_end|>", return_token_strs=True)
    assert made["tokens"] == [*"héy".encode(), 258]
    assert made["count"] == len(made["tokens"]) == len(made["token_strs"])
    assert made["token_strs"][-1] == "<|im_end|>"
    assert made["max_model_len"] == served.gateway.upstream.engine.info.context_length
    assert post(served, f"{prefix}/detokenize", tokens=made["tokens"]) == {"prompt": "héy<|im_end|>"}
    assert post(served, "/tokenize", prompt="")["tokens"] == []


@pytest.mark.parametrize("more", [{}, {"tools": TOOLS}])
def test_a_chat_s_tokens_are_those_it_is_served_with(served: Served, more: dict) -> None:
    tokens = post(served, "/tokenize", messages=CHAT, **more)["tokens"]
    answer = post(
        served,
        "/v1/chat/completions",
        model=MODEL,
        messages=CHAT,
        max_tokens=1,
        tool_choice="none",
        return_token_ids=True,
        **more,
    )
    assert answer["prompt_token_ids"] == tokens
    assert answer["usage"]["prompt_tokens"] == len(tokens)


@pytest.mark.parametrize(
    ("path", "body", "param"),
    [
        ("/tokenize", {}, "prompt"),
        ("/tokenize", {"prompt": 5}, "prompt"),
        ("/tokenize", {"prompt": "a", "colour": 1}, "colour"),
        ("/tokenize", {"messages": []}, "messages"),
        ("/tokenize", {"messages": CHAT, "add_generation_prompt": False}, "add_generation_prompt"),
        ("/tokenize", {"messages": CHAT, "tools": [1]}, "tools[0]"),
        ("/detokenize", {}, "tokens"),
        ("/detokenize", {"tokens": "ab"}, "tokens"),
        ("/detokenize", {"tokens": [1, 10_000]}, "tokens[1]"),
    ],
)
def test_faults_name_their_field(served: Served, path: str, body: dict, param: str) -> None:
    answer = served.post(body, path=path)
    assert (answer.status_code, answer.json()["error"]["param"]) == (400, param)


def test_other_methods_models_and_upstreams(served: Served, mock, tmp_path) -> None:
    assert served.get("/tokenize").status_code == 405
    assert served.post({"model": "gpt-9", "prompt": "a"}, path="/tokenize").status_code == 404
    with serve(Settings(upstream=UpstreamSettings(url=mock.url), data_dir=tmp_path)) as proxied:
        answer = proxied.post({"prompt": "a"}, path="/tokenize")
        assert (answer.status_code, answer.json()["error"]["code"]) == (400, "unsupported")


def test_a_chat_continues_on_its_own_tokens(served: Served) -> None:
    """The ids given stand in the prompt as they are, as far as the text agrees; any others change nothing."""
    with openai.OpenAI(base_url=f"{served.url}/v1", api_key="k", max_retries=0) as client:

        def ask(messages: list, **extra: object):
            return client.chat.completions.create(
                model=MODEL,
                messages=messages,
                max_tokens=9,
                temperature=0,
                logit_bias={str(token): -100 for token in range(127, 259)},
                extra_body={"return_token_ids": True, **extra},
            )

        first = ask(CHAT)
        known = [*first.prompt_token_ids, *first.choices[0].token_ids]
        said = {"role": "assistant", "content": first.choices[0].message.content}
        longer = [*CHAT, said, {"role": "user", "content": "Go on."}]
        plain = ask(longer)
        for given in (known, known[:5], [1, 2, 3]):
            again = ask(longer, prompt_token_ids=given)
            assert again.prompt_token_ids == plain.prompt_token_ids
            assert again.choices[0].message.content == plain.choices[0].message.content
        assert plain.usage.prompt_tokens_details.cached_tokens >= len(known) - 1
        with pytest.raises(openai.BadRequestError) as caught:
            ask(longer, prompt_token_ids=["a"])
        assert caught.value.param == "prompt_token_ids"


def test_warming_computes_what_requests_with_tools_share(served: Served) -> None:
    system = {"role": "system", "content": "Warmed: you keep the lamps. " * 5}
    body = {"model": MODEL, "messages": [system, *CHAT], "tools": TOOLS, "tool_choice": "required", "seed": 1}
    before = served.gateway.upstream.engine.stats().generated_tokens
    told = post(served, "/promptcache/v1/cache/warm", **body)
    assert told["success"] is True
    assert told["computed_tokens"] == told["prompt_tokens"] - told["cached_tokens"] > 100
    assert served.gateway.upstream.engine.stats().generated_tokens == before
    other = {**body, "messages": [system, {"role": "user", "content": "Another?"}], "max_tokens": 40}
    answer = post(served, "/v1/chat/completions", **other)
    assert answer["usage"]["prompt_tokens_details"]["cached_tokens"] > len(system["content"])
    again = post(served, "/promptcache/v1/cache/warm", **body)
    assert again["computed_tokens"] == 1
