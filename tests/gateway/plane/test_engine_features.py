"""What users of a drop-in expect of the built-in engine: the real client on a real socket, a tiny model."""

import json
import math

import httpx
import openai
import pytest

from tests.gateway.mock_upstream import wait_until
from tests.gateway.plane.exact_engine import MODEL, served_engine
from tests.gateway.serving import Served

ASK = [{"role": "system", "content": "You keep the lamps. " * 6}, {"role": "user", "content": "Which one?"}]
# A random model writes bytes that are no text: these are out of its reach, and end tokens are not forced.
ASCII = {str(token): -100 for token in [*range(32), *range(127, 258)]}
SCHEMA = {
    "type": "object",
    "properties": {"name": {"type": "string", "maxLength": 8}, "watts": {"enum": [5, 40]}},
    "required": ["name", "watts"],
    "additionalProperties": False,
}
AS_SCHEMA = {"type": "json_schema", "json_schema": {"name": "lamp", "strict": True, "schema": SCHEMA}}
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": name,
            "description": f"Does {name}.",
            "parameters": {
                "type": "object",
                "properties": {"lamp": {"enum": ["floor", "table"]}},
                "required": ["lamp"],
                "additionalProperties": False,
            },
        },
    }
    for name in ("switch_on", "switch_off")
]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory):
    with served_engine(tmp_path_factory.mktemp("data")) as running:
        yield running


@pytest.fixture
def client(served: Served):
    with openai.OpenAI(base_url=f"{served.url}/v1", api_key="unused", max_retries=0, timeout=60) as made:
        yield made


def chat(client: openai.OpenAI, **fields):
    return client.chat.completions.create(**{"model": MODEL, "messages": ASK, "max_tokens": 12, **fields})


def stream(client: openai.OpenAI, **fields) -> list:
    return list(chat(client, stream=True, stream_options={"include_usage": True}, **fields))


def joined(chunks: list, index: int = 0) -> dict:
    """What a streaming client puts together of one choice."""
    made: dict = {"content": "", "calls": [], "logprobs": [], "finish": None, "token_ids": []}
    for chunk in chunks:
        for choice in chunk.choices:
            if choice.index != index:
                continue
            made["content"] += choice.delta.content or ""
            made["logprobs"] += (choice.logprobs.content or []) if choice.logprobs else []
            made["finish"] = choice.finish_reason or made["finish"]
            made["token_ids"] += getattr(choice, "token_ids", None) or []
            for call in choice.delta.tool_calls or []:
                if call.index == len(made["calls"]):
                    assert call.id
                    assert call.type == "function"
                    made["calls"].append([call.id, call.function.name, ""])
                made["calls"][call.index][2] += call.function.arguments or ""
    return made


def test_logprobs_whole_and_streamed(client: openai.OpenAI) -> None:
    fields = {"temperature": 0, "logprobs": True, "top_logprobs": 3, "logit_bias": ASCII, "seed": 1}
    choice = chat(client, **fields).choices[0]
    content = choice.logprobs.content
    assert b"".join(bytes(each.bytes) for each in content).decode() == choice.message.content
    for each in content:
        assert len(each.top_logprobs) == 3
        assert each.logprob <= each.top_logprobs[0].logprob <= 0
        assert sum(math.exp(other.logprob) for other in each.top_logprobs) <= 1.0001
    streamed = joined(stream(client, **fields))
    assert streamed["content"] == choice.message.content
    assert streamed["logprobs"] == content
    assert chat(client).choices[0].logprobs is None


def test_logprobs_of_the_older_api(client: openai.OpenAI) -> None:
    fields = {"model": MODEL, "prompt": "A lamp", "max_tokens": 9, "temperature": 0, "logit_bias": ASCII}
    choice = client.completions.create(**fields, logprobs=2).choices[0]
    told = choice.logprobs
    assert "".join(told.tokens) == choice.text
    assert told.text_offset == list(range(len(choice.text)))
    assert all(token in top for token, top in zip(told.tokens, told.top_logprobs, strict=True))
    assert all(
        value == top[token]
        for value, token, top in zip(told.token_logprobs, told.tokens, told.top_logprobs, strict=True)
    )
    pieces = list(client.completions.create(**fields, logprobs=2, stream=True))
    streamed = [piece.choices[0].logprobs for piece in pieces if piece.choices[0].logprobs]
    assert [token for each in streamed for token in each.tokens] == told.tokens
    assert [offset for each in streamed for offset in each.text_offset] == told.text_offset


def test_offsets_are_those_of_a_text_whose_characters_span_tokens(client: openai.OpenAI) -> None:
    text = " 日 two 日 one"
    fields = {"model": MODEL, "prompt": "A", "max_tokens": 40, "extra_body": {"guided_choice": [text]}}
    choice = client.completions.create(**fields, logprobs=1).choices[0]
    assert choice.text == text
    ends = [len(text.encode()[:at].decode("utf-8", "ignore")) for at in range(len(text.encode()))]
    assert choice.logprobs.text_offset[: len(ends)] == ends
    streamed = [piece.choices[0] for piece in client.completions.create(**fields, logprobs=1, stream=True)]
    told = [place for each in streamed if each.logprobs for place in each.logprobs.text_offset]
    assert told == choice.logprobs.text_offset
    empty = client.completions.create(**fields, logprobs=1, stop=" ").choices[0]
    assert (empty.text, empty.logprobs.tokens, empty.logprobs.text_offset) == ("", [], [])


def test_logprobs_do_not_leak_a_stop_string(client: openai.OpenAI) -> None:
    fields = {"seed": 3, "logprobs": True, "logit_bias": ASCII, "max_tokens": 30}
    whole = chat(client, **fields).choices[0].message.content
    stop = whole[9:12]
    cut = whole[: whole.index(stop)]
    for made in (chat(client, **fields, stop=stop), None):
        if made is not None:
            choice = made.choices[0]
            text, told, finish = choice.message.content, choice.logprobs.content, choice.finish_reason
        else:
            got = joined(stream(client, **fields, stop=[stop]))
            text, told, finish = got["content"], got["logprobs"], got["finish"]
        assert (text, finish) == (cut, "stop")
        assert "".join(each.token for each in told) == cut


@pytest.mark.parametrize(
    "fields",
    [
        {"temperature": 1.5, "top_p": 0.9, "seed": 5},
        {"temperature": 1.0, "seed": 5, "extra_body": {"min_p": 0.05, "top_k": 40}},
        {"temperature": 0, "frequency_penalty": 1.5, "presence_penalty": 1.0},
        {"temperature": 0, "extra_body": {"repetition_penalty": 1.5}},
        {
            "seed": 8,
            "response_format": {"type": "json_schema", "json_schema": {"name": "l", "schema": SCHEMA}},
        },
        {"seed": 8, "tools": TOOLS, "tool_choice": "required"},
    ],
    ids=["drawn", "cut", "penalised", "repetition", "schema", "tools"],
)
def test_answers_are_equal_cold_warm_streamed_and_among_others(client: openai.OpenAI, fields: dict) -> None:
    more = {"max_tokens": 60, **fields}
    off = {"extra_headers": {"x-promptcache-cache": "off"}}
    cold = chat(client, **more, **off)
    chat(client, max_tokens=1, tools=fields.get("tools", openai.omit))
    warm = chat(client, **more)
    assert cold.usage.prompt_tokens_details.cached_tokens == 0
    assert warm.usage.prompt_tokens_details.cached_tokens == warm.usage.prompt_tokens - 1

    def said(message):
        calls = [(call.function.name, call.function.arguments) for call in message.tool_calls or []]
        return (message.content or "", calls)

    expected = said(cold.choices[0].message)
    assert said(warm.choices[0].message) == expected
    streamed = joined(stream(client, **more))
    assert (streamed["content"], [tuple(call[1:]) for call in streamed["calls"]]) == expected
    several = chat(client, **more, n=3)
    assert said(several.choices[0].message) == expected


@pytest.mark.parametrize("seed", range(3))
def test_a_schema_is_kept_to(client: openai.OpenAI, seed: int) -> None:
    choice = chat(client, response_format=AS_SCHEMA, seed=seed, temperature=1.5, max_tokens=200).choices[0]
    value = json.loads(choice.message.content)
    assert set(value) == {"name", "watts"}
    assert value["watts"] in {5, 40}
    assert choice.finish_reason == "stop"


def test_other_shapes_and_the_older_api(client: openai.OpenAI) -> None:
    for extra, texts in (
        ({"guided_choice": ["floor", "table"]}, {"floor", "table"}),
        ({"structured_outputs": {"regex": "[0-9]{2} W"}}, {f"{n:02} W" for n in range(100)}),
        ({"guided_grammar": 'start: "a" "b"'}, {"ab"}),
    ):
        assert chat(client, extra_body=extra).choices[0].message.content in texts
        made = client.completions.create(model=MODEL, prompt="Lamp:", extra_body=extra)
        assert made.choices[0].text in texts
    told = chat(client, extra_body={"guided_json": SCHEMA}, max_tokens=200)
    assert set(json.loads(told.choices[0].message.content)) == {"name", "watts"}


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        (
            {
                "response_format": {
                    "type": "json_schema",
                    "json_schema": {
                        "name": "x",
                        "strict": True,
                        "schema": {"type": "object", "properties": {"a": {"type": "lamp"}}},
                    },
                }
            },
            "response_format.json_schema.schema.properties.a",
        ),
        (
            {
                "tools": [
                    TOOLS[0],
                    {"type": "function", "function": {"name": "f", "parameters": {"properties": {"a": 5}}}},
                ]
            },
            "tools[1].function.parameters.properties.a",
        ),
        ({"extra_body": {"guided_grammar": "start: ???"}}, "guided_grammar"),
        ({"extra_body": {"guided_grammar": 'start: "a" b\nb: b "x"'}}, "guided_grammar"),
        ({"top_logprobs": 2}, "top_logprobs"),
        ({"presence_penalty": 3}, "presence_penalty"),
        ({"logit_bias": {"99999": 1}}, "logit_bias"),
    ],
)
def test_faults_are_400_and_placed(client: openai.OpenAI, fields: dict, param: str) -> None:
    for streamed in (False, True):
        with pytest.raises(openai.BadRequestError) as caught:
            chat(client, stream=streamed, **fields)
        assert caught.value.param == param
        assert caught.value.body["type"] == "invalid_request_error"


def test_a_grammar_found_to_lead_nowhere_is_a_400(client: openai.OpenAI) -> None:
    grammar = {"grammar": 'start: "a" B\nB: /x/ & /y/'}
    with pytest.raises(openai.BadRequestError, match="nothing can follow") as caught:
        chat(client, extra_body={"structured_outputs": grammar})
    assert caught.value.param == "structured_outputs.grammar"
    with pytest.raises(openai.APIError, match="nothing can follow"):
        stream(client, extra_body={"structured_outputs": grammar})
    assert chat(client).choices[0].finish_reason in {"length", "stop"}, "others go on"


def test_a_lenient_schema_passes_over_what_is_not_enforced(client: openai.OpenAI) -> None:
    schema = {"type": "string", "maxLength": 4, "contentEncoding": "base64", "not": {"const": "x"}}
    wanted = {"type": "json_schema", "json_schema": {"name": "x", "schema": schema}}
    assert isinstance(json.loads(chat(client, response_format=wanted).choices[0].message.content), str)
    wanted["json_schema"]["strict"] = True
    with pytest.raises(openai.BadRequestError, match="not"):
        chat(client, response_format=wanted)
    union = {"oneOf": [{"const": 1}, {"const": 2}]}
    made = chat(client, extra_body={"guided_json": union}).choices[0].message.content
    assert made in {"1", "2"}


def test_a_required_call_whole_and_streamed(client: openai.OpenAI) -> None:
    fields = {
        "tools": TOOLS,
        "tool_choice": "required",
        "parallel_tool_calls": False,
        "seed": 2,
        "max_tokens": 99,
    }
    choice = chat(client, **fields).choices[0]
    assert choice.finish_reason == "tool_calls"
    assert choice.message.content is None
    (call,) = choice.message.tool_calls
    assert call.function.name in {"switch_on", "switch_off"}
    assert json.loads(call.function.arguments)["lamp"] in {"floor", "table"}
    chunks = stream(client, **fields)
    got = joined(chunks)
    assert got["finish"] == "tool_calls"
    assert got["content"] == ""
    assert [entry[1:] for entry in got["calls"]] == [[call.function.name, call.function.arguments]]
    assert chunks[-1].usage.completion_tokens == chat(client, **fields).usage.completion_tokens


def test_a_forced_call_cut_off_within_its_mark_is_no_text(client: openai.OpenAI) -> None:
    named = {"type": "function", "function": {"name": "switch_off"}}
    for choice, limit in ((named, 6), ("required", 1), ("required", 10), ("required", 14)):
        fields = {"tools": TOOLS, "tool_choice": choice, "max_tokens": limit}
        made = chat(client, **fields).choices[0]
        assert (made.message.content or "", made.finish_reason) == ("", "length")
        got = joined(stream(client, **fields, logprobs=True))
        assert (got["content"], got["finish"], len(got["logprobs"])) == ("", "length", limit)


def test_a_result_of_an_unknown_call_is_named_by_its_place_in_either_api(client: openai.OpenAI) -> None:
    use = {"type": "tool_use", "id": "c1", "name": "switch_on", "input": {}}
    results = [{"type": "tool_result", "tool_use_id": name, "content": "done"} for name in ("c1", "c9")]
    turns = [
        {"role": "user", "content": "Which?"},
        {"role": "assistant", "content": [use]},
        {"role": "user", "content": results},
    ]
    body = {"model": MODEL, "max_tokens": 5, "system": "s", "messages": turns}
    for streamed in (False, True):
        told = httpx.post(f"{str(client.base_url).rstrip('/')}/messages", json={**body, "stream": streamed})
        assert told.status_code == 400
        assert "'messages.2.content.1.tool_use_id'" in told.json()["error"]["message"]
    call = {"type": "function_call", "call_id": "c1", "name": "switch_on", "arguments": "{}"}
    outputs = [{"type": "function_call_output", "call_id": name, "output": "x"} for name in ("c1", "c9")]
    asked = {"model": MODEL, "instructions": "s", "max_output_tokens": 5}
    with pytest.raises(openai.BadRequestError) as caught:
        client.responses.create(**asked, input=[{"role": "user", "content": "?"}, call, *outputs])
    assert caught.value.param == "input[3].call_id"
    assert "'input[3].call_id'" in caught.value.body["message"]
    first = client.responses.create(**asked, input="Which?")
    with pytest.raises(openai.BadRequestError) as caught:
        client.responses.create(**asked, previous_response_id=first.id, input=[call, *outputs])
    assert caught.value.param == "input[2].call_id"


def test_a_named_call_and_none(client: openai.OpenAI) -> None:
    named = {"type": "function", "function": {"name": "switch_off"}}
    for seed in range(3):
        made = chat(client, tools=TOOLS, tool_choice=named, seed=seed, max_tokens=99).choices[0].message
        assert [call.function.name for call in made.tool_calls] == ["switch_off"]
    none = chat(client, tools=TOOLS, tool_choice="none", seed=1).choices[0]
    assert none.message.tool_calls is None
    assert none.finish_reason in {"stop", "length"}


def test_some_of_the_tools_are_allowed_and_all_stay_in_the_prompt(client: openai.OpenAI) -> None:
    """As `Conversation.mask_tools` asks for it: the prefix with the tools is found again."""
    seen = chat(client, tools=TOOLS, tool_choice="none").usage
    only = {"type": "function", "function": {"name": "switch_off"}}
    allowed = {"type": "allowed_tools", "allowed_tools": {"mode": "required", "tools": [only]}}
    for seed in range(4):
        made = chat(client, tools=TOOLS, tool_choice=allowed, seed=seed, max_tokens=200)
        assert {call.function.name for call in made.choices[0].message.tool_calls} == {"switch_off"}
        assert made.usage.prompt_tokens == seen.prompt_tokens
        assert made.usage.prompt_tokens_details.cached_tokens == seen.prompt_tokens - 1
    tools = [{"type": "function", **tool["function"]} for tool in TOOLS]
    choice = {
        "type": "allowed_tools",
        "mode": "required",
        "tools": [{"type": "function", "name": "switch_off"}],
    }
    told = client.responses.create(
        model=MODEL, input="Which?", tools=tools, tool_choice=choice, max_output_tokens=200
    )
    assert {item.name for item in told.output if item.type == "function_call"} == {"switch_off"}
    choice["tools"][0]["name"] = "none_of_them"
    with pytest.raises(openai.BadRequestError) as caught:
        client.responses.create(model=MODEL, input="Which?", tools=tools, tool_choice=choice)
    assert caught.value.param == "tool_choice.tools[0]"


def test_several_calls_at_once(client: openai.OpenAI) -> None:
    # The comma after a call is made likelier than the bracket that closes the list.
    bias = {str(ord(",")): 4, str(ord("]")): -4}
    fields = {"tools": TOOLS, "tool_choice": "required", "logit_bias": bias, "seed": 1, "max_tokens": 300}
    choice = chat(client, **fields).choices[0]
    calls = choice.message.tool_calls
    assert len(calls) > 1
    assert len({call.id for call in calls}) == len(calls)
    whole = [call for call in calls if call.function.arguments.endswith("}")]
    assert len(whole) >= len(calls) - 1
    got = joined(stream(client, **fields))
    assert [entry[1:] for entry in got["calls"]] == [[c.function.name, c.function.arguments] for c in calls]


def test_a_call_and_its_result_go_back(client: openai.OpenAI) -> None:
    fields = {"tools": TOOLS, "seed": 2, "max_tokens": 99}
    first = chat(client, **fields, tool_choice="required", parallel_tool_calls=False)
    message = first.choices[0].message
    results = [{"role": "tool", "tool_call_id": call.id, "content": "done"} for call in message.tool_calls]
    again = chat(client, **fields, messages=[*ASK, message.model_dump(exclude_none=True), *results])
    known = first.usage.prompt_tokens + first.usage.completion_tokens - 1
    assert again.usage.prompt_tokens_details.cached_tokens >= known, (
        "the answer itself is reused, to the token"
    )


def test_token_ids_on_request(client: openai.OpenAI, served: Served) -> None:
    engine = served.gateway.upstream.engine
    fields = {"seed": 4, "extra_body": {"return_token_ids": True}}
    whole = chat(client, **fields)
    text = engine.render_chat(ASK)
    assert whole.prompt_token_ids == engine.tokenizer.encode(text)
    choice = whole.choices[0]
    assert len(choice.token_ids) == whole.usage.completion_tokens
    assert engine.tokenizer.decode(choice.token_ids).startswith(choice.message.content.rstrip("\ufffd"))
    chunks = stream(client, **fields)
    assert chunks[0].prompt_token_ids == whole.prompt_token_ids
    assert joined(chunks)["token_ids"] == choice.token_ids
    older = client.completions.create(model=MODEL, prompt=whole.prompt_token_ids, max_tokens=12, **fields)
    assert older.choices[0].token_ids == choice.token_ids
    assert older.choices[0].prompt_token_ids == whole.prompt_token_ids
    pieces = list(client.completions.create(model=MODEL, prompt="a", max_tokens=5, stream=True, **fields))
    assert pieces[0].choices[0].prompt_token_ids == [97]
    assert sum(len(piece.choices[0].token_ids or []) for piece in pieces[:-1]) == 5
    assert not hasattr(chat(client), "prompt_token_ids")


def test_a_conversation_goes_on_by_token_ids_through_responses(client: openai.OpenAI) -> None:
    fields = {"model": MODEL, "max_output_tokens": 12, "temperature": 1.5, "store": False}
    extra = {"return_token_ids": True, "seed": 3, "logit_bias": ASCII}
    ask = [{"role": "user", "content": "Which lamp is it? " * 4}]
    first = client.responses.create(input=ask, extra_body=extra, **fields)
    assert len(first.token_ids) == first.usage.output_tokens
    *_, last = client.responses.create(input=ask, extra_body=extra, stream=True, **fields)
    assert last.type == "response.incomplete", "it was cut"
    streamed = last.response
    assert (streamed.prompt_token_ids, streamed.token_ids) == (first.prompt_token_ids, first.token_ids)
    known = first.prompt_token_ids + first.token_ids
    said = [
        *ask,
        {"role": "assistant", "content": first.output_text},
        {"role": "user", "content": "And now?"},
    ]
    again = client.responses.create(input=said, extra_body={**extra, "prompt_token_ids": known}, **fields)
    assert again.prompt_token_ids[: len(known)] == known
    assert again.usage.input_tokens_details.cached_tokens == len(known) - 1, "the last was never computed"


def test_faults_are_named_by_their_place_in_a_responses_request(client: openai.OpenAI) -> None:
    tool = {"type": "function", "name": "f", "parameters": {"type": "string"}}
    for fields, param in (
        ({"extra_body": {"prompt_token_ids": "x"}}, "prompt_token_ids"),
        ({"extra_body": {"prompt_token_ids": [-1]}}, "prompt_token_ids"),
        ({"tools": [tool]}, "tools[0].parameters.type"),
        ({"max_output_tokens": 10**6}, "input"),
    ):
        with pytest.raises(openai.BadRequestError) as caught:
            client.responses.create(model=MODEL, input="Which?", **fields)
        assert caught.value.param == param


def test_echo(client: openai.OpenAI) -> None:
    fields = {"model": MODEL, "max_tokens": 4, "temperature": 0}
    plain = client.completions.create(prompt="A lamp", **fields).choices[0].text
    for prompt in ("A lamp", list(b"A lamp")):
        assert (
            client.completions.create(prompt=prompt, echo=True, **fields).choices[0].text == "A lamp" + plain
        )
    pieces = client.completions.create(prompt="A lamp", echo=True, stream=True, **fields)
    assert "".join(piece.choices[0].text for piece in pieces) == "A lamp" + plain
    with pytest.raises(openai.BadRequestError, match="echo"):
        client.completions.create(prompt="A lamp", echo=True, logprobs=1, **fields)


def test_streamed_text_never_splits_a_character(client: openai.OpenAI) -> None:
    """Emoji, joined emoji, combining marks: forced byte by byte, and each chunk holds whole characters."""
    text = "a\u0301🏳️‍🌈 naïve 👩‍👩‍👧 e\u0308"
    chunks = stream(client, max_tokens=80, extra_body={"guided_choice": [text]})
    parts = [
        chunk.choices[0].delta.content for chunk in chunks if chunk.choices and chunk.choices[0].delta.content
    ]
    assert "".join(parts) == text
    assert len(parts) == len(text), "one token a byte: each character goes out when its last byte has come"
    assert "\ufffd" not in "".join(parts)
    cut = chat(client, max_tokens=5, extra_body={"guided_choice": [text]}).choices[0].message.content
    assert cut == "a\u0301"


def test_a_record_has_usage_when_the_stream_was_cut(served: Served) -> None:
    body = {"model": MODEL, "messages": ASK, "stream": True, "max_tokens": 1500, "ignore_eos": True}
    with served.http.stream("POST", "/v1/chat/completions", json=body) as answer:
        request_id = answer.headers["x-promptcache-request-id"]
        lines = answer.iter_lines()
        for _ in range(12):
            next(lines)
    wait_until(lambda: served.get(f"/promptcache/v1/requests/{request_id}").status_code == 200)
    usage = served.get(f"/promptcache/v1/requests/{request_id}").json()["usage"]
    assert usage["prompt_tokens"] > 100
    assert usage["cached_tokens"] is not None
    assert 0 < usage["output_tokens"] < 1500
