"""# Compaction with another prefix

## What it does
Finds summaries of a conversation that are asked for under a system prompt of their own.

## Why is this bad?
The history is at its longest when it is compacted, and it lies in the cache behind the conversation's own
tools and system prompt. Under another system prompt none of it is found, and all of it is paid in full.

## Example
```python
def compact(client, messages):
    return client.messages.create(
        model="m",
        system="Summarize the conversation in ten sentences.",
        messages=messages,
    )
```

## Use instead
```python
def compact(client, system, tools, messages):
    ask = {"role": "user", "content": "Summarize our conversation so far in ten sentences."}
    return client.messages.create(model="m", system=system, tools=tools, messages=[*messages, ask])
```
"""

from __future__ import annotations

from promptcache_lint.rule import PracticeRule


class CompactionWithAnotherPrefix(PracticeRule):
    """PC506."""

    code = "PC506"
