"""# Whitespace or Unicode drift

## What it does
Points out answers of the model whose spaces are trimmed before they are sent back.

## Why is this bad?
A server that keeps what the model wrote keeps its spaces and line ends too. Trimmed, the answer is another
text in its last characters, and what follows is computed again. Providers that keep only what they are sent
do not mind, so this is information, shown with `--severity info`.

## Example
```python
def keep(messages, response):
    messages.append({"role": "assistant", "content": response.text.strip()})
```

## Use instead
```python
def keep(messages, response):
    messages.append({"role": "assistant", "content": response.text})
```
"""

from __future__ import annotations

from promptcache_lint.rule import PracticeRule


class WhitespaceDrift(PracticeRule):
    """PC206."""

    code = "PC206"
