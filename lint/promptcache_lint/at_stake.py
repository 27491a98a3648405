"""What is lost behind a value for certain: so much text that is sent again, or a conversation that grows.

Only what would be reused but for this value counts. Behind another value that may differ from turn to turn
nothing would be, and in front of one neither: then mending this one alone gains nothing.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from promptcache.providers import find_model
from promptcache_lint.exposure import around, lasts
from promptcache_lint.findings import Severity
from promptcache_lint.prompts import Hole, Stability, Text, estimate_tokens, flatten

if TYPE_CHECKING:
    from collections.abc import Iterable

    from promptcache_lint.exposure import Exposed
    from promptcache_lint.places import Place
    from promptcache_lint.prompts import Part, Prompt

__all__ = ["ends_a_single_request", "is_cached", "is_enough", "is_steady"]

_LEAST_CACHED = 1024
"""OpenAI and most of Anthropic's models cache nothing shorter (tokens): the least where no model is known."""
_LITTLE = 240
"""Fewer static characters than this behind a value are no loss worth a word."""
_OF_THE_TURN = {"PC401", "PC402"}
_KEPT = re.compile(
    r"(?:.*_)?(?:name|path|dir|folder|workspace|root|url|tz|timezone|time_zone|locale|platform|runtime|os|company"
    r"|business|brand|bot|character|char|persona|user_id|tenant|currency|city|country|level|tone|mode)",
    re.IGNORECASE,
)
"""What a value is called that is the same through a conversation, as a rule."""
_SEAM = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_FALLBACK = re.compile(r"\s*(?:\?\?|\|\||\bor\b|\bif\b)\s*")
_CHANGES = re.compile(
    r"memor|context|retriev|recent|histor|summar|state|result|search|relevant|mood|emotion|status|current|\bnow\b"
    r"|time|date|question|query|message|input|intent|task|topic|step|turn|round|count|score|last|next|data",
    re.IGNORECASE,
)
"""What it is called where it may be another one in the next turn, whatever else its name says."""


def is_cached(prompt: Prompt) -> bool:
    """Whether its provider may keep anything of it: some keep only what a breakpoint asks them to.

    Where there is none, that is the fault (PC602), and nothing else costs anything before it is mended.
    """
    facts = find_model(prompt.model) if prompt.model else None
    if facts is None or facts.control != "marks":
        return True
    return any(segment.breakpoint for segment in prompt.segments)


def is_enough(prompt: Prompt, exposed: Exposed) -> bool:
    """Whether a value costs enough for an error: in any case, and on the next request already.

    In a file of prompts a conversation follows a system prompt. In a program all that stands around the value
    has to last, and behind it must stand a conversation that is seen to grow, or as much static text as the
    provider caches at least.
    """
    if prompt.written:
        return exposed.segment.role == "system" or _is_long(prompt, exposed.behind)
    found = around(exposed.part, [part for segment in prompt.reusable() for part in segment.parts])
    if found is None:
        return False
    talks = prompt.grows
    if any(_may_change(part, talks=talks) for part in flatten(found[0])):
        return False
    characters, ends = _static(found[1], talks=talks)
    return (talks and ends) or _is_long(prompt, characters)


def ends_a_single_request(place: Place, prompts: Iterable[Prompt]) -> bool:
    """Whether the requests in which a value stands are short but for it, and nothing is cached behind it."""
    found = [
        (prompt, beside)
        for prompt in prompts
        if prompt.name == "request" and (beside := _beside(place, prompt)) is not None
    ]
    return bool(found) and all(
        prompt.single and _length(behind) < _LITTLE and not _is_long(prompt, _length([*before, *behind]))
        for prompt, (before, behind) in found
    )


def _beside(place: Place, prompt: Prompt) -> tuple[list[Part], list[Part]] | None:
    parts = [part for segment in prompt.reusable() for part in segment.parts]
    hole = next((part for part in flatten(parts) if isinstance(part, Hole) and part.place == place), None)
    return None if hole is None else around(hole, parts)


def _length(parts: Iterable[Part]) -> int:
    return sum(len(part.text) for part in flatten(parts) if isinstance(part, Text))


def is_steady(prompt: Prompt) -> bool:
    """Whether the system prompt, where there is one, is the same in the next request: it is worth keeping."""
    system = (segment for segment in prompt.segments if segment.role == "system" and not segment.newest)
    return not any(_may_change(part, talks=False) for segment in system for part in flatten(segment.parts))


def _static(parts: Iterable[Part], *, talks: bool) -> tuple[int, bool]:
    """The static characters up to the next value that may change, and whether there is none."""
    characters = 0
    for part in parts:
        inner = list(flatten([part]))
        if any(_may_change(each, talks=talks) for each in inner):
            return characters, False
        if isinstance(part, Text):
            characters += len(part.text)
    return characters, True


def _may_change(part: Part, *, talks: bool) -> bool:
    """Whether nothing shows that a value is the same in the next request.

    Another fault in a conversation is told by itself, and both have to go.
    """
    if not isinstance(part, Hole):
        return False
    faults = [trait for trait in part.traits if not trait.once and trait.mark.severity > Severity.INFO]
    if any(trait.mark.code in _OF_THE_TURN for trait in faults):
        return True
    if faults:
        return not talks and any(trait.mark.stability == Stability.TURN for trait in faults)
    if part.traits or (part.stability is not None and part.stability < Stability.TURN):
        return False
    named = part.words or part.label
    if _CHANGES.search(named):
        return True
    return not lasts(part.label) and _KEPT.fullmatch(_name_of(part)) is None


def _name_of(hole: Hole) -> str:
    """What a value is called, in words: of ``user.name ?? "friend"`` the ``name``."""
    first = _FALLBACK.split(hole.label, maxsplit=1)[0]
    return hole.words or _SEAM.sub("_", first.rpartition(".")[2]).lower()


def _is_long(prompt: Prompt, characters: int) -> bool:
    """Whether a text is as long as the least that is cached."""
    facts = find_model(prompt.model) if prompt.model else None
    least = _LEAST_CACHED if facts is None or facts.min_tokens is None else facts.min_tokens
    return estimate_tokens(characters) >= least
