"""# Counter in the prefix

## What it does
Finds counters and usage figures (turn numbers, tokens used, budget left) in the part of a prompt that should
stay the same.

## Why is this bad?
A number that goes up with every turn changes the prefix with every turn, and the whole conversation behind
it is computed again.

## Example
```python
def system_prompt(turn_number):
    return f"This is turn {turn_number}. You are a game master. Keep the story moving."
```
```text
You have used {tokens_used} tokens.
You are a game master. Keep the story moving.
```

## Use instead
```python
SYSTEM = "You are a game master. Keep the story moving."

def turn(text, turn_number):
    return {"role": "user", "content": f"{text}\\n[turn {turn_number}]"}
```
"""

from __future__ import annotations

from promptcache_lint.findings import Severity
from promptcache_lint.prompts import Mark, Stability
from promptcache_lint.rule import Sign, SignRule


class CounterInPrefix(SignRule):
    """PC107."""

    code = "PC107"
    what = "A counter"
    signs = (
        Sign(
            Mark("PC107", Severity.ERROR, Stability.TURN),
            names=(
                r"(?:turn|step|iteration|round|message|attempt|retry)_?(?:number|count|counter|index|idx|no|num)",
                r"(?:current|this)_?(?:turn|step|iteration|round|attempt)",
                r"(?:tokens?|budget|calls?|steps?|turns?|context|memory)_?(?:used|left|remaining|usage|spent)",
                r"(?:used|remaining|left)_?(?:tokens?|budget|calls?|steps?|turns?|context)|elapsed(?:_\w+)?",
                r"(?:token|message|turn)_?usage|context_?(?:usage|percent(?:age)?)|cost_so_far|total_cost",
                r"(?:total|used|input|output|prompt|completion)_tokens|used|spent",
            ),
        ),
    )
