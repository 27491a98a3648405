"""# Unstable number or repr

## What it does
Finds numbers in the prefix that are written as the machine's locale wants it.

## Why is this bad?
`locale.format_string`, `locale.currency` and the format `n` write `1,234.5` on one machine and `1.234,5` on
another. Replicas with different settings do not share a cache. JavaScript's `toLocaleString()` is only
information: servers keep the locale they are started with.

## Example
```python
import locale

def system_prompt(limit):
    return f"You grant refunds of up to {locale.currency(limit)}. Ask a person above that."
```
```python
def system_prompt(limit):
    return f"You grant refunds of up to {limit:n} euros. Ask a person above that."
```

## Use instead
```python
def system_prompt(limit):
    return f"You grant refunds of up to {limit:.2f} euros. Ask a person above that."
```
"""

from __future__ import annotations

from promptcache_lint.findings import Severity
from promptcache_lint.prompts import Mark, Stability
from promptcache_lint.rule import Sign, SignRule


class UnstableNumber(SignRule):
    """PC205."""

    code = "PC205"
    what = "A number in the form of the machine's locale"
    signs = (
        Sign(
            Mark("PC205", Severity.WARNING, Stability.PROCESS),
            python=("locale.format_string", "locale.currency", "locale.str", "locale.format"),
            filters=("locale_number", "format_number", "numberformat", "intcomma"),
        ),
    )
