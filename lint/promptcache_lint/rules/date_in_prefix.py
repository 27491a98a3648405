"""# Date in the prefix

## What it does
Finds today's date, without the time of day, in the part of a prompt that should stay the same.

## Why is this bad?
The date changes at midnight. Until then the prefix holds, so this is a warning and no error: the first
request of each day, in each conversation that runs on, misses. Dates that are written down are fine.

## Example
```python
from datetime import date

SYSTEM_TEMPLATE = "You are a travel agent. Today is {today}. Never book without asking."

def system_prompt():
    return SYSTEM_TEMPLATE.format(today=date.today().isoformat())
```
```text
You are a travel agent. Today is {current_date}. Never book without asking.
```

## Use instead
```python
from datetime import date

SYSTEM = "You are a travel agent. Never book without asking. Our terms are valid since 2024-03-01."

def turn(question):
    return {"role": "user", "content": f"Today is {date.today()}. {question}"}
```
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from promptcache_lint.exposure import holds_input
from promptcache_lint.findings import Severity
from promptcache_lint.layout import instructs
from promptcache_lint.prompts import Mark, Stability
from promptcache_lint.rule import Sign, SignRule

if TYPE_CHECKING:
    from promptcache_lint.exposure import Exposed
    from promptcache_lint.findings import Finding
    from promptcache_lint.prompts import Prompt, Trait


_ENOUGH_WORDS = 75
"""About a hundred tokens."""


class DateInPrefix(SignRule):
    """PC109."""

    code = "PC109"
    what = "Today's date"
    signs = (
        Sign(
            Mark("PC109", Severity.WARNING, Stability.CONVERSATION),
            python=("datetime.date.today", "pendulum.today", "arrow.Arrow.today"),
            names=(
                (
                    r"(?:the_)?(?:current|today|todays|today_s|local|system|present|utc)_?"
                    r"(?:date|day|weekday|week)(?:_(?:utc|iso|str|string|text|formatted))?"
                ),
                r"date|today|iso_?date|date_(?:str|string|today|now|iso)|day_?of_?(?:the_?)?week|weekday",
                r"get_(?:current_|today_?s?_)?date",
            ),
        ),
    )

    def matters(self, exposed: Exposed, trait: Trait) -> bool:  # noqa: ARG002
        """Behind the turn's own text nothing is reused anyway: the date adds nothing there."""
        return not exposed.turn_before

    def finding(self, prompt: Prompt, exposed: Exposed, trait: Trait) -> Finding:
        """A few words between the date and the turn's own text are new once a day: that is information."""
        found = super().finding(prompt, exposed, trait)
        one_request = exposed.segment.role != "system" and holds_input(exposed.segment.parts)
        little = one_request and exposed.words_kept < _ENOUGH_WORDS and not instructs(exposed.segment)
        return replace(found, severity=min(found.severity, Severity.INFO)) if little else found
