"""Which holes of a prompt cost hits, and how much static text stands behind each.

A hole in a system prompt or a tool always costs: everything after it, the conversation included, is new to
the cache when its value changes. In a prompt of which nothing says the role, a hole costs by the static text
behind it, and nothing any more behind a value that is new in every turn anyway.
"""

from __future__ import annotations

import operator
import re
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

from promptcache_lint.prompts import Branch, Hole, Stability, Text, estimate_tokens, flatten

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from promptcache_lint.prompts import Part, Prompt, Segment, Trait

__all__ = [
    "Exposed",
    "around",
    "count_words",
    "exposed_branches",
    "exposed_holes",
    "holds_input",
    "lasts",
    "words_but_for_labels",
]

_WORD = re.compile(r"[^\W\d_]{2,}")
_TALK = re.compile(
    r"(?:\w+_)?(?:conversation|transcript|dialogue|chat_history)(?:_(?:text|str|history|log))?"
)
"""Names of a whole conversation that is written into one text."""
_ASKED = re.compile(
    r"(?:(?:the|user|current|last|latest|new)_)*(?:message|question|query|utterance)(?:_text)?"
)
"""Names of what the newest turn says: a system prompt that holds it is written for this one turn."""
_LASTS = re.compile(
    r"^[A-Z][A-Z0-9_.]*$|\b(?:self|cls|this|config|settings|options|env|opts)\b|\b[A-Z][A-Z0-9_]{3,}\b|"
    r"prompt|instruction|rules|guideline|schema|format|tool|persona|role|backstory|style|language|lang\b|template|"
    r"policy|policies|header|footer|section|preamble|intro|system|agent|model|version|example|separator|newline",
)
"""How the source spells values that are the same in each request, as far as their names tell."""
_A_SENTENCE = 8
"""Fewer words between two values than this say what the second one is."""
_CHANCE = "PC103"
_ENOUGH_WORDS = 3
"""Fewer words behind a hole than this are a label or a full stop, not text worth caching."""


@lru_cache(maxsize=2048)  # one text stands in many prompts, and behind many holes of each
def count_words(text: str) -> int:
    """How many words (two letters or more) the text holds."""
    return len(_WORD.findall(text))


@dataclass(frozen=True, slots=True)
class Exposed:
    """A hole or branch in a part of the prompt that should be reused, with what stands around it.

    ``behind`` is the static text after it, in characters and words; ``before`` the characters in front.
    ``turn_before``: a value that is new in every turn stands before it. ``words_kept``: the static words
    behind it up to the next value of its segment that is new in every turn: only those does it cost, where
    each request has a text of its own. ``asked_before``: what the newest turn says stands before it.
    ``data_before``: so does a value of which nothing says that it lasts. ``words_alone``: the static words up
    to the next value that is meant to be another one each time, such as a topic drawn by lot.
    """

    segment: Segment
    part: Hole | Branch
    before: int
    behind: int
    words_behind: int
    turn_before: bool
    words_kept: int = 0
    asked_before: bool = False
    data_before: bool = False
    words_alone: int = 0

    @property
    def hole(self) -> Hole:
        """The part, when it is a hole."""
        assert isinstance(self.part, Hole)
        return self.part

    @property
    def stranded_tokens(self) -> int:
        """An estimate of the static tokens behind the part."""
        return estimate_tokens(self.behind)

    @property
    def where(self) -> str:
        """The segment in words."""
        match self.segment.role:
            case "system":
                return "the system prompt"
            case "tool":
                return "a tool definition"
            case "prompt":
                return "the prompt"
            case role:
                return f"an earlier {role} message"

    @property
    def cost(self) -> str:
        """A subordinate clause on the static text behind, or nothing."""
        if self.words_behind == 0:
            return "."
        return f"; about {self.stranded_tokens} static tokens behind it cannot be reused."

    def costs(self, trait: Trait) -> bool:
        """Whether a value with this trait costs hits here."""
        if self.segment.role == "tool" and not self.segment.path.startswith("tools"):
            return False  # a result: new when it is added, and kept as it is from then on
        if self.segment.role == "prompt":
            return not self.turn_before and (trait.mark.bulk or self._keeps_enough)
        if self.segment.role == "system" and self.asked_before:
            return False
        return self.segment.role != "user" or self.words_kept == self.words_behind or self._keeps_enough

    @property
    def _keeps_enough(self) -> bool:
        """Whether there is text worth caching in front of what is new anyway."""
        return self.words_kept >= (_ENOUGH_WORDS if self.words_kept == self.words_behind else _A_SENTENCE)


def exposed_holes(prompt: Prompt) -> Iterator[Exposed]:
    """The holes in the reusable part of the prompt, in order."""
    return (exposed for exposed in _exposed(_This(prompt)) if isinstance(exposed.part, Hole))


def exposed_branches(prompt: Prompt) -> Iterator[Exposed]:
    """The conditional sections in the reusable part of the prompt, in order."""
    return (exposed for exposed in _exposed(_This(prompt)) if isinstance(exposed.part, Branch))


def words_but_for_labels(prompt: Prompt, exposed: Exposed) -> int:
    """The static words behind a value that are more than a label of the next one (``Town: {town}``)."""
    segments = list(prompt.reusable())
    index = next(i for i, segment in enumerate(segments) if segment is exposed.segment)
    found = around(exposed.part, list(exposed.segment.parts))
    behind = found[1] if found is not None else []
    runs = list(_runs([*behind, *(part for segment in segments[index + 1 :] for part in segment.parts)]))
    return sum(words for words, is_last in runs if is_last or words >= _A_SENTENCE)


def around(part: Part, parts: list[Part]) -> tuple[list[Part], list[Part]] | None:
    """What stands in front of a part and behind it; of a branch around it, in the option that it is in."""
    for index, each in enumerate(parts):
        before, behind = parts[:index], parts[index + 1 :]
        if each is part:
            return before, behind
        for option in each.options if isinstance(each, Branch) else ():
            inner = around(part, list(option))
            if inner is not None:
                return [*before, *inner[0]], [*inner[1], *behind]
    return None


def _runs(parts: list[Part]) -> Iterator[tuple[int, bool]]:
    """The words of each run of text, and whether no value follows; of a branch, its longest option."""
    words = 0
    for part in parts:
        if isinstance(part, Text):
            words += count_words(part.text)
            continue
        if isinstance(part, Branch):
            options = [list(_runs(list(option))) for option in part.options]
            longest: list[tuple[int, bool]] = max(
                options, key=lambda runs: sum(n for n, _ in runs), default=[]
            )
            for count, is_last in longest:
                words += count
                if not is_last:
                    yield words, False
                    words = 0
            continue
        yield words, False
        words = 0
    yield words, True


def holds_input(parts: Iterable[Part]) -> bool:
    """Whether the turn's own text (a question, what was found for it) is among the parts."""
    return any(isinstance(part, Hole) and _is_input(part) for part in flatten(parts))


@dataclass(frozen=True, slots=True, eq=False)
class _This:
    """A prompt as this very object: to compare prompts by what they hold costs more than to look at them."""

    prompt: Prompt

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _This) and other.prompt is self.prompt

    def __hash__(self) -> int:
        return id(self.prompt)


@lru_cache(maxsize=4)  # the rules ask one after another
def _exposed(this: _This) -> tuple[Exposed, ...]:
    rows = [(segment, part) for segment in this.prompt.reusable() for part in segment.parts]
    if all(isinstance(part, Text) for _, part in rows):
        return ()  # most texts: nothing varies, so nothing need be counted
    return tuple(_with_words_kept(list(_walk(rows, 0, (0, 0), [False, False, False]))))


def _with_words_kept(found: list[Exposed]) -> Iterator[Exposed]:
    """The holes and branches, with the static words up to the next text of the turn in the same segment."""
    beyond: dict[int, int] = {}  # by identity: to hash a long segment costs
    drawn: dict[int, int] = {}
    done: list[Exposed] = []
    for exposed in reversed(found):
        at, behind = id(exposed.segment), exposed.words_behind
        words = behind - min(beyond.get(at, 0), behind)
        alone = min(words, behind - min(drawn.get(at, 0), behind))
        done.append(replace(exposed, words_kept=words, words_alone=alone) if words else exposed)
        if isinstance(exposed.part, Hole):
            if any(trait.mark.code == _CHANCE for trait in exposed.part.traits):
                drawn[at] = behind
            if _is_input(exposed.part) or _TALK.fullmatch(exposed.part.words):
                beyond[at] = behind
    return reversed(done)


def _walk(
    rows: list[tuple[Segment, Part]], before: int, after: tuple[int, int], turn: list[bool]
) -> Iterator[Exposed]:
    """The holes and branches of a run of parts, which ``after`` (characters, words) follows.

    ``turn``: whether a value that is new in every turn was passed, one by whose name that is certain, and one
    of which nothing is known; set on the way.
    """
    sizes = [_size(part) for _, part in rows]
    behind = after[0] + sum(size for size, _ in sizes)
    words = after[1] + sum(count for _, count in sizes)
    for (segment, part), (size, count) in zip(rows, sizes, strict=True):
        behind, words = behind - size, words - count
        match part:
            case Branch():
                yield Exposed(segment, part, before, behind, words, turn[0], 0, *turn[1:])
                passed = list(turn)
                for option in part.options:  # only one of them is rendered
                    seen = list(passed)
                    yield from _walk([(segment, inner) for inner in option], before, (behind, words), seen)
                    turn[:] = map(operator.or_, turn, seen)
            case Hole():
                yield Exposed(segment, part, before, behind, words, turn[0], 0, *turn[1:])
                new = part.stability == Stability.TURN and _is_input(part)
                asked = new and _ASKED.fullmatch(part.words) is not None
                turn[:] = map(operator.or_, turn, (new, asked, _is_data(part)))
        before += size


def _size(part: Part) -> tuple[int, int]:
    """The characters and words of a part's text; of a branch, those of its longest option."""
    match part:
        case Text():
            return len(part.text), count_words(part.text)
        case Branch():
            sizes = [[_size(inner) for inner in option] for option in part.options]
            return max(((sum(n for n, _ in size), sum(w for _, w in size)) for size in sizes), default=(0, 0))
        case _:
            return 0, 0


def _is_data(hole: Hole) -> bool:
    """Whether nothing says of a value that it lasts: no constant, nothing that an agent is set up with."""
    return not hole.traits and bool(hole.label) and not lasts(hole.label)


def lasts(label: str) -> bool:
    """Whether a value lasts, by how the source spells it: a constant, or what an agent is set up with."""
    return _LASTS.search(label) is not None


def _is_input(hole: Hole) -> bool:
    """Whether the hole holds what the turn is about, so that nothing behind it was ever reusable."""
    return any(trait.mark.code in {"PC401", "PC402"} for trait in hole.traits)
