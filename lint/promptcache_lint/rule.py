"""What a rule is: a code, the signs by which values with its fault are known, and a check on prompts.

A rule is one module under `promptcache_lint.rules` with one subclass of `Rule`. The module's docstring is
the rule's documentation and, through its examples, its first test. `SignRule` is the common case: report
each value that carries the rule's mark where it costs something.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from promptcache_lint.at_stake import is_enough
from promptcache_lint.exposure import exposed_holes
from promptcache_lint.findings import Finding, Severity
from promptcache_lint.going_on import goes_on
from promptcache_lint.prompts import Stability

if TYPE_CHECKING:
    from collections.abc import Iterator
    from collections.abc import Set as AbstractSet

    from promptcache_lint.exposure import Exposed
    from promptcache_lint.places import Place
    from promptcache_lint.prompts import Mark, Prompt, Trait

__all__ = ["PracticeRule", "Rule", "Sign", "SignRule", "practised", "steps"]


@dataclass(frozen=True, slots=True)
class Sign:
    """How values that deserve ``mark`` look in source.

    ``python``: dotted names whose call yields such a value (``datetime.datetime.now``); a name that begins
    with a dot is a method of any object (``.iterdir``). ``attributes``: dotted names that are such a value
    without being called. ``environment``: names of environment variables (regular expressions).
    ``names``: regular expressions for whole names, in words joined by ``_`` (``current_time``), as they
    occur in placeholders, template variables and parameters. ``filters``: Jinja2 filters whose result is such
    a value.
    """

    mark: Mark
    python: tuple[str, ...] = ()
    attributes: tuple[str, ...] = ()
    environment: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    filters: tuple[str, ...] = ()


_OF_THE_ORDER = {"PC104", "PC201", "PC401", "PC402"}
"""Faults of the order in which a text is put together, whatever stands in front."""
_OF_A_TALK = {"PC101", "PC102", "PC103", "PC107"}
"""Faults of values that may be kept with a conversation, or be its own."""
_LITTLE = 60
"""Fewer static words than this between a value and what the turn is about are no loss worth a word."""


class Rule(ABC):
    """A fault that can be seen in a prompt. Subclasses say ``code`` and `check`."""

    code: ClassVar[str]
    signs: ClassVar[tuple[Sign, ...]] = ()

    def concerns(self, codes: AbstractSet[str]) -> bool:  # noqa: ARG002 - for those that look for values
        """Whether there may be findings in a prompt whose values carry marks with ``codes``."""
        return True

    @abstractmethod
    def check(self, prompt: Prompt) -> Iterator[Finding]:
        """Yield the findings of this rule in ``prompt``."""


class SignRule(Rule):
    """Reports each value that carries a mark with the rule's code and stands where it costs hits.

    ``what`` completes the sentence "… reaches the system prompt".
    """

    what: ClassVar[str]

    def concerns(self, codes: AbstractSet[str]) -> bool:
        """Whether a value with the rule's own mark is there."""
        return self.code in codes

    def check(self, prompt: Prompt) -> Iterator[Finding]:
        """One finding for each value of this kind in the part of the prompt that should be reused."""
        for exposed in exposed_holes(prompt):
            for trait in exposed.hole.traits:
                mine = trait.mark.code == self.code and not trait.once
                if mine and exposed.costs(trait) and self.matters(exposed, trait):
                    yield self.finding(prompt, exposed, trait)

    def matters(self, exposed: Exposed, trait: Trait) -> bool:  # noqa: ARG002 - for those that narrow it
        """Whether a value of this kind is worth a word where it stands; rules narrow it."""
        return True

    def finding(self, prompt: Prompt, exposed: Exposed, trait: Trait) -> Finding:
        """The finding for one trait of one exposed hole."""
        return Finding(
            code=self.code,
            severity=_severity(prompt, exposed, trait),
            message=f"{self.what} ({trait.label}) reaches {exposed.where}{exposed.cost}",
            place=exposed.hole.place,
            source=None if trait.origin.start == exposed.hole.place.start else trait.origin,
            flow=steps(trait, exposed.hole.place),
            segment=exposed.segment.path,
            stranded_tokens=exposed.stranded_tokens,
            subject=trait.label,
        )


class PracticeRule(Rule):
    """Reports what a program does to a conversation, as the readers have judged it."""

    def check(self, prompt: Prompt) -> Iterator[Finding]:
        """One finding for each practice with the rule's code."""
        yield from practised(prompt, self.code)


def practised(prompt: Prompt, code: str) -> Iterator[Finding]:
    """The practices of a prompt that have a code, as findings."""
    for practice in prompt.practices:
        if practice.code == code:
            yield Finding(
                code=code,
                severity=practice.severity,
                message=practice.says,
                place=practice.place,
                source=practice.source,
                flow=(practice.source, practice.place) if practice.source else (),
                subject=practice.says,
            )


def steps(trait: Trait, place: Place) -> tuple[Place, ...]:
    """The way of a value from its source to ``place`` in the prompt; empty where it has none."""
    way = dict.fromkeys((trait.origin, *trait.flow, place))
    return tuple(way) if len(way) > 1 else ()


def _severity(prompt: Prompt, exposed: Exposed, trait: Trait) -> Severity:
    """How grave a value is where it stands.

    An error takes proof of three things. Where: at the head of what the source is seen to send again and
    again (`Prompt.proven`), or of a request as it was sent. What: a value whose kind is seen; in a file of
    prompts, where names are all there is, one that can mean nothing else (`Mark.plain`). Cost: what is lost
    behind it (`at_stake`). In a program, `proof` asks for the way of the value as well. What lacks one is a
    warning; a name alone, in a message that nothing shows to be sent again, is information, and so is that
    of a counter in a text that may head no conversation: it may count what the text is about.
    """
    if prompt.recorded:
        return trait.mark.severity
    role = exposed.segment.role
    here = trait.origin == exposed.hole.place and "(" not in trait.label  # a placeholder, and no call
    of_a_name = trait.guessed or (trait.mark.code == "PC107" and here)
    named_only = of_a_name and not (trait.mark.plain and prompt.written)
    of_one_step = of_a_name and not trait.mark.plain and trait.mark.code == "PC107" and role == "prompt"
    unseen = of_a_name and not trait.mark.plain
    if role == "assistant":
        return min(trait.mark.severity, Severity.INFO)  # what was answered is kept as it was
    if of_one_step or (role in {"user", "assistant"} and unseen):
        return min(trait.mark.severity, Severity.INFO)
    if _lasts_for_a_talk(trait) and role in {"system", "prompt"} and not exposed.words_behind:
        return min(trait.mark.severity, Severity.INFO)  # all that stands behind it is the talk itself
    if role == "system" and not prompt.proven and not prompt.written and _is_of_the_turn(exposed, trait):
        return min(trait.mark.severity, Severity.INFO)
    first = exposed.segment.path.startswith("messages[0]")
    run = exposed.segment.path.endswith(":]")  # messages that are chosen for this request, and never stored
    if role in {"user", "assistant"} and not (first or run) and not exposed.words_behind:
        return min(trait.mark.severity, Severity.INFO)  # it may be stored with its message, and costs nothing
    if goes_on(exposed.segment):
        return min(trait.mark.severity, Severity.INFO)  # the newest message
    if role == "prompt" and exposed.data_before and trait.mark.code not in _OF_THE_ORDER:
        return min(trait.mark.severity, Severity.INFO)  # one request about something, which stands in front
    if not prompt.certain and not prompt.written and trait.guessed and not trait.mark.plain:
        return min(trait.mark.severity, Severity.INFO)  # neither the text nor the value is known
    heads = role in {"system", "tool"} or (role == "user" and first)
    sure = prompt.proven and heads and not named_only and is_enough(prompt, exposed)
    return trait.mark.severity if sure else min(trait.mark.severity, Severity.WARNING)


def _lasts_for_a_talk(trait: Trait) -> bool:
    """Whether a value is the same through a conversation; a date is not, it changes at midnight."""
    return trait.mark.stability == Stability.CONVERSATION and trait.mark.code in _OF_A_TALK


def _is_of_the_turn(exposed: Exposed, trait: Trait) -> bool:
    """Whether the turn's own text follows soon behind a value: it stands in a message of that turn."""
    kept = exposed.words_kept
    return trait.mark.code not in _OF_THE_ORDER and kept < _LITTLE and kept < exposed.words_behind
