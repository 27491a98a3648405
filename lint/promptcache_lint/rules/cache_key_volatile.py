"""# Cache key new in each request

## What it does
Finds `prompt_cache_key`, `cache_salt` and `user` of a request that hold a time, a random id, chance or a
counter. A value made in the call itself is a warning; one made before it, which a conversation may keep, is
information. In TypeScript the AI SDK's `promptCacheKey` counts as well.

## Why is this bad?
Providers route requests by this key, and some engines keep a separate cache for each salt. With another key
in each request, equal prefixes go to different machines and are never found again.

## Example
```python
def ask(client, question):
    return client.responses.create(model="m", input=question, prompt_cache_key=str(uuid.uuid4()))
```

## Use instead
One key for each template (and tenant), the same in every process.
```python
def ask(client, question):
    return client.responses.create(model="m", input=question, prompt_cache_key="support-v3")
```
"""

from __future__ import annotations

from promptcache_lint.rule import PracticeRule


class CacheKeyVolatile(PracticeRule):
    """PC607."""

    code = "PC607"
