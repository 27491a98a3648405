"""# Unpinned tool listing

## What it does
Finds tools that are taken from a server's listing (MCP) each time a request is made.

## Why is this bad?
The server decides about names, texts and order. When it is updated, loads another plug-in or lists in another
order, the front of every prompt changes, in the middle of conversations too.

## Example
```python
async def run(client, session, messages):
    while True:
        listing = await session.list_tools()
        tools = [{"name": tool.name, "input_schema": tool.inputSchema} for tool in listing.tools]
        answer = await client.messages.create(model="m", messages=messages, tools=tools)
        messages.append({"role": "assistant", "content": answer.content})
```

## Use instead
List once, choose what is wanted, and put it in an order of your own.
```python
async def load(session, wanted):
    listing = await session.list_tools()
    chosen = [tool for tool in listing.tools if tool.name in wanted]
    return sorted(chosen, key=lambda tool: tool.name)
```
"""

from __future__ import annotations

from promptcache_lint.rule import PracticeRule


class UnpinnedToolListing(PracticeRule):
    """PC305."""

    code = "PC305"
