"""# User data before static text

## What it does
Finds data of a user, customer or tenant in a system prompt, in front of text that is the same for everybody.

## Why is this bad?
Every user gets a prefix of their own, so the text behind can be shared by nobody: each user pays for it
again. With the user's data last, all users share everything in front of it.

## Example
```python
def system_prompt(user_name):
    return (
        f"You are talking to {user_name}. "
        "You are the help desk of a bicycle shop. Be brief. Never promise a delivery date. "
        "Repairs take three working days; spare parts are listed in the catalogue."
    )
```
```jinja
Customer: {{ customer.name }}
You are the help desk of a bicycle shop. Be brief. Never promise a delivery date.
Repairs take three working days; spare parts are listed in the catalogue.
```

## Use instead
```python
def system_prompt(user_name):
    return (
        "You are the help desk of a bicycle shop. Be brief. Never promise a delivery date. "
        "Repairs take three working days; spare parts are listed in the catalogue. "
        f"You are talking to {user_name}."
    )
```
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from promptcache_lint.exposure import exposed_holes, words_but_for_labels
from promptcache_lint.findings import Severity
from promptcache_lint.prompts import Mark, Stability, Text, flatten
from promptcache_lint.rule import Sign, SignRule
from promptcache_lint.wording import opens_like_prompt

if TYPE_CHECKING:
    from collections.abc import Iterator

    from promptcache_lint.exposure import Exposed
    from promptcache_lint.findings import Finding
    from promptcache_lint.prompts import Prompt

_ENOUGH_WORDS = 10
_MORE_WORDS = 40
"""In a text that is no system prompt, which may be about the person all along."""
_COMPANY = re.compile(r"\.(?:company|organi[sz]ation)_?name$", re.IGNORECASE)
_NAME_OF = re.compile(r"\W*(?:\w+\.)*?(\w+)\.(?:display_?name|full_?name)\W*", re.IGNORECASE)
"""Whose name it is: people and things both have a ``display_name``, so the owner decides."""
_OWNERS = re.compile(
    r"self|this|ctx|context|state|session|request|data|deps|\w*(?:user|customer|client|person|profile|member|author|"
    r"owner|account|contact|patient|student|employee|guest|visitor|caller|recipient|sender|human|me)",
    re.IGNORECASE,
)
_ACCOUNT = re.compile(
    r"(?:\w+\.)*(?:\w+_)?(?:container|docker|sandbox|platform|system|os)_?info\b.*", re.IGNORECASE
)
"""Who runs a process: ``container_info["user"]`` is nobody the model talks to."""
_PERSON = r"(?:user|customer|client|visitor|patient|student|employee|buyer|guest|account|tenant)"


class UserDataBeforeStaticText(SignRule):
    """PC104."""

    code = "PC104"
    what = "User data"
    signs = (
        Sign(
            Mark("PC104", Severity.WARNING, Stability.USER),
            names=(
                (
                    rf"(?:the_|current_)?{_PERSON}"
                    r"(?:_(?:name|first_name|last_name|full_name|id|email|profile|info|data|details|record|prefs"
                    r"|preferences|memory|memories|facts|bio|context|location|address|plan|tier))?"
                ),
                r"(?:first|last|full|display)_name|e_?mail(?:_address)?|phone(?:_number)?|user_?name|login",
                r"(?:tenant|org|organi[sz]ation|company)_(?:id|name)",
                r"(?:request_)?(?:remote_addr|client_(?:host|ip)|user_agent)",
            ),
        ),
    )

    def check(self, prompt: Prompt) -> Iterator[Finding]:
        """One finding: the first such value in front of enough static text."""
        if not prompt.layout:
            return
        for exposed in exposed_holes(prompt):
            if exposed.segment.role == "tool":
                continue
            for trait in exposed.hole.traits:
                if _names_a_thing(trait.label):
                    continue
                enough = _ENOUGH_WORDS if exposed.segment.role == "system" else _MORE_WORDS
                if trait.mark.code == self.code and words_but_for_labels(prompt, exposed) >= enough:
                    if not exposed.turn_before:
                        found = self.finding(prompt, exposed, trait)
                        yield found if _is_told(exposed) else replace(found, severity=Severity.INFO)
                    return


def _is_told(exposed: Exposed) -> bool:
    """Whether the text tells a model what it is, to somebody; else it may be about that person all along."""
    if exposed.segment.role != "prompt":
        return True
    texts = (part.text for part in flatten(exposed.segment.parts) if isinstance(part, Text))
    return any(opens_like_prompt(line) for text in texts for line in text.splitlines())


def _names_a_thing(label: str) -> bool:
    """``channel.display_name``, ``repo.full_name``: the name of something that is nobody."""
    match = _NAME_OF.fullmatch(label)
    if label.startswith("self.") and _COMPANY.search(label):
        return True  # the company an object works for, not the one it talks to
    if _ACCOUNT.fullmatch(label):
        return True
    return match is not None and _OWNERS.fullmatch(match[1]) is None
