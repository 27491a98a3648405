"""# Static text behind dynamic text

## What it does
Finds the question or task of the turn in front of instructions that never change.

## Why is this bad?
Everything behind the question is new with every question. The same instructions in front of it would be
computed once.

## Example
```python
def prompt(question):
    return (
        f"Question: {question}\\n"
        "You are an expert on garden plants. Answer in the language of the question, in at most four "
        "sentences. Name the plant in Latin once. Say so when you do not know. Never recommend poison, and "
        "point out when a plant is protected by law."
    )
```

## Use instead
```python
def prompt(question):
    return (
        "You are an expert on garden plants. Answer in the language of the question, in at most four "
        "sentences. Name the plant in Latin once. Say so when you do not know. Never recommend poison, and "
        "point out when a plant is protected by law.\\n"
        f"Question: {question}"
    )
```
"""

from __future__ import annotations

from promptcache_lint.findings import Severity
from promptcache_lint.layout import LayoutRule
from promptcache_lint.prompts import Mark, Stability
from promptcache_lint.rule import Sign


class StaticBehindDynamic(LayoutRule):
    """PC401."""

    code = "PC401"
    what = "The turn's own text"
    signs = (
        Sign(
            Mark("PC401", Severity.WARNING, Stability.TURN),
            names=(
                r"(?:the_)?(?:user_?)?(?:question|query|input|utterance|request|message|instruction)(?:_text)?",
                r"q|user_(?:text|prompt|content)|prompt_text|input_(?:text|query)|search_query|human_input",
                r"task|problem|(?:last|latest|new|current)_(?:user_)?(?:message|question|input)|goal",
                r"(?:chat_|conversation_?|dialog(?:ue)?_?|message_?)?history|transcript|conversation|messages",
            ),
        ),
    )
