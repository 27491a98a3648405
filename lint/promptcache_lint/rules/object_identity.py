"""# Object identity in the prefix

## What it does
Finds `id()`, `hash()` and the default text of objects and functions (`<Tool object at 0x7f…>`) in the prefix.

## Why is this bad?
Addresses and the hashes of strings differ from process to process; the address of an object that is made
anew for each request differs each time. It is nearly always an oversight, too: the model reads an address.

## Example
```python
class Tool:
    def __init__(self, name):
        self.name = name

def system_prompt():
    return f"You may call {Tool('search')}. Explain what you do before each call."
```

## Use instead
```python
class Tool:
    def __init__(self, name):
        self.name = name

def system_prompt():
    return f"You may call {Tool('search').name}. Explain what you do before each call."
```
"""

from __future__ import annotations

from promptcache_lint.findings import Severity
from promptcache_lint.prompts import Mark, Stability
from promptcache_lint.rule import Sign, SignRule


class ObjectIdentity(SignRule):
    """PC106."""

    code = "PC106"
    what = "An address or hash"
    signs = (Sign(Mark("PC106", Severity.ERROR, Stability.PROCESS), python=("id", "hash", "object")),)
