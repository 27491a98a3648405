"""# History trimmed from the front

## What it does
Finds conversations that lose their oldest messages: `messages[-20:]`, `pop(0)`, `deque(maxlen=…)`,
`trim_messages`, and the window memories of the libraries.

## Why is this bad?
A window that slides by one message a turn changes the first message of every turn. From the moment the
window is full, nothing behind the system prompt is ever reused: the longest conversations become the dearest.

## Example
```python
def ask(client, messages, text):
    messages.append({"role": "user", "content": text})
    return client.chat.completions.create(model="m", messages=messages[-20:])
```
```python
class Chat:
    def __init__(self, client):
        self.client = client
        self.history = []

    def say(self, text):
        self.history.append({"role": "user", "content": text})
        if len(self.history) > 40:
            self.history.pop(0)
        return self.client.chat.completions.create(model="m", messages=self.history)
```

A helper is followed wherever it stands, in another module too, and so is a method of an object whose class is
known by what is assigned or by an annotation. What another module does is told at the call, with the cut as
its source.
```python
class Memory:
    def __init__(self):
        self.kept = []

    def window(self):
        return self.kept[-20:]

def answer(client, memory: Memory):
    return client.chat.completions.create(model="m", messages=memory.window())
```

## Use instead
Append only, and compact rarely: when the context is nearly full, replace the older half by one summary, and
go on appending behind it.
```python
def ask(client, messages, text):
    messages.append({"role": "user", "content": text})
    return client.chat.completions.create(model="m", messages=messages)
```
Looking at the last messages is fine.
```python
def last_words(messages):
    for message in messages[-3:]:
        print(message["content"])
```
"""

from __future__ import annotations

from promptcache_lint.rule import PracticeRule


class HistoryTrimmed(PracticeRule):
    """PC501."""

    code = "PC501"
