"""Windows over what a database has kept of a conversation, as in Python.

``prisma.message.findMany({ orderBy: { createdAt: "desc" }, take: 20 })``, ``.from(messages).limit(20)``, SQL.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from promptcache_lint.readers.row_windows import holds_talk, is_newest_first, is_window, last_rows
from promptcache_lint.readers.typescript.conversations.names import bare
from promptcache_lint.readers.typescript.conversations.windows import number

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tree_sitter import Node

    from promptcache_lint.readers.typescript.conversations.facts import Facts

__all__ = ["HINT", "queries", "reads_newest"]

HINT = re.compile(r"\bfindMany\(|\.limit\(|\blimit\s+[\d$?:]", re.IGNORECASE)
"""One of these is in each module that reads some rows only."""
_TABLE = re.compile(r"\.from\(['\"`]?(\w+)|(\w+)\.find(?:Many)?\(")
_COUNT = re.compile(r"\btake:([\w.$]+)|\.limit\(([\w.$]+)\)|\blimit:([\w.$]+)")


def queries(facts: Facts) -> Iterator[tuple[Node, Node]]:
    """The calls whose rows are sent as messages, each with the request: ``const { data } = await …`` too."""
    yield from facts.passed
    for key, calls in facts.sent.items():
        for value in facts.names.unpacked.get(key, ()):
            made = bare(value)
            if made is not None and made.type == "call_expression":
                yield made, calls[0]


def reads_newest(query: Node, facts: Facts) -> bool:
    """Whether a call reads the newest messages of a conversation, so few of them that it comes to that."""
    text = facts.names.text(query)
    count = last_rows(text)
    if count is None:
        written = re.sub(r"\s+", "", text)
        tables = [name for names in _TABLE.findall(written) for name in names if name]
        match = _COUNT.search(written)
        if match is None or not is_newest_first(written) or not any(map(holds_talk, tables)):
            return False
        count = next(group for group in match.groups() if group)
    return is_window(number(count, query, facts))
