"""# Constant of one process

## What it does
Points out volatile values that are computed once, when a module is loaded or by a cached function.

## Why is this bad?
Within the process the prefix holds, so there is little to lose. After a restart, and in each replica, it
begins anew. This is information, shown with `--severity info`.

## Example
```python
import uuid

INSTANCE = uuid.uuid4()
SYSTEM = f"Instance {INSTANCE}. You are a translator. Keep names as they are."
```

## Use instead
```python
SYSTEM = "You are a translator. Keep names as they are."
```
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from promptcache_lint.exposure import exposed_holes
from promptcache_lint.findings import Finding, Severity
from promptcache_lint.rule import Rule, steps

if TYPE_CHECKING:
    from collections.abc import Iterator

    from promptcache_lint.prompts import Prompt


class ProcessConstant(Rule):
    """PC110."""

    code = "PC110"

    def check(self, prompt: Prompt) -> Iterator[Finding]:
        """One finding for each value that is computed once."""
        for exposed in exposed_holes(prompt):
            for trait in exposed.hole.traits:
                if trait.once and exposed.costs(trait):
                    yield Finding(
                        code=self.code,
                        severity=Severity.INFO,
                        message=f"{trait.label}, computed once for each process, reaches {exposed.where}.",
                        place=exposed.hole.place,
                        source=None if trait.origin.start == exposed.hole.place.start else trait.origin,
                        flow=steps(trait, exposed.hole.place),
                        segment=exposed.segment.path,
                        stranded_tokens=exposed.stranded_tokens,
                        subject=trait.label,
                    )
