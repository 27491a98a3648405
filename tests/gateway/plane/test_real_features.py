"""Shapes, tools and continuation where meaning matters: the default model behind a real socket."""

import json

import openai
import pytest

from promptcache_engine import Engine, EngineConfig
from promptcache_engine.hub import PACKAGED_MODELS, model_cache_dir
from promptcache_gateway.settings import EngineSettings, Settings
from promptcache_gateway.upstreams.local import LocalUpstream
from tests.gateway.serving import serve

MODEL = "smollm2-135m-instruct"
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "get_weather",
            "description": "Get the weather of a city",
            "parameters": {
                "type": "object",
                "properties": {"city": {"type": "string", "description": "name of the city"}},
                "required": ["city"],
                "additionalProperties": False,
            },
        },
    },
    {
        "type": "function",
        "function": {
            "name": "send_mail",
            "description": "Send a mail",
            "parameters": {"type": "object", "properties": {"to": {"type": "string"}}, "required": ["to"]},
        },
    },
]
PERSON = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "age": {"type": "integer"}, "city": {"type": "string"}},
    "required": ["name", "age", "city"],
    "additionalProperties": False,
}


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory):
    if not (model_cache_dir() / PACKAGED_MODELS[MODEL].filename).is_file():
        pytest.skip("the default model is not in the model cache; `make test` downloads it")
    engine = Engine(EngineConfig(model=MODEL, kv_cache_tokens=4096))
    upstream = LocalUpstream(EngineSettings(model=MODEL), engine)
    with serve(Settings(data_dir=tmp_path_factory.mktemp("data")), upstream=upstream) as served:
        base = f"{served.url}/v1"
        with openai.OpenAI(base_url=base, api_key="unused", max_retries=0, timeout=300) as made:
            yield made


@pytest.mark.model
def test_a_person_is_read_out_of_a_sentence(client: openai.OpenAI) -> None:
    question = "Anna is 34 years old and lives in Lyon. Extract the person as JSON with name, age and city."
    answer = client.chat.completions.create(
        model=MODEL,
        messages=[{"role": "user", "content": question}],
        response_format={
            "type": "json_schema",
            "json_schema": {"name": "p", "strict": True, "schema": PERSON},
        },
        temperature=0,
        max_tokens=60,
    )
    assert json.loads(answer.choices[0].message.content) == {"name": "Anna", "age": 34, "city": "Lyon"}


@pytest.mark.model
def test_a_call_its_result_and_the_next_turn_on_the_same_tokens(client: openai.OpenAI) -> None:
    """A call may be cut into other tokens than the tokenizer would cut: its ids, sent back, are all found."""
    asked = [{"role": "user", "content": "What is the weather in Oslo?"}]
    first = client.chat.completions.create(
        model=MODEL,
        messages=asked,
        tools=TOOLS,
        tool_choice="required",
        temperature=0,
        max_tokens=60,
        extra_body={"return_token_ids": True},
    )
    choice = first.choices[0]
    (call,) = choice.message.tool_calls
    assert (call.function.name, json.loads(call.function.arguments)) == ("get_weather", {"city": "Oslo"})
    assert choice.finish_reason == "tool_calls"
    known = [*first.prompt_token_ids, *choice.token_ids]
    told = {"role": "tool", "tool_call_id": call.id, "content": "12 degrees and sun"}
    second = client.chat.completions.create(
        model=MODEL,
        messages=[*asked, choice.message.model_dump(exclude_none=True), told],
        tools=TOOLS,
        tool_choice="none",
        temperature=0,
        max_tokens=4,
        extra_body={"prompt_token_ids": known},
    )
    # The last token was sampled but never computed.
    assert second.usage.prompt_tokens_details.cached_tokens >= len(known) - 2
