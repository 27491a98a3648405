"""# Parameter switched

## What it does
Finds parameters that shape the prompt (`tool_choice`, `thinking`, `reasoning_effort`, `response_format` and
the like) and that differ between the turns of one conversation.

## Why is this bad?
Providers write these parameters into the prompt, some of them in front of it. A switch makes what stands
behind it new, as an edit of the text would.

## Example
```python
def run(client, messages, tools):
    for step in range(10):
        effort = "high" if step == 0 else "low"
        answer = client.responses.create(model="m", input=messages, tools=tools, reasoning_effort=effort)
        messages.append({"role": "assistant", "content": answer.output_text})
```

## Use instead
```python
def run(client, messages, tools):
    for step in range(10):
        answer = client.responses.create(model="m", input=messages, tools=tools, reasoning_effort="low")
        messages.append({"role": "assistant", "content": answer.output_text})
```
"""

from __future__ import annotations

from promptcache_lint.rule import PracticeRule


class ParameterSwitched(PracticeRule):
    """PC504."""

    code = "PC504"
