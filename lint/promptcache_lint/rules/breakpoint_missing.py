"""# Breakpoint missing

## What it does
Finds long, stable prompts for providers that cache only up to a breakpoint, without any breakpoint.

## Why is this bad?
Without a breakpoint such a provider caches nothing: the whole prompt is paid in full in each request. Only
prompts that are surely long enough are reported.

## Example
```python
RULES = "You are a clerk of the bank. " + "Each account has a number, a holder and a currency. " * 200

def ask(client, messages):
    while True:
        system = [{"type": "text", "text": RULES, "cache_control": {"type": "ephemeral"}}]
        answer = client.messages.create(model="m", system=system, messages=messages)
        messages.append({"role": "assistant", "content": answer.content})
```

## Use instead
Mark the end of the system prompt, and in a conversation the newest message too.
```python
def ask(client, system, messages):
    while True:
        answer = client.messages.create(
            model="m", system=system, messages=messages, cache_control={"type": "ephemeral"}
        )
        messages.append({"role": "assistant", "content": answer.content})
```
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from promptcache.providers import find_model
from promptcache_lint.findings import Finding, Severity
from promptcache_lint.prompts import Text, flatten
from promptcache_lint.rule import PracticeRule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from promptcache_lint.prompts import Prompt

_MOST_CHARS_PER_TOKEN = 5.0


class BreakpointMissing(PracticeRule):
    """PC602."""

    code = "PC602"

    def check(self, prompt: Prompt) -> Iterator[Finding]:
        """One finding for a long request without breakpoints; and what was seen of conversations."""
        yield from super().check(prompt)
        facts = find_model(prompt.model) if prompt.model else None
        marked = any(segment.breakpoint for segment in prompt.segments)
        if facts is None or facts.control != "marks" or marked:
            return
        head = [segment for segment in prompt.segments if segment.role in {"system", "tool"}]
        parts = [part for segment in head for part in flatten(segment.parts)]
        characters = sum(len(part.text) for part in parts if isinstance(part, Text))
        if facts.min_tokens is not None and characters / _MOST_CHARS_PER_TOKEN >= facts.min_tokens:
            yield Finding(
                self.code,
                Severity.WARNING,
                f"{facts.name} caches only up to a breakpoint, and there is none.",
                prompt.place,
                segment=head[-1].path,
                subject=prompt.name,
            )
