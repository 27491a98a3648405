"""# Invalid breakpoints

## What it does
Finds requests with more breakpoints than a provider takes, or with a longer lifetime behind a shorter one.

## Why is this bad?
The provider refuses the request, or takes breakpoints away that were meant to be there. Four breakpoints are
allowed, and those with the longer lifetime come first.

## Example
```json
{
  "model": "claude-sonnet-5",
  "system": [
    {"type": "text", "text": "You are a clerk.", "cache_control": {"type": "ephemeral"}},
    {"type": "text", "text": "The price list of May.", "cache_control": {"type": "ephemeral", "ttl": "1h"}}
  ],
  "messages": [{"role": "user", "content": "Good morning."}]
}
```

## Use instead
```json
{
  "model": "m",
  "system": [
    {"type": "text", "text": "You are a clerk.", "cache_control": {"type": "ephemeral", "ttl": "1h"}},
    {"type": "text", "text": "The price list of May.", "cache_control": {"type": "ephemeral"}}
  ],
  "messages": [{"role": "user", "content": "Good morning."}]
}
```
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from promptcache.providers import MARK_TTL_S, MAX_BREAKPOINTS
from promptcache_lint.findings import Finding, Severity
from promptcache_lint.rule import Rule, practised

if TYPE_CHECKING:
    from collections.abc import Iterator

    from promptcache_lint.prompts import Prompt, Segment

_DEFAULT = "5m"


class BreakpointsInvalid(Rule):
    """PC603."""

    code = "PC603"

    def check(self, prompt: Prompt) -> Iterator[Finding]:
        """One finding: too many, a lifetime nobody offers, or a lifetime longer than one before it."""
        yield from practised(prompt, self.code)
        marks = [segment for segment in prompt.segments if segment.breakpoint]
        if len(marks) > MAX_BREAKPOINTS:
            message = f"{len(marks)} breakpoints; a request may carry {MAX_BREAKPOINTS}."
            yield self._finding(prompt, marks[MAX_BREAKPOINTS], message)
            return
        shortest = ""
        for segment in marks:
            ttl = segment.ttl or _DEFAULT
            if ttl not in MARK_TTL_S:
                message = f"The lifetime {ttl!r} is unknown; use one of {', '.join(MARK_TTL_S)}."
            elif shortest and MARK_TTL_S[ttl] > MARK_TTL_S[shortest]:
                message = (
                    f"A breakpoint of {ttl} stands behind one of {shortest}; the longer lifetime comes first."
                )
            else:
                shortest = ttl
                continue
            yield self._finding(prompt, segment, message)
            return

    def _finding(self, prompt: Prompt, segment: Segment, message: str) -> Finding:
        alike = sum(other.breakpoint and other.marked == segment.marked for other in prompt.segments)
        place = segment.marked if segment.marked is not None and alike == 1 else prompt.place
        return Finding(self.code, Severity.ERROR, message, place, segment=segment.path, subject=message)
