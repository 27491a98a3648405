"""# Below the minimum length

## What it does
Finds breakpoints on prefixes that are shorter than the model's minimum, where the whole prefix is written
down.

## Why is this bad?
A provider caches nothing below its minimum, and says nothing: the breakpoint has no effect. Where a function
marks what several others give it, each of their texts is judged by itself, and told where it is written; as
information, where another one is longer or unknown.

## Example
```json
{
  "model": "claude-sonnet-5",
  "system": [{"type": "text", "text": "You are a clerk.", "cache_control": {"type": "ephemeral"}}],
  "messages": [{"role": "user", "content": "Good morning."}]
}
```

## Use instead
Leave the mark out, or let the prefix hold more of what stays the same: the rules, examples, the tools.
```json
{
  "model": "claude-sonnet-5",
  "system": [{"type": "text", "text": "You are a clerk."}],
  "messages": [{"role": "user", "content": "Good morning."}]
}
```
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from promptcache.providers import find_model
from promptcache_lint.findings import Finding, Severity
from promptcache_lint.prompts import Text, estimate_tokens, flatten
from promptcache_lint.rule import Rule, practised

if TYPE_CHECKING:
    from collections.abc import Iterator

    from promptcache_lint.prompts import Prompt

_FEWEST_CHARS_PER_TOKEN = 2.5


class BelowMinimum(Rule):
    """PC604."""

    code = "PC604"

    def check(self, prompt: Prompt) -> Iterator[Finding]:
        """One finding: the last breakpoint ends a prefix that is known to the last word, and too short."""
        yield from practised(prompt, self.code)
        facts = find_model(prompt.model) if prompt.model else None
        last = max((i for i, segment in enumerate(prompt.segments) if segment.breakpoint), default=None)
        if facts is None or facts.min_tokens is None or last is None:
            return
        parts = [part for segment in prompt.segments[: last + 1] for part in flatten(segment.parts)]
        texts = [part.text for part in parts if isinstance(part, Text)]
        characters = sum(map(len, texts))
        known = characters > 0 and len(texts) == len(parts) and not prompt.headed
        if known and characters / _FEWEST_CHARS_PER_TOKEN < facts.min_tokens:
            segment = prompt.segments[last]
            tokens = estimate_tokens(characters)
            yield Finding(
                self.code,
                Severity.INFO if prompt.lent else Severity.WARNING,
                f"About {tokens} tokens up to this breakpoint; "
                f"{facts.name} caches nothing below {facts.min_tokens}.",
                segment.marked or prompt.place,
                segment=segment.path,
                subject=segment.path,
            )
