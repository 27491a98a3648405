"""Requests that share a long prefix and are started at once, before any of them was answered."""

from __future__ import annotations

import pytest

from promptcache_lint import lint_text

MODULE = """
import asyncio
from anthropic import AsyncAnthropic
client = AsyncAnthropic()
RULES = open("rules.md").read()
LONG = "LONGTEXT"
SYSTEM = [{"type": "text", "text": RULES, "cache_control": {"type": "ephemeral"}}]
async def judge(item):
    return await client.messages.create(
        model="m", max_tokens=5, system=SYSTEM, messages=[{"role": "user", "content": item}]
    )
async def twice(item):
    return await judge(item)
async def plain(item):
    return await client.messages.create(model="m", system=RULES, messages=[{"role": "user", "content": item}])
async def lengthy(item):
    head = {"role": "system", "content": "Judge this."}
    return await client.chat.completions.create(
        model="m", messages=[{"role": "system", "content": LONG}, {"role": "user", "content": item}]
    )
async def own(item):
    system = [{"type": "text", "text": item.rules, "cache_control": {"type": "ephemeral"}}]
    return await client.messages.create(model="m", system=[item.rules, SYSTEM], messages=item.messages)
async def bounded(item):
    async with semaphore:
        return await client.messages.create(model="m", system=SYSTEM, messages=item.messages)
async def fetch(item):
    return await http.get(item)
async def run(items):
    BODY
""".replace("LONGTEXT", "Judge as a judge would, and say why. " * 120)
AT_ONCE = {
    "a list": "return await asyncio.gather(*[judge(i) for i in items])",
    "a generator": "return await asyncio.gather(*(judge(i) for i in items))",
    "mapped": "return await asyncio.gather(*map(judge, items))",
    "by a name": "jobs = [judge(i) for i in items]\n    return await asyncio.gather(*jobs)",
    "tasks": "jobs = [asyncio.create_task(judge(i)) for i in items]\n    return await asyncio.gather(*jobs)",
    "one call further": "return await asyncio.gather(*[twice(i) for i in items])",
    "a group": "async with asyncio.TaskGroup() as group:\n        for i in items:\n"
    "            group.create_task(judge(i))",
    "a nursery": "async with trio.open_nursery() as nursery:\n        for i in items:\n"
    "            nursery.start_soon(judge, i)",
    "a long text without a mark": "return await asyncio.gather(*[lengthy(i) for i in items])",
}
QUIET = {
    "one goes ahead": "await twice(items[0])\n    return await asyncio.gather(*map(judge, items[1:]))",
    "the rest": "return await asyncio.gather(*[judge(i) for i in items[1:]])",
    "asked before": "await judge(items[0])\n    return await asyncio.gather(*[judge(i) for i in items])",
    "one by one": "return [await judge(i) for i in items]",
    "bounded": "return await asyncio.gather(*[bounded(i) for i in items])",
    "no prefix that is kept": "return await asyncio.gather(*[plain(i) for i in items])",
    "each its own": "return await asyncio.gather(*[own(i) for i in items])",
    "no request": "return await asyncio.gather(*[fetch(i) for i in items])",
    "two": "return await asyncio.gather(judge(items[0]), fetch(items))",
    "warmed up": "await warm_up(SYSTEM)\n    return await asyncio.gather(*[judge(i) for i in items])",
}


def _codes(body: str) -> list[str]:
    found = lint_text(MODULE.replace("BODY", body), "judges.py").findings
    return [each.code for each in found if each.code not in {"PC602", "PC604"}]


@pytest.mark.parametrize("body", AT_ONCE.values(), ids=AT_ONCE)
def test_requests_that_are_started_at_once(body):
    assert _codes(body) == ["PC608"]


@pytest.mark.parametrize("body", QUIET.values(), ids=QUIET)
def test_requests_that_are_not(body):
    assert _codes(body) == []
