"""What a head says of itself: who is to answer ("You are the billing agent"), and how it begins.

Agents that share a policy, and one agent with other documents each time, look the same from afar. But as a
rule a prompt says who is to answer, in its first words or behind the documents, and that is the agent's own:
it does not change with documents. A name that follows ("a helpful assistant for Alice") is a customer's, and
does not count. Where nothing is said, a beginning in common says that the rest stands in one frame: a line
above the documents, or rules behind a value. What follows from it is `heads`' business.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from promptcache_gateway.observe.signatures import line_mark, persona_mark, runs_of, words_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from promptcache.segments import Segment
    from promptcache_gateway.observe.masking import Masker

_LOOKED_AT = 12_000  # characters at the beginning of the instructions
_END_LOOKED_AT = 8_192  # and at their end
_FRONT_CHARS = 1_000
_FRONT_WORDS = 64
_LINE_CHARS = 200
_WORDS = 8
_SIGNS = 16  # of a script that puts no space between words
_SAID_CHARS = 160

_YOU_ARE = re.compile(
    r"""[.!?:;>"'#*\n][ \t"'#*]*(?:
      (?:you(?:\ are|['\u2019]re)|your\ role\ is(?:\ to\ be)?|act\ as)\ [*_"\u201c]*
      (?=(?:an?|the|our|my)\ |(?-i:[A-Z]))
    | (?:du\ bist|sie\ sind|je\ bent|jij\ bent|u\ bent)
      \ (?=(?:eine?|der|die|das|een|de|het|unser\w*)\ |(?-i:[A-Z]))
    | (?:tu\ es|vous\ \u00eates)\ (?=(?:une?|le|la|notre)\ |l['\u2019]|(?-i:[A-Z]))
    | (?:(?:t\u00fa\ )?eres|(?:usted\ )es|sos|voc\u00ea\ \u00e9|tu\ \u00e9s|(?:tu\ )?sei)
      \ (?=(?:una?|uma?|el|la|lo|il|o|a|nuestr[oa]|nosso|nossa)\ |l['\u2019]|(?-i:[A-Z]))
    | (?:du\ \u00e4r|du\ er)\ (?=e[nt]t?\ |(?-i:[A-Z]))
    | (?:jeste\u015b|jsi|jste|olet|sen\ bir|b\u1ea1n\ l\u00e0|(?:anda|kamu)\ adalah)\ (?=\w)
    | (?:\u0442\u044b|\u0432\u044b|\u0442\u0438|\u0432\u0438)\ ?[-\u2013\u2014]\ ?(?=\w)
    | (?:\u0623\u0646\u062a|\u0627\u0646\u062a|\u0906\u092a\ \u090f\u0915)\ (?=\w)
    | (?:\u4f60\u662f|\u60a8\u662f|\u3042\u306a\u305f\u306f|\ub2f9\uc2e0\uc740|\ub108\ub294
        |\u0e04\u0e38\u0e13\u0e40\u0e1b\u0e47\u0e19|\u0e04\u0e38\u0e13\u0e04\u0e37\u0e2d)\ ?(?=\w)
    )""",
    re.IGNORECASE | re.VERBOSE,
)
_END = re.compile(r"[.!?;\n\u3002\uff01\uff1f\uff1b]")
_FOR_SOMEBODY = re.compile(
    r"\b(?:for|to|of|with|helping|assisting|supporting|serving|f\u00fcr|von|pour|de|para|per|di|voor|van)"
    r"\s+(?=[A-Z\u00c0-\u00de])"
)
_WORD = re.compile(r"\w+")
_NO_SPACES = re.compile(r"[\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff]")


@dataclass(frozen=True, slots=True)
class Face:
    """How a head presents itself. Numbers mean the same in every process.

    Attributes:
        persona: who it says is to answer, in a few words; 0 where it does not say so.
        line: its first line; 0 where that is no short line.
        front: the runs of its first words.
    """

    persona: int
    line: int
    front: frozenset[int]


def face_of(head: Iterable[Segment], masker: Masker) -> Face:
    """The face of a head. What is masked of it is what `signatures` masks too, and not masked twice."""
    own = [segment for segment in head if segment.kind != "tool"]
    begins = "\n".join([masker.masked(segment.text, _LOOKED_AT)[segment.head :] for segment in own])
    begins = begins[:_LOOKED_AT].lstrip()
    line, end, _ = begins[:_FRONT_CHARS].partition("\n")
    told = line.strip() if end and len(line) <= _LINE_CHARS else ""
    said = _persona(begins)
    if not said and sum([len(segment.text) for segment in own]) > _LOOKED_AT:
        last = "\n".join([segment.body for segment in own])[-_END_LOOKED_AT:]
        said = _persona(masker.masked(last, len(last)))
    return Face(
        persona=persona_mark(" ".join(said)),
        line=line_mark(told if _WORD.search(told) else ""),
        front=frozenset(runs_of(words_of(begins[:_FRONT_CHARS])[:_FRONT_WORDS])),
    )


def _persona(text: str) -> list[str]:
    """The words in which a text says who is to answer; none where it does not."""
    found = _YOU_ARE.search(text := f"\n{text}")
    if found is None:
        return []
    said = text[found.end() : found.end() + _SAID_CHARS]
    end = _END.search(said)
    said = said[: end.start()] if end else said
    somebody = _FOR_SOMEBODY.search(said)
    said = said[: somebody.start()] if somebody else said
    if _NO_SPACES.search(said):
        said = said[:_SIGNS]
    return _WORD.findall(said.casefold())[:_WORDS]
