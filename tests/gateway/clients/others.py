"""Uses of other people's clients, each in a process of its own: what they leave open is theirs.

python -W ignore -m tests.gateway.clients.others NAME BASE_URL
"""

from __future__ import annotations

import asyncio
import sys
from importlib import import_module

ARGUMENTS = '{"city": "Ålesund"}'
CACHED = 1920


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


def main() -> None:
    """Use one client; an assertion fails where it does not get what it should."""
    name, address = sys.argv[1:]
    asyncio.run({"pydantic_ai": use_pydantic_ai}[name](address))
    print(f"{name}: chat, stream, tools, cached tokens")


if __name__ == "__main__":
    main()
