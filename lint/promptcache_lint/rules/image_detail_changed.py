"""# Detail of an image changed

## What it does
Finds images whose `detail` depends on where they stand, so that it changes when the conversation goes on.

## Why is this bad?
The detail decides into how many tokens an image is cut. With another detail the same image is other tokens.

## Example
```python
def replay(images):
    return [
        {"type": "image_url", "image_url": {"url": url, "detail": "high" if url == images[-1] else "low"}}
        for url in images
    ]
```

## Use instead
```python
def replay(images):
    return [{"type": "image_url", "image_url": {"url": url, "detail": "low"}} for url in images]
```
"""

from __future__ import annotations

from promptcache_lint.rule import PracticeRule


class ImageDetailChanged(PracticeRule):
    """PC702."""

    code = "PC702"
