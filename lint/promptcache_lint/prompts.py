"""The model every reader produces and every rule reads: a prompt is an ordered list of segments.

Segments stand in the order in which a provider matches them (tools, system, messages). A segment is made
of parts: text that is written down, holes that are filled at run time, and branches of which one is taken.
A hole carries traits, one for each fault that a value in it is known to bring along.

    "You are Ada. It is {now}."  →  Text("You are Ada. It is "), Hole("now", traits=(PC101,)), Text(".")

What a trait means, and whether it matters where it stands, is the rules' business.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, Literal

from promptcache_lint.quick import quick_value

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from promptcache_lint.findings import Severity
    from promptcache_lint.places import Place

__all__ = [
    "Branch",
    "Hole",
    "Mark",
    "Part",
    "Practice",
    "Prompt",
    "Role",
    "Segment",
    "Stability",
    "Text",
    "Trait",
    "estimate_tokens",
    "flatten",
]

Role = Literal["system", "user", "assistant", "tool", "prompt"]
"""Who speaks; ``"prompt"`` where the prompt is one text and nothing says which role it gets."""


class Stability(IntEnum):
    """How long a part keeps its value; larger is less stable."""

    STATIC = 0
    DEPLOYMENT = 1
    PROCESS = 2
    USER = 3
    CONVERSATION = 4
    TURN = 5


@dataclass(frozen=True, slots=True)
class Mark:
    """What a rule says of a kind of value: the fault it brings, how grave, and how often it changes.

    ``order``: the fault is in the order of the items, so sorting cures it. ``bulk``: the value is a text of
    some length, so that losing it alone costs something. ``plain``: a name for such a value means nothing
    else (``current_time``), as that of a counter or an id may (``step_number`` of one stored step).
    """

    code: str
    severity: Severity
    stability: Stability
    order: bool = False
    bulk: bool = False
    plain: bool = False


@quick_value
class Trait:
    """One fault carried by a value: what it is, where it comes from, and by which way it came here.

    ``once``: the value is computed once in the life of a process. ``guessed``: only a name suggests it.
    ``built``: a function wrote it into a text of its own on the way, so the text is made when it is called.
    """

    mark: Mark
    origin: Place
    label: str
    flow: tuple[Place, ...] = ()
    once: bool = False
    guessed: bool = False
    built: bool = False

    def through(self, place: Place) -> Trait:
        """The same trait, one step further on its way."""
        if place == self.origin or (self.flow and self.flow[-1] == place):
            return self
        if len(self.flow) >= 32:
            return self
        flow = (*self.flow, place)
        return Trait(self.mark, self.origin, self.label, flow, self.once, self.guessed, self.built)


@quick_value
class Text:
    """Text that stands in the source as it will stand in the prompt.

    ``open``: it is a plain literal of a program, in which placeholders may still be filled later.
    """

    text: str
    place: Place
    open: bool = False


@quick_value
class Hole:
    """A place that is filled at run time; ``label`` is how the source spells what fills it."""

    label: str
    place: Place
    traits: tuple[Trait, ...] = ()
    stability: Stability | None = None
    words: str = ""
    """The name in words joined by ``_`` (``user_name``), where there is a name."""


@quick_value
class Branch:
    """A section of which one option is rendered; an option may be empty.

    ``test`` is the condition's text, empty where it decides nothing about the prompt's shape. ``written``:
    the condition stands in the prompt itself, as template syntax, and not in the code around it.
    """

    test: str
    place: Place
    options: tuple[tuple[Part, ...], ...]
    written: bool = True


Part = Text | Hole | Branch


def flatten(parts: Iterable[Part]) -> Iterator[Text | Hole | Branch]:
    """All parts in order; a branch comes first, then the parts of all its options."""
    for part in parts:
        yield part
        if isinstance(part, Branch):
            for option in part.options:
                yield from flatten(option)


@dataclass(frozen=True, slots=True)
class Segment:
    """A run of parts that a provider sees as one piece; ``path`` as in a request (``messages[0]``).

    ``newest``: it is the last message of the user, whose content is new to the cache in any case.
    ``breakpoint``: a cacheable prefix is declared to end here; ``marked`` is where that stands, and ``ttl``
    the lifetime it asks for (empty: the provider's default).
    """

    path: str
    role: Role
    parts: tuple[Part, ...]
    newest: bool = False
    breakpoint: bool = False
    marked: Place | None = None
    ttl: str = ""


@dataclass(frozen=True, slots=True)
class Practice:
    """Something a program does to a conversation, whatever the text: it trims it, edits it, switches the
    model.

    ``says`` is the message; ``severity`` how sure it is to cost hits, as the reader judges from the evidence.
    ``within`` is the function whose requests it makes new from their first token on.
    """

    code: str
    severity: Severity
    place: Place
    says: str
    source: Place | None = None
    within: Place | None = None


@dataclass(frozen=True, slots=True)
class Prompt:
    """An ordered list of segments, found at ``place``; ``name`` is what the source calls it.

    ``certain``: the source sends it to a model; otherwise a name or the wording suggests so.
    ``layout``: the order of its parts is final, so rules about order apply. ``recorded``: it is a request
    as it was sent, with every value filled in. ``model`` is the model's name where the source says it.
    ``practices`` is what the program does to the conversation at ``place``. ``proven``: the source
    shows that it is sent as this prompt, and made anew for each request; a name or the wording shows neither.
    ``written``: it is a file of prompts, and no program. ``grows``: a history of unknown length follows, or
    stands among its messages. ``headed``: something of unknown length stands in front of it (tools that are
    made elsewhere). ``lent``: its breakpoint is set by a function to which others give longer texts, too.
    ``single``: it is a request whose messages are written out where it is sent, so that none follows.
    """

    name: str
    place: Place
    segments: tuple[Segment, ...]
    certain: bool = True
    layout: bool = True
    recorded: bool = False
    model: str = ""
    practices: tuple[Practice, ...] = ()
    proven: bool = False
    written: bool = False
    grows: bool = False
    headed: bool = False
    lent: bool = False
    single: bool = False

    def reusable(self) -> Iterator[Segment]:
        """What a cache could give back: all up to the last declared breakpoint, else all but the newest."""
        last = max((i for i, segment in enumerate(self.segments) if segment.breakpoint), default=None)
        for index, segment in enumerate(self.segments):
            if segment.newest or (last is not None and index > last):
                continue
            yield segment


def estimate_tokens(characters: int) -> int:
    """Tokens in English text of so many characters, by the usual four characters a token."""
    return (characters + 3) // 4
