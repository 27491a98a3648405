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

from promptcache_lint.findings import Severity
from promptcache_lint.layout import LayoutRule
from promptcache_lint.prompts import Mark, Stability
from promptcache_lint.rule import Sign


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
                r"(?:page|web_?page|article|email|file|doc(?:ument)?)_?(?:content|text|body)|page_tree",
            ),
        ),
    )
