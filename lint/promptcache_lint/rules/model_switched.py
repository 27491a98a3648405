"""# Model switched

## What it does
Finds conversations that go to one model in one turn and to another in the next.

## Why is this bad?
Each model has a cache of its own. After a switch the whole conversation is computed once more, which often
costs more than the cheaper model saves. A fallback after an error is fine.

## Example
```python
import random

def ask(client, messages):
    return client.chat.completions.create(model=random.choice(["big", "small"]), messages=messages)
```
```python
def run(client, messages, task):
    for step in range(10):
        model = "big" if step == 0 else "small"
        answer = client.chat.completions.create(model=model, messages=messages)
        messages.append({"role": "assistant", "content": answer})
```

## Use instead
Keep the model for a whole conversation, and hand parts of the work to another one in a conversation of its
own.
```python
def run(client, messages, model):
    for step in range(10):
        answer = client.chat.completions.create(model=model, messages=messages)
        messages.append({"role": "assistant", "content": answer})
```
"""

from __future__ import annotations

from promptcache_lint.rule import PracticeRule


class ModelSwitched(PracticeRule):
    """PC503."""

    code = "PC503"
