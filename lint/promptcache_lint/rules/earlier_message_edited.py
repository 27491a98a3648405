"""# Earlier message edited

## What it does
Finds messages that are changed, inserted or removed after they have been sent.

## Why is this bad?
The cache matches from the front. A message that changes in the middle makes everything behind it new, and an
edit that moves along with the conversation ("shorten all but the last four") makes it new in every turn.

## Example
```python
def ask(client, messages, text):
    for message in messages[:-4]:
        message["content"] = message["content"][:200]
    messages.append({"role": "user", "content": text})
    return client.chat.completions.create(model="m", messages=messages)
```

## Use instead
Shorten a text before it is sent for the first time, and leave it alone from then on.
```python
def ask(client, messages, text):
    messages.append({"role": "user", "content": text[:2000]})
    return client.chat.completions.create(model="m", messages=messages)
```
What is done to the newest message is fine.
```python
def ask(client, messages, hint):
    messages[-1]["content"] += "\\n" + hint
    return client.chat.completions.create(model="m", messages=messages)
```
"""

from __future__ import annotations

from promptcache_lint.rule import PracticeRule


class EarlierMessageEdited(PracticeRule):
    """PC502."""

    code = "PC502"
