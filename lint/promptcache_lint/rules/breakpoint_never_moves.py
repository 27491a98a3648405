"""# Breakpoint never moves

## What it does
Finds conversations whose breakpoint stays on an early message while the history grows.

## Why is this bad?
What is cached ends at the breakpoint. All turns behind it are computed and paid anew, more of them each time.

## Example
```python
def run(client, task):
    messages = [
        {"role": "user", "content": [{"type": "text", "text": task, "cache_control": {"type": "ephemeral"}}]},
    ]
    while True:
        answer = client.messages.create(model="m", messages=messages)
        messages.append({"role": "assistant", "content": answer.content})
        messages.append({"role": "user", "content": "Go on."})
```

## Use instead
Mark the newest message in each turn (and take the mark off the older ones).
```python
def run(client, task):
    messages = [{"role": "user", "content": [{"type": "text", "text": task}]}]
    while True:
        messages[-1]["content"][-1]["cache_control"] = {"type": "ephemeral"}
        answer = client.messages.create(model="m", messages=messages)
        messages.append({"role": "assistant", "content": answer.content})
        messages.append({"role": "user", "content": [{"type": "text", "text": "Go on."}]})
```
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from promptcache.providers import LOOKBACK_BLOCKS
from promptcache_lint.findings import Finding, Severity
from promptcache_lint.rule import PracticeRule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from promptcache_lint.prompts import Prompt


class BreakpointNeverMoves(PracticeRule):
    """PC610."""

    code = "PC610"

    def check(self, prompt: Prompt) -> Iterator[Finding]:
        """What was seen of programs.

        And a recorded conversation that has left its last breakpoint far behind.
        """
        yield from super().check(prompt)
        marks = [index for index, segment in enumerate(prompt.segments) if segment.breakpoint]
        behind = len(prompt.segments) - 1 - marks[-1] if marks else 0
        if prompt.recorded and behind > LOOKBACK_BLOCKS:
            segment = prompt.segments[marks[-1]]
            yield Finding(
                self.code,
                Severity.WARNING,
                f"{behind} blocks stand behind the last breakpoint: they are computed in every turn.",
                segment.marked or prompt.place,
                segment=segment.path,
                subject=segment.path,
            )
