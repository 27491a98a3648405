"""# No explicit boundary

## What it does
Points out recorded requests to models that take breakpoints and also cache by themselves, without a
breakpoint.

## Why is this bad?
Without a breakpoint the boundary falls on the newest message, and each request writes a new entry there. A
breakpoint at the end of what is shared makes that part an entry which all conversations read. This is
information, shown with `--severity info`.

## Example
```json
{
  "model": "gpt-6",
  "messages": [
    {"role": "system", "content": "You are a clerk."},
    {"role": "user", "content": "Good morning."}
  ]
}
```

## Use instead
```json
{
  "model": "gpt-4.1",
  "messages": [
    {"role": "system", "content": "You are a clerk."},
    {"role": "user", "content": "Good morning."}
  ]
}
```
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from promptcache.providers import find_model
from promptcache_lint.findings import Finding, Severity
from promptcache_lint.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from promptcache_lint.prompts import Prompt


class NoExplicitBoundary(Rule):
    """PC606."""

    code = "PC606"

    def check(self, prompt: Prompt) -> Iterator[Finding]:
        """One finding for a recorded request."""
        facts = find_model(prompt.model) if prompt.model and prompt.recorded else None
        if facts is None or facts.control != "both" or any(segment.breakpoint for segment in prompt.segments):
            return
        yield Finding(
            self.code,
            Severity.INFO,
            f"Without a breakpoint the boundary of {facts.name} falls on the newest message.",
            prompt.place,
            subject=prompt.name,
        )
