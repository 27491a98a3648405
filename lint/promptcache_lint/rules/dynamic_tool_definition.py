"""# Dynamic text in a tool definition

## What it does
Finds a user's data, a question or retrieved text in the name, the description or the schema of a tool.

## Why is this bad?
Tools come first in the prompt: a word that changes in one of them makes the system prompt and the
conversation new. Clocks and ids in a tool are reported under their own codes.

## Example
```python
def tools_for(user_name):
    return [
        {
            "name": "book",
            "description": f"Book a room for {user_name}. Ask for the dates first.",
            "input_schema": {"type": "object"},
        }
    ]
```

## Use instead
```python
def tools():
    return [
        {
            "name": "book",
            "description": "Book a room for the user. Ask for the dates first.",
            "input_schema": {"type": "object"},
        }
    ]
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

_OTHERS = {"PC104", "PC401", "PC402"}
"""Faults of layout elsewhere; in a tool they stand in front of everything."""


class DynamicToolDefinition(Rule):
    """PC303."""

    code = "PC303"

    def check(self, prompt: Prompt) -> Iterator[Finding]:
        """One finding for each value of a user or a turn in a tool's definition."""
        for exposed in exposed_holes(prompt):
            if exposed.segment.role != "tool" or not exposed.segment.path.startswith("tools"):
                continue
            for trait in exposed.hole.traits:
                if trait.mark.code in _OTHERS and not trait.once:
                    yield Finding(
                        code=self.code,
                        severity=Severity.WARNING,
                        message=f"{trait.label} makes a tool's definition change{exposed.cost}",
                        place=exposed.hole.place,
                        source=None if trait.origin.start == exposed.hole.place.start else trait.origin,
                        flow=steps(trait, exposed.hole.place),
                        segment=exposed.segment.path,
                        stranded_tokens=exposed.stranded_tokens,
                        subject=trait.label,
                    )
