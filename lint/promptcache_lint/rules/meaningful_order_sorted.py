"""# Meaningful order sorted

## What it does
Finds schemas of answers whose properties are sorted on their way to the model.

## Why is this bad?
Sorting keys is the usual cure for unstable JSON, but the order of a schema's properties is an instruction:
the model writes them in this order. Sorted, `answer` comes before `reasons`, and the model answers before
it thinks. Such a schema should keep the order in which it is written down, which is stable too.

## Example
```python
def ask(client, messages, schema):
    ordered = {**schema, "properties": dict(sorted(schema["properties"].items()))}
    return client.responses.create(model="m", input=messages, text_format=ordered)
```

## Use instead
```python
def ask(client, messages, schema):
    return client.responses.create(model="m", input=messages, text_format=schema)
```
"""

from __future__ import annotations

from promptcache_lint.rule import PracticeRule


class MeaningfulOrderSorted(PracticeRule):
    """PC207."""

    code = "PC207"
