"""# Fan-out before the first answer

## What it does
Finds many requests with the same long prefix that are started at once, before any of them has been answered.

## Why is this bad?
What a request has computed can be read only when its answer begins. Requests that start together all compute
the shared prefix, and with a provider that charges for writing to the cache each of them pays for that too.

## Example
```python
import asyncio
from anthropic import AsyncAnthropic

client = AsyncAnthropic()
SYSTEM = [{"type": "text", "text": open("rules.md").read(), "cache_control": {"type": "ephemeral"}}]

async def judge(item):
    return await client.messages.create(
        model="claude-sonnet-4-5",
        max_tokens=5,
        system=SYSTEM,
        messages=[{"role": "user", "content": item}],
    )

async def judge_all(items):
    return await asyncio.gather(*[judge(item) for item in items])
```

## Use instead
```python
import asyncio
from anthropic import AsyncAnthropic

client = AsyncAnthropic()
SYSTEM = [{"type": "text", "text": open("rules.md").read(), "cache_control": {"type": "ephemeral"}}]

async def judge(item):
    return await client.messages.create(
        model="claude-sonnet-4-5",
        max_tokens=5,
        system=SYSTEM,
        messages=[{"role": "user", "content": item}],
    )

async def judge_all(items):
    first = await judge(items[0])
    return [first, *await asyncio.gather(*[judge(item) for item in items[1:]])]
```
"""

from __future__ import annotations

from promptcache_lint.rule import PracticeRule


class FanOutBeforeFirstAnswer(PracticeRule):
    """PC608."""

    code = "PC608"
