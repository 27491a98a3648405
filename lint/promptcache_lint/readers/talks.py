"""Whether a function is seen to send a conversation that goes on, by the names it uses, not by its texts."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["ANSWERS", "is_of_one_request", "is_talk", "says_history"]

ANSWERS = {"assistant", "model", "ai"}
"""Roles under which what was answered before is sent again."""
_HISTORY = re.compile(
    r"histor|conversation|previous|prior|past_|turns?\b|thread|\btalk|transcript|chat_?log|dialog"
    r"|(?:recent|last|old|earlier|stored|saved|prev)_?(?:messages|turns|msgs)|\bA(?:I|ssistant)Message\b",
    re.IGNORECASE,
)
_GIVEN = re.compile(
    r"(?:\w+_)?(?:messages|msgs|contents|history|items|input_items)|\w*Messages", re.IGNORECASE
)
"""Parameters and fields that are the messages so far, by their names."""
_NO_TALK = re.compile(
    r"few_?shots?|example|demo|sample|system|initial|(?:^|_)new_|^new[A-Z]|prompt|template|seed",
    re.IGNORECASE,
)
_OF_ONE = re.compile(
    r"summar|title|classif|condens|compact|extract|judge|rate_|grade|score|translat", re.IGNORECASE
)
"""Functions that ask once about a conversation, and do not go on with it."""


def is_talk(name: str) -> bool:
    """Whether a field, or what a request is unpacked to, is the messages so far: ``body.messages``."""
    return _GIVEN.fullmatch(name) is not None and _NO_TALK.search(name) is None


def is_of_one_request(function: str) -> bool:
    """Whether a function, by its name, asks about a conversation and adds nothing to it: ``make_title``."""
    return _OF_ONE.search(function) is not None


def says_history(names: Iterable[str], parameters: Iterable[str]) -> bool:
    """Whether a function names what was said before, or is given messages by its caller."""
    return any(map(_HISTORY.search, names)) or any(map(is_talk, parameters))
