"""# Conditional section in the prefix

## What it does
Finds sections of a system prompt that are present in some requests and absent in others, in front of text
that never changes.

## Why is this bad?
Each combination of conditions is a prefix of its own. Where a condition changes within a conversation, the
conversation is computed again each time. What a program is set up with (a flag, its tools, a language) is
decided once and makes few prefixes, so a section under such a condition is only information. In a program a
condition counts that looks for words in the turn's question (`if "refund" in question`).

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

import re
from typing import TYPE_CHECKING

from promptcache_lint.exposure import exposed_branches, words_but_for_labels
from promptcache_lint.findings import Finding, Severity
from promptcache_lint.prompts import Branch, Hole, flatten
from promptcache_lint.rule import Rule
from promptcache_lint.rulebook import in_words

if TYPE_CHECKING:
    from collections.abc import Iterator

    from promptcache_lint.prompts import Prompt

_ENOUGH_WORDS = 3
_A_SENTENCE = 10
_SAID = (
    r"(?:\w+\.)*(?:user_?|last_?|new_?)?(?:question|query|message|utterance|input)(?:_text|\.text|\.content)?"
)
_HEARS = re.compile(
    rf"\bin {_SAID}(?:\.(?:lower|casefold|strip)\(\))*(?![\w.(\[])"
    rf"|\b{_SAID}(?:\.(?:lower|casefold|strip)\(\))*\.(?:startswith|endswith)\("
    rf"|\b(?:search|match|fullmatch)\((?:[^()]*, )?{_SAID}\)"
)
"""A condition that looks for words in what the turn says: `"refund" in question.lower()`."""
_NAME = re.compile(r"[A-Za-z_][\w.]*")
_SYNTAX = {
    "and",
    "or",
    "not",
    "is",
    "in",
    "if",
    "defined",
    "none",
    "true",
    "false",
    "length",
    "len",
    "count",
    "eq",
}
_SETUP = re.compile(
    r"(?:allow|enable|enforce|use|include|with|show|add|support|can|should|force|require|return|need|has|no|is|reflect|extra|custom|additional|_additional)s?_\w+"
    r"|(?:\w+_)?(?:enabled|disabled|allowed|supported|available|mode|format|flag|style|level|type|strict|verbose"
    r"|debug|multi_?modal|native|async|streaming|json|xml|markdown|html|yaml|sql|language|lang|locale|model|provider"
    r"|platform|version|apps?|applications?|servers?|blocks?|sections?|knowledge|tools?|functions?|skills?|agents?|plugins?|toolkits?|capabilit(?:y|ies)|schema|config"
    r"|settings?|options?|rubric|criteria|labels?|threshold|examples?|demos?|few_?shots?|instructions?|persona"
    r"|guidelines?|rules|rulesets?|prompts?|description|metadata|role|backstory|tone|audience|polic(?:y|ies)|templates?|reasoning|thinking|cot|sandbox|rag|mcp|cli|browser|vision)"
)
_PERSON = re.compile(
    r"\b(?:user|customer|client|tenant|visitor|first|new|last|turn|today|weekend|holiday|urgent|premium|vip|logged)"
)

_TURN = re.compile(
    r"\b(?:message|image|audio|attach|upload|search|result|error|fail|retr|escalat|cart|order|session|conversation|chat"
    r"|history|question|query|intent|date|time|now|night|week|season|memor|result|found|context|summary|plan|state)"
)
_KEY = re.compile(r"""\.get\(['"](\w+)['"]\)|\[['"](\w+)['"]\]""")
_OWNER = re.compile(
    r"(?:the_|current_)?(?:user|customer|client|tenant|visitor|account|person|profile|member|patient|student|guest|session"
    r"|conversation|chat|turn|message|request|state|context|ctx|order|cart|ticket|self|data|input)"
)


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
            if exposed.words_behind >= _ENOUGH_WORDS and exposed.before > 0 and not exposed.turn_before:
                shared = words_but_for_labels(prompt, exposed) >= _ENOUGH_WORDS
                varies = branch.written and not _is_setup(branch.test) and not _is_switch(branch) and shared
                varies = varies or (exposed.words_behind >= _A_SENTENCE and _hears(branch.test))
                yield Finding(
                    code=self.code,
                    severity=Severity.WARNING if varies else Severity.INFO,
                    message=f"The section under {branch.test!r} comes and goes inside {exposed.where}"
                    f"{exposed.cost}",
                    place=branch.place,
                    segment=exposed.segment.path,
                    stranded_tokens=exposed.stranded_tokens,
                )


def _hears(test: str) -> bool:
    """Whether a condition looks for words in what the turn says, so that the next turn decides otherwise."""
    return _HEARS.search(test) is not None


def _is_setup(test: str) -> bool:
    """Whether a condition asks only how the program is set up, and not for the user or the turn."""
    names = [in_words(name.rpartition(".")[2]) for name in _NAME.findall(test) if name.lower() not in _SYNTAX]
    if not names or _PERSON.search(in_words(test).replace("_", " ")):
        return False
    return all(_SETUP.fullmatch(name) for name in names)


def _is_switch(branch: Branch) -> bool:
    """Whether a condition is a bare flag, or an item's field, that nothing ties to a person or to the turn.

    ``{% if weather %}{{ weather }}{% endif %}`` shows what it asks for, and so is about data.
    """
    test = _KEY.sub(r".\1\2", branch.test.strip())
    said = in_words(test).replace("_", " ")
    if _NAME.fullmatch(test) is None or _PERSON.search(said) or _TURN.search(said):
        return False
    owner, dot, _ = test.partition(".")
    if dot:
        return _OWNER.fullmatch(in_words(owner)) is None
    holes = (part for part in flatten(branch.options[0]) if isinstance(part, Hole))
    return all(re.search(rf"\b{re.escape(test)}\b", hole.label) is None for hole in holes)
