"""# Breakpoint on dynamic content

## What it does
Finds breakpoints in the system prompt or the tools that stand on or behind the question of the turn or what
was retrieved for it, or on a value that is volatile under a code of its own (then as information).

## Why is this bad?
What is cached is everything up to the breakpoint. With something new in it, each request writes an entry
that no request ever reads, and writing costs more than not caching at all.

## Example
```python
def ask(client, rules, question):
    system = [
        {"type": "text", "text": "You are a clerk of the bank."},
        {"type": "text", "text": f"The question is: {question}", "cache_control": {"type": "ephemeral"}},
    ]
    return client.messages.create(model="m", system=system, messages=[{"role": "user", "content": "Go on."}])
```

## Use instead
Mark the last block that stays the same, and put what changes behind it.
```python
def ask(client, rules, question):
    system = [{"type": "text", "text": "You are a bank clerk.", "cache_control": {"type": "ephemeral"}}]
    return client.messages.create(model="m", system=system, messages=[{"role": "user", "content": question}])
```
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from promptcache_lint.findings import Finding, Severity
from promptcache_lint.prompts import Hole, Stability, flatten
from promptcache_lint.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from promptcache_lint.prompts import Prompt, Segment, Trait

_TURN, _RETRIEVED = "PC401", "PC402"


class BreakpointOnDynamic(Rule):
    """PC601."""

    code = "PC601"

    def check(self, prompt: Prompt) -> Iterator[Finding]:
        """One finding: the first breakpoint in the head of the prompt that covers something new each turn."""
        dynamic: Trait | None = None
        for segment in prompt.segments:
            if segment.role not in {"system", "tool", "prompt"}:
                return
            dynamic = dynamic or _dynamic(segment)
            if segment.breakpoint and dynamic is not None:
                known = dynamic.mark.code not in {_TURN, _RETRIEVED}
                yield Finding(
                    self.code,
                    Severity.INFO if known else Severity.WARNING,
                    f"The breakpoint covers {dynamic.label}, which is new in each request: "
                    "what is written there is never read.",
                    segment.marked or prompt.place,
                    source=dynamic.origin,
                    segment=segment.path,
                    subject=dynamic.label,
                )
                return


def _dynamic(segment: Segment) -> Trait | None:
    """The first value in a segment that each request has anew."""
    for part in flatten(segment.parts):
        for trait in part.traits if isinstance(part, Hole) else ():
            vague = trait.mark.code == _RETRIEVED and trait.guessed  # `{context}` need not be of the turn
            if trait.mark.stability == Stability.TURN and not vague and not trait.once:
                return trait
    return None
