"""Functions that are run once: a script's `main`, and what makes an agent or a conversation that is kept.

What they write lives as long as that. Goes by the names that people give such functions; what a program shows
of its objects is the readers' business.
"""

from __future__ import annotations

import re
from functools import lru_cache

from promptcache_lint.rulebook import in_words

__all__ = ["sets_up"]

_KEPT_THING = (
    r"(?:agents?|chains?|graphs?|bots?|chatbots?|sessions?|conversations?|history|assistants?|threads?|apps?|servers?|"
    r"clients?|crews?|teams?|llms?|models?|configs?|settings|memory|workers?|executors?|swarms?|pipelines?|runners?)"
)
_SETS_UP = re.compile(
    r"main|a?init|__init__|__post_init__|__new__|__a?enter__|constructor|model_post_init|"
    r"(?:async_)?(?:setup|set_up|initiali[sz]e|reset|restart|clear|start|bootstrap|configure)(?:_\w+)?"
    rf"|(?:load|new|create|make|build|get|from|register|spawn|init|add|prepare|construct|assemble)_(?:\w+_)?{_KEPT_THING}"
    rf"(?:_from_\w+|_async)?"
)


@lru_cache(maxsize=8192)
def sets_up(function: str) -> bool:
    """Whether a function makes what is then kept (an agent, a conversation), or is a script's `main`."""
    return function in {"__init__", "__post_init__", "__new__", "__enter__", "__aenter__"} or (
        _SETS_UP.fullmatch(in_words(function)) is not None
    )
