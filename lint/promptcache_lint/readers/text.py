"""Prompts in plain text and Markdown, with placeholders, front matter and role markers.

A file is one prompt. A line that holds only ``system:``, ``user:`` or ``assistant:`` (as prompty writes it),
or ``{{role "user"}}`` (dotprompt), begins a new segment; without any, the file's name says the role. Which
text files are prompts at all is decided in `readers.choice`.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from promptcache_lint.prompts import Prompt, Segment
from promptcache_lint.readers.placeholders import template_parts
from promptcache_lint.readers.wording_only import doubted
from promptcache_lint.wording import role_of_file_name, role_of_name, role_of_speaker

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from promptcache_lint.places import Place, Source
    from promptcache_lint.prompts import Part, Role
    from promptcache_lint.readers.reading import InputFile, Workspace

__all__ = ["FRONT_MATTER", "ROLE_MARKER", "TextReader", "html_comments", "segments_by_role"]

FRONT_MATTER = re.compile(r"\A(?:\ufeff)?---[ \t]*\n.*?^---[ \t]*$\n?", re.MULTILINE | re.DOTALL)
ROLE_MARKER = re.compile(
    r"^[ \t]*(?:#+[ \t]*)?(?P<bare>system|developer|user|human|assistant)[ \t]*:[ \t]*$"
    r"|\{\{\s*role\s+[\"'](?P<dot>system|user|model|assistant)[\"']\s*\}\}"
    r"|<\|im_start\|>(?P<chatml>system|user|assistant)\n",
    re.MULTILINE | re.IGNORECASE,
)
_OPENS = re.compile(r"(?P<html><!--)|(?P<jinja>\{#)|(?P<handlebars>\{\{!(?:--)?)")
_CLOSES = {"html": "-->", "jinja": "#}", "handlebars": "}}"}
_ASIDE = re.compile(r"<!--.*?-->", re.DOTALL)


def html_comments(source: Source) -> Iterator[tuple[Place, str]]:
    """The comments of text and templates: ``<!-- … -->``, ``{# … #}``, ``{{! … }}``."""
    text, at, unclosed = source.text, 0, set[str]()
    for match in _OPENS.finditer(text):
        kind = match.lastgroup or ""
        if match.start() < at or kind in unclosed:
            continue
        end = text.find(_CLOSES[kind], match.end())
        if end == -1:
            unclosed.add(kind)  # nothing further on closes one of these: the rest is not looked through again
            continue
        at = end + len(_CLOSES[kind])
        said = text[match.end() : end]
        yield source.place(match.start(), at), said.removesuffix("--") if kind == "handlebars" else said


def segments_by_role(
    text: str, start: int, role: Role, read: Callable[[int, int], tuple[Part, ...]]
) -> tuple[Segment, ...]:
    """Cut ``text[start:]`` at its role markers and ``read`` each piece; one segment where there are none."""
    markers = list(ROLE_MARKER.finditer(text, start))
    if not markers:
        path = role if role == "system" else "messages[0]"
        return (Segment(path, role, read(start, len(text)), newest=role == "user"),)
    pieces: list[tuple[Role, int, int]] = []
    if text[start : markers[0].start()].strip():
        pieces.append((role, start, markers[0].start()))
    for index, marker in enumerate(markers):
        end = markers[index + 1].start() if index + 1 < len(markers) else len(text)
        speaker = role_of_speaker(next(group for group in marker.groups() if group)) or "user"
        pieces.append((speaker, marker.end(), end))
    last_user = max((i for i, piece in enumerate(pieces) if piece[0] == "user"), default=None)
    return tuple(
        Segment(f"messages[{index}]", speaker, read(begin, end), newest=index == last_user)
        for index, (speaker, begin, end) in enumerate(pieces)
    )


class TextReader:
    """Reads ``.txt``, ``.md`` and other plain text."""

    def read(self, file: InputFile, workspace: Workspace) -> Iterable[Prompt]:
        """One prompt for the whole file; a system prompt for certain only if its name or its text says so."""
        source = file.source
        matter = FRONT_MATTER.match(source.text)
        start = matter.end() if matter else 0
        text = _blank_asides(source.text)

        def read(begin: int, end: int) -> tuple[Part, ...]:
            return template_parts(
                text[begin:end],
                lambda a, b: source.place(begin + a, begin + b),
                workspace.vocabulary,
                prose=True,
            )

        name = file.path.name
        segments = segments_by_role(text, start, role_of_file_name(name), read)
        certain = len(segments) > 1 or role_of_name(name.split(".", maxsplit=1)[0]) is not None
        if not certain:  # it may be a notice or a task as well: nothing in it is an error
            segments = tuple(replace(segment, parts=doubted(segment.parts)) for segment in segments)
        place = source.place(start, len(text))
        yield Prompt(name, place, segments, certain=certain, proven=True, written=True)

    def comments(self, source: Source) -> Iterable[tuple[Place, str]]:
        """HTML, Jinja and Handlebars comments."""
        return html_comments(source)


def _blank_asides(text: str) -> str:
    """The text with HTML comments blanked, so that offsets stay and a commented placeholder is silent."""
    if "<!--" not in text:
        return text
    last = text.rfind("-->") + len("-->")  # what opens behind it is not looked through for its end
    return _ASIDE.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text[:last]) + text[last:]
