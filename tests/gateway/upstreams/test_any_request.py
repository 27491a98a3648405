"""Whatever JSON a caller sends to the built-in engine is read, or refused with a 400 that names a path."""

from collections.abc import Callable

import orjson
from hypothesis import given
from hypothesis import strategies as st

from promptcache_engine import SamplingParams
from promptcache_gateway.errors import ApiError
from promptcache_gateway.plane.body import decode_object
from promptcache_gateway.upstreams.parameters import read_parameters
from promptcache_gateway.upstreams.prompts import read_messages, read_prompt

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from(["", "user", "text", "auto", "x"])
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["role", "content", "type", "text", "include_usage"]), inner, max_size=4
        )
    ),
    max_leaves=10,
)
NAMES = st.sampled_from(
    [
        *("model", "stream", "stream_options", "temperature", "top_p", "top_k", "seed", "max_tokens"),
        *("max_completion_tokens", "stop", "n", "tools", "logit_bias", "logprobs", "response_format"),
        *("tool_choice", "structured_outputs", "guided_choice", "min_p", "min_tokens", "stop_token_ids"),
        *("ignore_eos", "cache_salt", "messages", "prompt", "user", "unknown"),
    ]
)


def outcome(read: Callable[[], object]) -> object:
    """What was read, or the refusal, which must itself be sound."""
    try:
        return read()
    except ApiError as error:
        refusal = error
    assert refusal.status == 400
    assert orjson.loads(refusal.to_json())["error"]["message"]
    return refusal


@given(payload=st.dictionaries(NAMES, VALUES, max_size=6))
def test_parameters_are_read_or_refused(payload: dict[str, object]) -> None:
    parameters = outcome(lambda: read_parameters(payload, prompt_field="messages", default_max=None))
    if isinstance(parameters, ApiError):
        assert parameters.param
    else:
        SamplingParams(**parameters.sampling)


@given(messages=VALUES)
def test_messages_are_read_or_refused(messages: object) -> None:
    read = outcome(lambda: read_messages({"messages": messages}))
    if isinstance(read, ApiError):
        assert read.param.startswith("messages")
    else:
        assert all(set(message) == {"role", "content"} for message in read)
        assert all(isinstance(text, str) for message in read for text in message.values())


@given(prompt=VALUES)
def test_prompts_are_read_or_refused(prompt: object) -> None:
    read = outcome(lambda: read_prompt({"prompt": prompt}))
    assert read.param == "prompt" if isinstance(read, ApiError) else read


@given(body=st.binary(max_size=60) | st.text(alphabet='{}[]",:\\ud8a0 1e', max_size=40).map(str.encode))
def test_bodies_are_decoded_or_refused(body: bytes) -> None:
    payload = outcome(lambda: decode_object(body))
    assert isinstance(payload, ApiError) or orjson.dumps(payload), "what was decoded can be encoded"
