"""# Image re-encoded or signed anew

## What it does
Finds images whose bytes or whose address are made anew for each request: signed addresses, and encoding in a
loop over the history.

## Why is this bad?
An image is matched by its bytes or its address. A signature that carries the time gives the same image
another address in each request, and a photo that is encoded again may come out in other bytes.

## Example
```python
def replay(bucket, history):
    messages = []
    for entry in history:
        url = bucket.generate_presigned_url("get_object", Params={"Key": entry.key}, ExpiresIn=600)
        messages.append({"role": "user", "content": [{"type": "image_url", "image_url": {"url": url}}]})
    return messages
```

## Use instead
Encode once when the image arrives, keep the text, and send the kept text.
```python
def replay(history):
    messages = []
    for entry in history:
        messages.append({"role": "user", "content": [{"type": "image_url", "image_url": {"url": entry.url}}]})
    return messages
```
"""

from __future__ import annotations

from promptcache_lint.rule import PracticeRule


class ImageBytesChanged(PracticeRule):
    """PC701."""

    code = "PC701"
