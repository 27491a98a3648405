"""# Reasoning dropped on replay

## What it does
Finds answers that are sent back without the reasoning the model wrote: blocks of type `thinking` left out,
items of type `reasoning` filtered, `<think>` cut away.

## Why is this bad?
What a server holds is what the model wrote, reasoning included. Without it the answer is another text, and
everything from there on is computed again; several providers also reason worse, or refuse a tool's result
without it. Some APIs demand that the field is removed; there the code is right, and a suppression says so.

## Example
```python
def keep(messages, response):
    blocks = [block for block in response.content if block.type != "thinking"]
    messages.append({"role": "assistant", "content": blocks})
```

## Use instead
```python
def keep(messages, response):
    messages.append({"role": "assistant", "content": response.content})
```
"""

from __future__ import annotations

from promptcache_lint.rule import PracticeRule


class ReasoningDropped(PracticeRule):
    """PC505."""

    code = "PC505"
