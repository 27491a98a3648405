"""# Tools changed

## What it does
Finds tools that are added, removed or filtered between the turns of one conversation.

## Why is this bad?
Tools come first in the prompt. One tool more or less makes the system prompt and the whole conversation new.

## Example
```python
def run(client, messages, tools, state):
    while not state.done:
        allowed = [tool for tool in tools if tool["name"] in state.allowed]
        answer = client.messages.create(model="m", messages=messages, tools=allowed)
        messages.append({"role": "assistant", "content": answer.content})
```

## Use instead
Send the same tools always, and say in a message or through `tool_choice` which of them may be called now.
```python
def run(client, messages, tools, state):
    while not state.done:
        answer = client.messages.create(model="m", messages=messages, tools=tools)
        messages.append({"role": "assistant", "content": answer.content})
```
"""

from __future__ import annotations

from promptcache_lint.rule import PracticeRule


class ToolsChanged(PracticeRule):
    """PC302."""

    code = "PC302"
