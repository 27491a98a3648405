"""Uses of other people's clients, each in a process of its own: what they leave open is theirs.

python -W ignore -m tests.gateway.clients.others NAME BASE_URL
"""

from __future__ import annotations

import asyncio
import json
import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

ARGUMENTS = '{"city": "Ålesund"}'
CACHED = 1920
WEATHER = {
    "type": "function",
    "function": {
        "name": "weather",
        "description": "The weather of a city.",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string"}},
            "required": ["city"],
        },
    },
}


async def use_pydantic_ai(address: str) -> None:
    """Pydantic AI's agent."""
    library = import_module("pydantic_ai")
    models = import_module("pydantic_ai.models.openai")
    providers = import_module("pydantic_ai.providers.openai")
    provider = providers.OpenAIProvider(base_url=address, api_key="k")
    agent = library.Agent(models.OpenAIChatModel("m", provider=provider))
    asked: list[str] = []

    whole = await agent.run("Hi")
    assert whole.output == "Hello there."
    usage = whole.usage() if callable(whole.usage) else whole.usage
    assert usage.cache_read_tokens == CACHED

    async with agent.run_stream("Hi") as stream:
        assert "".join([part async for part in stream.stream_text(delta=True)]) == "Hello there."

    @agent.tool_plain
    def weather(city: str) -> str:
        """The weather of a city."""
        asked.append(city)
        return "rain"

    assert (await agent.run("Weather?")).output == "Hello there."
    assert asked == ["Ålesund"]


async def use_langchain_openai(address: str) -> None:
    """LangChain's chat model."""
    library = import_module("langchain_openai")
    tools = import_module("langchain_core.tools")
    messages = import_module("langchain_core.messages")
    model = library.ChatOpenAI(
        model="m", base_url=address, api_key="k", stream_usage=True, max_retries=0, use_responses_api=False
    )

    whole = await model.ainvoke("Hi")
    assert whole.content == "Hello there."
    assert whole.usage_metadata["input_token_details"]["cache_read"] == CACHED

    parts = [part async for part in model.astream("Hi")]
    assert "".join(part.content for part in parts) == "Hello there."
    told = [part.usage_metadata for part in parts if part.usage_metadata]
    assert [usage["input_token_details"]["cache_read"] for usage in told] == [CACHED]

    @tools.tool
    def weather(city: str) -> str:
        """The weather of a city."""
        return f"rain in {city}"

    armed = model.bind_tools([weather])
    asked = await armed.ainvoke("Weather?")
    assert [call["args"] for call in asked.tool_calls] == [json.loads(ARGUMENTS)]
    streamed = await _sum(armed.astream("Weather?"))
    assert [call["args"] for call in streamed.tool_calls] == [json.loads(ARGUMENTS)]
    results = [await weather.ainvoke(call) for call in asked.tool_calls]
    assert results[0].content == "rain in Ålesund"
    last = await armed.ainvoke([messages.HumanMessage("Weather?"), asked, *results])
    assert last.content == "Hello there."


async def _sum(parts: AsyncIterator[Any]) -> Any:
    total = None
    async for part in parts:
        total = part if total is None else total + part
    return total


async def use_litellm(address: str) -> None:
    """LiteLLM's own client function, by its provider for OpenAI-shaped servers."""
    library = import_module("litellm")
    question = {"role": "user", "content": "Weather?"}
    to = {"model": "openai/m", "api_base": address, "api_key": "k", "num_retries": 0}

    whole = await library.acompletion(messages=[question], **to)
    assert whole.choices[0].message.content == "Hello there."
    assert whole.usage.prompt_tokens_details.cached_tokens == CACHED

    options = {"stream": True, "stream_options": {"include_usage": True}}
    parts = [part async for part in await library.acompletion(messages=[question], **options, **to)]
    texts = [part.choices[0].delta.content or "" for part in parts if part.choices]
    assert "".join(texts) == "Hello there."
    told = [part.usage for part in parts if getattr(part, "usage", None)]
    assert told[-1].prompt_tokens_details.cached_tokens == CACHED

    asked = await library.acompletion(messages=[question], tools=[WEATHER], **to)
    calls = asked.choices[0].message.tool_calls
    assert [call.function.arguments for call in calls] == [ARGUMENTS]
    result = {"role": "tool", "tool_call_id": calls[0].id, "content": "rain"}
    talk = [question, asked.choices[0].message.model_dump(exclude_none=True), result]
    last = await library.acompletion(messages=talk, tools=[WEATHER], **to)
    assert last.choices[0].message.content == "Hello there."

    stream = await library.acompletion(messages=[question], tools=[WEATHER], stream=True, **to)
    built = library.stream_chunk_builder([part async for part in stream])
    assert built.choices[0].message.tool_calls[0].function.arguments == ARGUMENTS


USES = {
    "pydantic_ai": use_pydantic_ai,
    "langchain_openai": use_langchain_openai,
    "litellm": use_litellm,
}


def main() -> None:
    """Use one client; an assertion fails where it does not get what it should."""
    name, address = sys.argv[1:]
    asyncio.run(USES[name](address))
    print(f"{name}: chat, stream, tools, cached tokens")


if __name__ == "__main__":
    main()
