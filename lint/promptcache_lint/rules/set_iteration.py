"""# Set iteration

## What it does
Finds text in the prefix that is made by going through a set.

## Why is this bad?
A set of strings has no order: Python draws a new hash seed for every process, so after each restart, and in
each replica, the same set comes out differently.

## Example
```python
ALLOWED = {"search", "read", "write"}

def system_prompt():
    return "You are an agent. You may use: " + ", ".join(ALLOWED) + ". Ask before writing."
```

## Use instead
```python
ALLOWED = {"search", "read", "write"}

def system_prompt():
    return "You are an agent. You may use: " + ", ".join(sorted(ALLOWED)) + ". Ask before writing."
```
"""

from __future__ import annotations

from promptcache_lint.findings import Severity
from promptcache_lint.prompts import Mark, Stability
from promptcache_lint.rule import Sign, SignRule


class SetIteration(SignRule):
    """PC202."""

    code = "PC202"
    what = "The order of a set"
    signs = (
        Sign(
            Mark("PC202", Severity.WARNING, Stability.PROCESS, order=True, bulk=True),
            python=("set", "frozenset"),
        ),
    )
