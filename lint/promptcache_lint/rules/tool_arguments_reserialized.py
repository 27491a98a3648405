"""# Tool arguments re-serialized

## What it does
Finds tool calls whose arguments are parsed and written again before they are sent back.

## Why is this bad?
The model writes `{"city":"Rome"}`, `json.dumps` writes `{"city": "Rome"}`. One space more, another escape,
another number format, and the call is no longer the text that the server holds.

## Example
```python
import json

def keep(messages, call):
    arguments = json.dumps(json.loads(call.function.arguments))
    function = {"name": call.function.name, "arguments": arguments}
    messages.append({"role": "assistant", "tool_calls": [{"id": call.id, "function": function}]})
```

## Use instead
Parse a copy for yourself, and send back the text as it came.
```python
import json

def keep(messages, call, run):
    function = {"name": call.function.name, "arguments": call.function.arguments}
    messages.append({"role": "assistant", "tool_calls": [{"id": call.id, "function": function}]})
    return run(**json.loads(call.function.arguments))
```
"""

from __future__ import annotations

from promptcache_lint.rule import PracticeRule


class ToolArgumentsReserialized(PracticeRule):
    """PC507."""

    code = "PC507"
