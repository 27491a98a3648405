"""What the rules about order share: dynamic text is reported with the static text it strands."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from promptcache_lint.exposure import exposed_holes
from promptcache_lint.findings import Severity
from promptcache_lint.going_on import goes_on, may_go_on
from promptcache_lint.prompts import Hole, Text, flatten
from promptcache_lint.rule import SignRule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from promptcache_lint.exposure import Exposed
    from promptcache_lint.findings import Finding
    from promptcache_lint.prompts import Prompt, Segment, Trait

__all__ = ["LayoutRule", "instructs"]

_ENOUGH_WORDS = 25
_A_FEW = 12
_MESSAGE = re.compile(
    r"\w*(?:message|msg|turn)\w*(?:\[[^\]]*\])*(?:\.content|\[['\"]content['\"]\])", re.IGNORECASE
)
_ASPECT = re.compile(
    r"\W*[\w.]+\.(?:\w*id|name|title|type|kind|status|index|key|role|_\w+\(.*\))\W*"
    r"|(?:\w+\.)*(?:agent|crew|config|settings)\.(?:goal|task)|self\.\w+\.instructions?"
    r"|\W*(?:\w+\.)*(?:conversation|history|transcript|dialog(?:ue)?)\."
    r"(?!text|content|messages|turns|history|transcript|str|to_|as_|get_|format|render|join|dump)\w+\W*"
    r"|\W*(?:first|second|third|example|ex|demo|shot|sample)(?:\.|\[).*",
    re.DOTALL,
)
"""What is said of a task or a question, not its text; an example's question; what an agent is set up with."""
_GOAL = re.compile(r"\W*goal\W*")
_OF_AN_AGENT = {"role", "backstory"}
_ADDRESSED = re.compile(r"\byou(?:r|'re)?\b|\b(?:never|always|answer)\b", re.IGNORECASE)
"""Words of instructions, by which a model is told how it works."""
_ENOUGH_TOKENS = 100
"""So many stranded tokens count whatever they say; fewer only where they are nearly all there is."""
_NEARLY_ALL = 0.75
_SHARE = 0.4
"""The static text behind must be this much of all static text: a closing reminder is no fault."""


class LayoutRule(SignRule):
    """Reports the first value with the rule's mark that stands in front of much static text."""

    def check(self, prompt: Prompt) -> Iterator[Finding]:
        """At most one finding for a prompt."""
        if not prompt.layout:
            return
        holes = (part for segment in prompt.segments for part in flatten(segment.parts))
        agent = any(isinstance(hole, Hole) and hole.words in _OF_AN_AGENT for hole in holes)
        for exposed in exposed_holes(prompt):
            if exposed.segment.role == "tool":
                continue
            for trait in exposed.hole.traits:
                if trait.mark.code != self.code or exposed.turn_before or _ASPECT.fullmatch(trait.label):
                    continue
                if agent and _GOAL.fullmatch(trait.label):
                    continue  # whoever has a role and a backstory has a goal: it is the agent's
                if exposed.words_behind < _ENOUGH_WORDS or _is_message(exposed, trait):
                    return
                if exposed.behind >= _SHARE * (exposed.before + exposed.behind):
                    found = self.finding(prompt, exposed, trait)
                    costs = _is_worth_a_warning(exposed)
                    yield found if costs else replace(found, severity=Severity.INFO)
                return


def _is_worth_a_warning(exposed: Exposed) -> bool:
    """Whether what is stranded costs something.

    A text with its own question is one request, of which only the static text could be kept for the next.
    Where that is short, it counts if it is the instructions themselves that stand behind ("You answer …"),
    and not how the answer is to be written, behind the rest of them.
    """
    if goes_on(exposed.segment):
        return False
    if exposed.stranded_tokens >= _ENOUGH_TOKENS:
        return True
    nearly_all = exposed.behind >= _NEARLY_ALL * (exposed.before + exposed.behind)
    return nearly_all and instructs(exposed.segment) and not may_go_on(exposed.segment)


def instructs(segment: Segment) -> bool:
    """Whether the text tells a model how it works ("You answer …"), and is not one request ("Find …")."""
    texts = (part.text for part in flatten(segment.parts) if isinstance(part, Text))
    return any(_ADDRESSED.search(text) for text in texts)


def _is_message(exposed: Exposed, trait: Trait) -> bool:
    """Whether the text is a message of the user with something added: ``f"{message.content} Use JSON."``."""
    return exposed.before < _A_FEW and _MESSAGE.fullmatch(trait.label) is not None
