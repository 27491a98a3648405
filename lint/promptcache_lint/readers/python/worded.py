"""What a text says of itself: how many words are its own, and whether it begins like a prompt."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from promptcache_lint.exposure import count_words
from promptcache_lint.prompts import Text, flatten
from promptcache_lint.readers.wording_only import talks_to_model
from promptcache_lint.wording import opens_like_code, opens_like_prompt

if TYPE_CHECKING:
    from promptcache_lint.prompts import Part
    from promptcache_lint.readers.python.frame import Frame
    from promptcache_lint.readers.python.values import Str

__all__ = ["is_notice", "is_section", "is_worded", "start_of", "static_words"]

_ADDRESS = ("you are ", "you're ")
_HEADING = re.compile(r"\s*#{1,3} \S")
_SECTION_NAME = re.compile(
    r"(?:\w+_)?(?:section|block|preamble|rules|guidelines|context|skills|tools_description)"
)


def static_words(parts: tuple[Part, ...]) -> int:
    """The words that stand in the source, and are not filled in."""
    return sum(count_words(part.text) for part in flatten(parts) if isinstance(part, Text))


def start_of(value: Str) -> str:
    """The text up to the first value."""
    return value.parts[0].text if value.parts and isinstance(value.parts[0], Text) else ""


def is_notice(value: Str) -> bool:
    """Whether a text is a program, or tells its reader what is going on ("You are about to delete …")."""
    start = start_of(value).lstrip().lower()
    return opens_like_code(start) or (start.startswith(_ADDRESS) and not opens_like_prompt(start))


def is_worded(value: Str, frame: Frame) -> bool:
    """Whether a text begins like a prompt, in a module that has to do with models."""
    return opens_like_prompt(start_of(value)) and talks_to_model(frame.module.source)


def is_section(name: str, value: Str) -> bool:
    """Whether a text is a section of a prompt, by what makes it and by the heading it begins with."""
    return _SECTION_NAME.fullmatch(name) is not None and _HEADING.match(start_of(value)) is not None
