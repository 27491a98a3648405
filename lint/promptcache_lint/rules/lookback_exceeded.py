"""# Lookback exceeded

## What it does
Finds recorded requests in which more blocks stand between two breakpoints than a provider looks back.

## Why is this bad?
From a breakpoint a provider looks some twenty blocks back for an earlier entry. When one turn adds more (an
agent with many tool calls does), the entry of the turn before is out of sight, and everything is computed
again.

## Example
```json
{
  "model": "claude-sonnet-5",
  "system": [{"type": "text", "text": "You are a clerk.", "cache_control": {"type": "ephemeral"}}],
  "messages": [{"role": "user", "content": [
    {"type": "text", "text": "a"}, {"type": "text", "text": "b"}, {"type": "text", "text": "c"},
    {"type": "text", "text": "d"}, {"type": "text", "text": "e"}, {"type": "text", "text": "f"},
    {"type": "text", "text": "g"}, {"type": "text", "text": "h"}, {"type": "text", "text": "i"},
    {"type": "text", "text": "j"}, {"type": "text", "text": "k"}, {"type": "text", "text": "l"},
    {"type": "text", "text": "m"}, {"type": "text", "text": "n"}, {"type": "text", "text": "o"},
    {"type": "text", "text": "p"}, {"type": "text", "text": "q"}, {"type": "text", "text": "r"},
    {"type": "text", "text": "s"}, {"type": "text", "text": "t"},
    {"type": "text", "text": "u", "cache_control": {"type": "ephemeral"}}
  ]}]
}
```

## Use instead
Put a breakpoint at least every twenty blocks; four are allowed.
```json
{
  "model": "m",
  "system": [{"type": "text", "text": "You are a clerk.", "cache_control": {"type": "ephemeral"}}],
  "messages": [{"role": "user", "content": [
    {"type": "text", "text": "a"}, {"type": "text", "text": "b", "cache_control": {"type": "ephemeral"}}
  ]}]
}
```
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from promptcache.providers import LOOKBACK_BLOCKS
from promptcache_lint.findings import Finding, Severity
from promptcache_lint.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from promptcache_lint.prompts import Prompt


class LookbackExceeded(Rule):
    """PC605."""

    code = "PC605"

    def check(self, prompt: Prompt) -> Iterator[Finding]:
        """One finding: the last breakpoint is too far from the one before it."""
        marks = [index for index, segment in enumerate(prompt.segments) if segment.breakpoint]
        if not prompt.recorded or len(marks) < 2:
            return
        earlier, later = list(pairwise(marks))[-1]
        if later - earlier > LOOKBACK_BLOCKS:
            segment = prompt.segments[later]
            yield Finding(
                self.code,
                Severity.INFO,
                f"{later - earlier} blocks since the breakpoint before; "
                f"a provider looks {LOOKBACK_BLOCKS} back.",
                segment.marked or prompt.place,
                segment=segment.path,
                subject=segment.path,
            )
