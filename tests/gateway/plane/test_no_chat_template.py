"""A base model has no chat template: a chat request is refused with the way out, a bare prompt answered."""

from collections.abc import Iterator

import openai
import pytest

from promptcache_engine import Engine, EngineConfig
from promptcache_engine.models.testing import tiny_model
from promptcache_gateway.settings import EngineSettings, Settings
from promptcache_gateway.upstreams.local import LocalUpstream
from tests.gateway.serving import serve


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[openai.OpenAI]:
    loaded = tiny_model(seed=0, family="gemma3", layer_windows=(16, None), chat_template=None)
    engine = Engine.from_loaded(loaded, EngineConfig(model="base", kv_cache_tokens=2_048))
    upstream = LocalUpstream(EngineSettings(model="base"), engine)
    with (
        serve(Settings(data_dir=tmp_path_factory.mktemp("data")), upstream=upstream) as served,
        openai.OpenAI(base_url=f"{served.url}/v1", api_key="unused", max_retries=0) as opened,
    ):
        yield opened


def test_a_chat_request_is_a_400_that_names_the_flag(client: openai.OpenAI) -> None:
    with pytest.raises(openai.BadRequestError) as caught:
        client.chat.completions.create(model="base", messages=[{"role": "user", "content": "hello"}])
    body = caught.value.body
    assert isinstance(body, dict)
    assert "--chat-template" in body["message"]
    assert body["type"] == "invalid_request_error"


def test_a_bare_prompt_is_answered(client: openai.OpenAI) -> None:
    answer = client.completions.create(model="base", prompt="hello", max_tokens=4, temperature=0)
    assert answer.usage is not None
    assert answer.usage.prompt_tokens == 5
