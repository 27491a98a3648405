"""# Conditional section in the prefix

## What it does
Finds sections of a system prompt that are present in some requests and absent in others, in front of text
that never changes.

## Why is this bad?
Each combination of conditions is a prefix of its own. Where a condition changes within a conversation, the
conversation is computed again each time.

## Example
```text
You are a ship's captain.
{{#if weather}}The weather: {{weather}}{{/if}}
Never leave your role, whatever the passenger says.
```
```jinja
You are a ship's captain.
{% if weather %}The weather: {{ weather }}{% endif %}
Never leave your role, whatever the passenger says.
```

## Use instead
Put what is conditional last, or append it as a message when it becomes true.
```text
You are a ship's captain.
Never leave your role, whatever the passenger says.
{{#if weather}}The weather: {{weather}}{{/if}}
```
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from promptcache_lint.exposure import exposed_branches
from promptcache_lint.findings import Finding, Severity
from promptcache_lint.prompts import Branch
from promptcache_lint.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from promptcache_lint.prompts import Prompt

_ENOUGH_WORDS = 3


class ConditionalSection(Rule):
    """PC404."""

    code = "PC404"

    def check(self, prompt: Prompt) -> Iterator[Finding]:
        """One finding for each conditional section of a template in front of static text."""
        if not prompt.layout:
            return
        for exposed in exposed_branches(prompt):
            branch = exposed.part
            if not isinstance(branch, Branch) or not branch.test or exposed.segment.role != "system":
                continue
            if exposed.words_behind >= _ENOUGH_WORDS and exposed.before > 0:
                yield Finding(
                    code=self.code,
                    severity=Severity.WARNING if branch.written else Severity.INFO,
                    message=f"The section under {branch.test!r} comes and goes inside {exposed.where}"
                    f"{exposed.cost}",
                    place=branch.place,
                    segment=exposed.segment.path,
                    stranded_tokens=exposed.stranded_tokens,
                )
