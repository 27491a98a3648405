"""# Tools in another order

## What it does
Finds tools whose order comes from a set, a directory listing or another source without an order.

## Why is this bad?
Tools come first in the prompt. In another order they are another prompt, and nothing behind them is reused.

## Example
```python
SEARCH = {"name": "search", "input_schema": {}}

def ask(client, messages, extra):
    return client.messages.create(model="m", messages=messages, tools=[make(name) for name in set(extra)])
```

## Use instead
```python
SEARCH = {"name": "search", "input_schema": {}}

def ask(client, messages, extra):
    return client.messages.create(model="m", messages=messages, tools=[make(name) for name in sorted(extra)])
```
"""

from __future__ import annotations

from promptcache_lint.findings import Severity
from promptcache_lint.prompts import Mark, Stability
from promptcache_lint.rule import Sign, SignRule


class ToolsReordered(SignRule):
    """PC301."""

    code = "PC301"
    what = "An order of the tools that nobody defines"
    signs = (Sign(Mark("PC301", Severity.WARNING, Stability.PROCESS, bulk=True)),)
