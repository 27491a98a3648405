"""# System prompt edited

## What it does
Finds system prompts that are rewritten while a conversation runs.

## Why is this bad?
The system prompt stands in front of everything. Each edit makes the whole conversation new, however small
it is.

## Example
```python
def run(client, messages, notes):
    while True:
        messages[0]["content"] = f"You are a clerk. Notes so far: {notes}"
        answer = client.chat.completions.create(model="m", messages=messages)
        messages.append({"role": "assistant", "content": answer})
        notes = answer
```

## Use instead
Append what is new as a message.
```python
def run(client, messages, notes):
    while True:
        answer = client.chat.completions.create(model="m", messages=messages)
        messages.append({"role": "assistant", "content": answer})
        messages.append({"role": "user", "content": f"Notes so far: {answer}"})
```
"""

from __future__ import annotations

from promptcache_lint.rule import PracticeRule


class SystemPromptEdited(PracticeRule):
    """PC403."""

    code = "PC403"
