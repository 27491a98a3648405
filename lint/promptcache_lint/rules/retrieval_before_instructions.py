"""# Retrieved documents before the instructions

## What it does
Finds documents, search results and examples chosen for the question in front of instructions that never
change.

## Why is this bad?
Each question brings other documents, so the instructions behind them always stand behind something new.

## Example
```text
Documents:
{documents}

You are the librarian of a law firm. Answer only from the documents above, quote the sentence you rely on,
name the document, and say that you do not know when none of them answers the question. Write two paragraphs
at most, in plain English, without any legal advice of your own.

Question: {question}
```

## Use instead
```text
You are the librarian of a law firm. Answer only from the documents below, quote the sentence you rely on,
name the document, and say that you do not know when none of them answers the question. Write two paragraphs
at most, in plain English, without any legal advice of your own.

Documents:
{documents}

Question: {question}
```
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from promptcache_lint.findings import Severity
from promptcache_lint.layout import LayoutRule
from promptcache_lint.prompts import Hole, Mark, Stability, Text, flatten
from promptcache_lint.rule import Sign

if TYPE_CHECKING:
    from collections.abc import Iterator

    from promptcache_lint.findings import Finding
    from promptcache_lint.prompts import Prompt

_CONTEXT = re.compile(r"\W*(?:\w+\.)*context(?:_(?:str|text))?\W*")
_RETRIEVED = re.compile(
    r"retriev|documents?\b|passages?\b|excerpts?\b|snippets?\b|chunks?\b|search result|sources?\b"
    r"|knowledge base|references?\b|articles?\b|question|\bquer(?:y|ies)\b|answer",
    re.IGNORECASE,
)
"""Words of a text that is about what was found for a question."""


class RetrievalBeforeInstructions(LayoutRule):
    """PC402."""

    code = "PC402"
    what = "Text retrieved for the question"
    signs = (
        Sign(
            Mark("PC402", Severity.WARNING, Stability.TURN),
            python=(
                ".similarity_search",
                ".asimilarity_search",
                ".similarity_search_with_score",
                ".similarity_search_with_relevance_scores",
                ".max_marginal_relevance_search",
                ".get_relevant_documents",
                ".aget_relevant_documents",
            ),
            names=(
                (
                    r"(?:retrieved_?|relevant_?|source_?|context_?)?"
                    r"(?:documents?|docs|passages?|chunks?|snippets?|excerpts?)(?:_text|_str)?"
                ),
                r"(?:search|retrieval|web|rag|tool)_?(?:results?|hits|context)|context|context_(?:str|text)",
                r"(?:page|web_?page|url|article|email|file|doc(?:ument)?)_?(?:content|text|body)|page_tree",
                r"(?:(?:page|raw|cleaned)_)?html(?:_(?:content|text|body))?",
            ),
        ),
    )

    def check(self, prompt: Prompt) -> Iterator[Finding]:
        """At most one finding; a ``{context}`` without a question need not be new each time."""
        for finding in super().check(prompt):
            vague = _CONTEXT.fullmatch(finding.subject) is not None and not _asks(prompt)
            yield replace(finding, severity=Severity.INFO) if vague else finding


def _asks(prompt: Prompt) -> bool:
    """Whether a prompt has a question, or says that something was found for one."""
    parts = [part for segment in prompt.segments for part in flatten(segment.parts)]
    traits = (trait for part in parts if isinstance(part, Hole) for trait in part.traits)
    if any(trait.mark.code == "PC401" for trait in traits):
        return True
    return any(_RETRIEVED.search(part.text) for part in parts if isinstance(part, Text))
