"""# Results in completion order

## What it does
Finds results of tools that are added to the conversation in the order in which they finish.

## Why is this bad?
Calls that run side by side finish in another order each time. As long as the very same list is sent again
there is no harm; a retry, a resumed conversation or a second replica that runs them again begins a new
prefix.

## Example
```python
from concurrent.futures import as_completed

def collect(messages, futures):
    for future in as_completed(futures):
        messages.append({"role": "tool", "tool_call_id": futures[future], "content": future.result()})
```

## Use instead
```python
def collect(messages, calls, futures):
    for call in calls:
        messages.append({"role": "tool", "tool_call_id": call.id, "content": futures[call.id].result()})
```
"""

from __future__ import annotations

from promptcache_lint.rule import PracticeRule


class ResultsInCompletionOrder(PracticeRule):
    """PC304."""

    code = "PC304"
