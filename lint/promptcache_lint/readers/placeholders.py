"""Placeholders in plain text: ``{x}``, ``{{x}}``, ``${x}``, ``%(x)s``, ``<%= x %>``, and Handlebars sections.

One scanner with offsets for all of them, because prompt files rarely say which dialect they are in. Jinja2
statements are left to `readers.jinja`. Nothing is ever rendered.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from dataclasses import dataclass, field, replace
from functools import lru_cache
from operator import itemgetter
from typing import TYPE_CHECKING

from promptcache_lint.prompts import Branch, Hole, Text, Trait
from promptcache_lint.rulebook import in_words

if TYPE_CHECKING:
    from collections.abc import Callable

    from promptcache_lint.places import Place
    from promptcache_lint.prompts import Mark, Part
    from promptcache_lint.rulebook import Vocabulary

    Locate = Callable[[int, int], Place]

__all__ = ["PLACEHOLDER", "date_only", "has_placeholder", "named_hole", "template_parts"]

_NAME = r"[A-Za-z_][\w-]*(?:\.[A-Za-z_]\w*|\[[\w'\"]+\]|\(\))*"

PLACEHOLDER = re.compile(
    rf"""
    \{{\{{!(?:--(?:(?!\{{\{{!).)*?--|(?:(?!\{{\{{!).)*?)\}}\}}    # {{{{! comment }}}}, up to the next one
  | \{{\{{\{{?\s*+(?P<tag>[#^/]\s*+[\w.-]*+|else)(?P<rest>[^{{}}\n]*+)\}}\}}\}}?   # {{{{#if x}}}}
  | \{{\{{\{{?[-~&\s]*(?P<mustache>[A-Za-z_$@][^{{}}\n]{{0,200}}?)[-~\s]*\}}\}}\}}?   # {{{{x}}}}
  | (?<![\\$])\$\{{\s*(?P<dollar>{_NAME})[^{{}}\n]{{0,80}}\}}                 # ${{x}}
  | <%[=-]\s*(?P<erb>[^%\s][^%\n]{{0,199}}?)\s*-?%>                         # <%= x %>
  | %\((?P<percent>\w+)\)[-+ #0\d.]*[sdrfi]                          # %(x)s
  | (?<![{{\\$])\{{(?P<brace>{_NAME})(?:![rsa])?                       # {{x}} {{x:%H}}, and no {{x: x, y: y}}
    (?P<spec>:(?!\s+\w+\s*[,}}])[^{{}}\n"']{{0,60}})?\}}(?!\}})
    """,
    re.VERBOSE | re.DOTALL,
)

_DUMPS = re.compile(
    r"^(?:(?:to)?json|json_?stringify|stringify)\s+\w|\|\s*(?:json|dump|json_encode|to_json)\b", re.IGNORECASE
)
"""A value dumped as JSON by a helper or filter; Jinja2's own ``tojson`` sorts its keys and is left out."""
_BARE = re.compile(r"\{\{\w+\}\}")
"""Beside ``{x}`` this is how `str.format` writes a literal ``{x}``, and no placeholder."""
_LISTING = re.compile(
    r"\w+,\s*\w|(?!.*\b(?:if|else|or|and|in|is|not|for)\b)(?:[A-Za-z][a-z'-]* ){3,}[a-z'-]+[.?!]?\Z"
)
"""``{{low, high}}``, ``{{a short title of it}}`` tell the model what to write; they are no values."""
_FENCE = re.compile(r"^([ \t]*(?:```+|~~~+))([^\n]*)$", re.MULTILINE)
_PROSE_FENCES = {"", "text", "txt", "markdown", "md", "prompt", "xml", "jinja", "jinja2", "handlebars", "hbs"}
_JSX = re.compile(r"\bclassName=|\bon[A-Z]\w+=\{|<[A-Za-z][\w.-]*\s[^<>{}]*=\{[\w.]+\}[^<>]*/>")
"""Marks of pages written in code: where they stand, ``{x}`` is an expression of that code, no placeholder."""
_STRFTIME_TIME = re.compile(r"%[-#0]?[HIMSfsXcTRrpN]|\b[HhKk]{1,2}[:.]?m{2}|\bmm\b")
_STRFTIME_DAY = re.compile(r"%[-#0]?[aAdejuwxDFUVW]|\b(?:d|dd|ddd|DD|D)\b")


_EXPLAINED = re.compile(r"`[ \t]*(?:[-:|]|\u2013|\u2014)")
"""What follows a placeholder in backticks where a list or a table tells what it stands for."""
_CODE_SPAN = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
_TREE = re.compile(r"[^\S\n]*[│├└]")
_SPEAKS_OF_FIELDS = re.compile(
    r"\b(?:place-?holders?|merge (?:fields?|tags?)|(?:template|substitution) variables?)\b", re.IGNORECASE
)
_NEXT_FIELD = re.compile(r"[`\"']*,\s*[`\"']*[{$%<]")
_LAST_FIELD = re.compile(r"[}>s][`\"']*,\s*[`\"']*\Z")
_LATEX = re.compile(r"\\(?:begin|end)\Z")


def has_placeholder(text: str) -> bool:
    """Whether the text holds any placeholder."""
    return bool(_placeholders(text))


@lru_cache(maxsize=512)  # one text stands in several prompts
def _placeholders(text: str) -> tuple[re.Match[str], ...]:
    if "{" not in text and "%(" not in text and "<%" not in text:
        return ()
    return tuple(PLACEHOLDER.finditer(text))


def date_only(mark: Mark, pattern: str, vocabulary: Vocabulary) -> Mark | None:
    """What is left of a clock's mark when it is written with a format: the time, a date, or only a month."""
    if mark.code not in {"PC101", "PC109"} or _STRFTIME_TIME.search(pattern):
        return mark
    if _STRFTIME_DAY.search(pattern):
        return vocabulary.mark("PC109")
    return None if "%" in pattern else mark


def named_hole(name: str, label: str, place: Place, vocabulary: Vocabulary, *, guessed: bool = False) -> Hole:
    """A hole of which only a name is known."""
    mark = vocabulary.name(name)
    if mark is None:
        return Hole(label, place, words=in_words(name))
    trait = Trait(mark, place, label, guessed=guessed)
    return Hole(label, place, (trait,), mark.stability, in_words(name))


@dataclass
class _Section:
    """A section that has been opened and not yet closed."""

    test: str
    place: Place
    options: list[list[Part]] = field(default_factory=lambda: [[]])


@dataclass
class _Builder:
    """Collects parts while sections open and close."""

    done: list[Part] = field(default_factory=list)
    open: list[_Section] = field(default_factory=list)

    def add(self, part: Part) -> None:
        """Append to the innermost open option."""
        (self.open[-1].options[-1] if self.open else self.done).append(part)

    def close(self) -> None:
        """End the innermost section; one that never closes is closed at the end of the text."""
        section = self.open.pop()
        if not section.test:
            for part in section.options[0]:
                self.add(part)
            return
        options = tuple(tuple(option) for option in section.options)
        self.add(Branch(section.test, section.place, (*options, ()) if len(options) == 1 else options))


def template_parts(
    text: str, locate: Locate, vocabulary: Vocabulary, *, prose: bool = False
) -> tuple[Part, ...]:
    """The parts of ``text``; ``locate`` turns offsets in it into a place.

    ``prose``: the text is Markdown, whose fenced code is an example and no template.
    """
    builder = _Builder()
    matches = _placeholders(text)
    doubled_is_escaped = any(match["brace"] for match in matches)
    is_code = doubled_is_escaped and _JSX.search(text) is not None
    is_notation = _Notation(text, prose=prose)
    at = 0
    for match in matches:
        if doubled_is_escaped and match["mustache"] and _BARE.fullmatch(match[0]):
            continue
        if match["mustache"] and _LISTING.match(match["mustache"]):
            continue
        if match["brace"] and (is_code or _LATEX.search(text, max(match.start() - 6, 0), match.start())):
            continue
        if is_notation(match):
            continue
        if match.start() > at:
            builder.add(Text(text[at : match.start()], locate(at, match.start())))
        at = match.end()
        _add_placeholder(builder, match, locate(match.start(), match.end()), vocabulary)
    if at < len(text):
        builder.add(Text(text[at:], locate(at, len(text))))
    while builder.open:
        builder.close()
    return tuple(builder.done)


class _Notation:
    """Which placeholders a text only speaks of: in fenced or quoted code, explained, or one of a list."""

    def __init__(self, text: str, *, prose: bool) -> None:
        self._text, self._prose = text, prose
        self._fences = _code_fences(text) if prose else ()
        self._spans = tuple(_CODE_SPAN.finditer(text)) if prose and "`" in text else ()
        self._lists = _SPEAKS_OF_FIELDS.search(text) is not None

    def __call__(self, match: re.Match[str]) -> bool:
        """Whether a placeholder is shown and not filled."""
        text, start = self._text, match.start()
        if self._lists and (
            _NEXT_FIELD.match(text, match.end()) or _LAST_FIELD.search(text, max(start - 8, 0), start)
        ):
            return True
        if not self._prose:
            return False
        at = bisect_right(self._fences, start, key=itemgetter(0)) - 1
        if at >= 0 and start < self._fences[at][1]:
            return True
        if text[start - 1 : start] == "`" and _EXPLAINED.match(text, match.end()):
            return True
        if _TREE.match(text, text.rfind("\n", 0, start) + 1):
            return True
        at = bisect_left(self._spans, start, key=_begins) - 1
        return at >= 0 and start < self._spans[at].end() and self._spans[at][1].strip() != match[0]


def _begins(span: re.Match[str]) -> int:
    return span.start()


def _code_fences(text: str) -> tuple[tuple[int, int], ...]:
    """Where fenced code stands that is no prose; a fence ends with the next one of its own kind, bare."""
    if "```" not in text and "~~~" not in text:
        return ()
    rows = tuple(_FENCE.finditer(text))
    bare: dict[str, list[int]] = {}
    for index, row in enumerate(rows):
        if not row[2].strip():
            bare.setdefault(row[1], []).append(index)
    found, index = [], 0
    while index < len(rows):
        begin, ends = rows[index], bare.get(rows[index][1], [])
        at = bisect_right(ends, index)
        if at == len(ends):
            index += 1
            continue
        if begin[2].strip().split(" ")[0].lower() not in _PROSE_FENCES:
            found.append((begin.start(), rows[ends[at]].end()))
        index = ends[at] + 1
    return tuple(found)


def _add_placeholder(builder: _Builder, match: re.Match[str], place: Place, vocabulary: Vocabulary) -> None:
    groups = match.groupdict()
    if groups["tag"]:
        _section(builder, groups["tag"], groups["rest"].strip(), place)
        return
    name = next(
        (groups[kind] for kind in ("mustache", "dollar", "erb", "percent", "brace") if groups[kind]), ""
    )
    if not name:
        return
    bare = re.split(r"::|:|\||\s", name.strip(), maxsplit=1)[0].rstrip("()") if name else ""
    hole = named_hole(bare, match[0], place, vocabulary)
    mark = vocabulary.mark("PC204") if groups["mustache"] and _DUMPS.search(name) else None
    if mark is not None:
        hole = replace(hole, traits=(Trait(mark, place, match[0]),), stability=mark.stability)
    spec = (groups["spec"] or "")[1:]
    builder.add(_formatted(hole, spec, vocabulary) if "%" in spec else hole)


def _formatted(hole: Hole, spec: str, vocabulary: Vocabulary) -> Hole:
    traits = []
    for trait in hole.traits:
        mark = date_only(trait.mark, spec, vocabulary)
        if mark is not None:
            traits.append(replace(trait, mark=mark))
    return replace(hole, traits=tuple(traits))


def _section(builder: _Builder, tag: str, rest: str, place: Place) -> None:
    sigil, word = tag[0], tag[1:].strip()
    if tag == "else":
        if builder.open:
            builder.open[-1].options.append([])
    elif sigil == "/":
        if builder.open:
            builder.close()
    elif sigil == "^" or word in {"if", "unless"}:
        builder.open.append(_Section(rest or word or "else", place))
    else:
        builder.open.append(_Section("", place))
