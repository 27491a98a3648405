"""Functions that are run once: a script's `main`, and what makes an agent or a conversation that is kept.

What they write lives as long as that. Goes by the names that people give such functions; what a program shows
of its objects is the readers' business.
"""

from __future__ import annotations

import re
from functools import lru_cache

from promptcache_lint.rulebook import in_words

__all__ = ["is_kept", "opens_session", "says_session", "sets_up"]

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

_LIVES = re.compile(
    r"(?:\w+_)?(?:agents?|sub_?agent|bot|assistant|session|conversation|crew|team|swarm|runner|worker)"
    r"(?:_(?:node|loop|runner|session|executor|worker|state|context|builder))?"
)
_SPOKEN = re.compile(r"\brealtime\.(?:\w+\.)*(?:create|connect)$|\blive\.connect$")
_SPOKEN_AT = re.compile(
    r"""^\W*(?:(?:https?|wss?)://|[\w$./{}-]*/)[^"'`\s]*realtime/(?:sessions|client_secrets)|realtime\?model="""
)
_SESSION_EVENT = re.compile(r"""\{\s*["']?type["']?\s*:\s*["']session\.update["']""")
_LONGEST_ADDRESS = 300


@lru_cache(maxsize=8192)
def sets_up(function: str) -> bool:
    """Whether a function makes what is then kept (an agent, a conversation), or is a script's `main`."""
    return function in {"__init__", "__post_init__", "__new__", "__enter__", "__aenter__"} or (
        _SETS_UP.fullmatch(in_words(function)) is not None
    )


@lru_cache(maxsize=8192)
def is_kept(class_name: str) -> bool:
    """Whether an object, by its class, lives through the rounds of an agent or a talk: ``AgentNode``."""
    return class_name[:1].isupper() and _LIVES.fullmatch(in_words(class_name)) is not None


def opens_session(function: str, target: str) -> bool:
    """Whether a call, of ``function`` and as a rule of an address, opens a spoken conversation.

    What it is given holds for all turns of that: ``fetch(".../v1/realtime/sessions", …)``.
    """
    return _SPOKEN.search(function) is not None or _SPOKEN_AT.search(target[:_LONGEST_ADDRESS]) is not None


def says_session(event: str) -> bool:
    """Whether an event, as it is written, sets up a spoken conversation (``session.update``)."""
    return _SESSION_EVENT.match(event) is not None
