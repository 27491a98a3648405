"""Prompts in Jinja2 templates, read with Jinja2's own parser and never rendered.

The parser gives structure and lines; columns come from matching its output expressions, in order, with the
``{{`` tokens of its lexer. Variables set in the template, macros, includes and imports of files beside it
are followed. Tags the environment does not know are skipped over.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import jinja2
from jinja2 import nodes
from jinja2.ext import Extension

from promptcache_lint.errors import UnreadableFileError
from promptcache_lint.prompts import Prompt, Segment
from promptcache_lint.readers.chat_templates import is_chat_template, judge_chat_template
from promptcache_lint.readers.jinja_children import written_anew
from promptcache_lint.readers.jinja_parts import TemplateWalker
from promptcache_lint.readers.text import (
    FRONT_MATTER,
    ROLE_MARKER,
    html_comments,
    segments_by_role,
)
from promptcache_lint.wording import is_other_document, role_of_file_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from jinja2.parser import Parser

    from promptcache_lint.places import Place, Source
    from promptcache_lint.prompts import Part
    from promptcache_lint.readers.reading import InputFile, Workspace

__all__ = ["JinjaReader", "is_jinja", "parse_template"]

_STATEMENT = re.compile(r"\{%[-+]?\s*[a-z]\w*")
_UNKNOWN_TAG = re.compile(r"unknown tag '(\w+)'", re.IGNORECASE)
_MOST_UNKNOWN_TAGS = 20
_TAG = re.compile(r"\{\{(?:(?!\{\{)[^\n])*?\}\}|\{%(?:(?!\{%)[^\n])*?%\}")
_DJANGO_FILTER = re.compile(r"""(\|\s*\w+):("[^"]*"|'[^']*'|-?[\w.]+)""")
_TRANS = re.compile(r"\{%[-+]?\s*trans\b")
_END_TRANS = re.compile(r"\{%[-+]?\s*endtrans\b")


def is_jinja(text: str) -> bool:
    """Whether the text uses Jinja2's statements (``{{ x }}`` alone could be any dialect)."""
    return _STATEMENT.search(text) is not None


def _tolerate(tag: str, *, closed: bool) -> type[Extension]:
    """An extension that reads over ``{% tag … %}`` and keeps the body up to ``{% endtag %}``, if any."""

    def parse(_self: Extension, parser: Parser) -> nodes.Node | list[nodes.Node]:
        line = next(parser.stream).lineno
        said = []
        while parser.stream.current.type != "block_end":
            token = next(parser.stream)
            said += [token.value] if token.type == "string" else []
        if tag == "now":  # of Django and others: it writes the time in the last format it is given
            clock = nodes.Call(
                nodes.Name("now", "load"), [nodes.Const(one) for one in said[-1:]], [], None, None
            )
            return nodes.CallBlock(clock, [], [], [], lineno=line)
        if not closed:
            return nodes.Scope([], lineno=line)
        body = parser.parse_statements((f"name:end{tag}",), drop_needle=True)
        while parser.stream.current.type != "block_end":
            next(parser.stream)
        return nodes.Scope(body, lineno=line)

    return type(f"Tolerate_{tag}", (Extension,), {"tags": {tag}, "parse": parse})


def _called_filters(tag: re.Match[str]) -> str:
    """A tag with its filters' arguments, as Django writes them, in parentheses: ``|date:"Y"``."""
    return _DJANGO_FILTER.sub(r"\1(\2)", tag[0])


def parse_template(text: str) -> tuple[jinja2.Environment, nodes.Template]:
    """Parse a template; raises `UnreadableFileError` where it is not valid Jinja2."""
    extensions: list[str | type[Extension]] = ["jinja2.ext.do", "jinja2.ext.loopcontrols"]
    if _END_TRANS.search(text) or not _TRANS.search(text):
        extensions.append("jinja2.ext.i18n")  # Django's ``trans`` has no end: an unknown tag
    for _ in range(_MOST_UNKNOWN_TAGS):
        environment = jinja2.Environment(extensions=extensions, autoescape=False, keep_trailing_newline=True)  # noqa: S701 - parsed, never rendered
        try:
            return environment, environment.parse(text)
        except jinja2.TemplateSyntaxError as error:
            unknown = _UNKNOWN_TAG.search(error.message or "")
            if unknown is None and (adapted := _TAG.sub(_called_filters, text)) != text:
                text = adapted  # the tree says lines only, and these stay
                continue
            if unknown is None or unknown[1].startswith("end"):
                raise UnreadableFileError(
                    f"Not a valid Jinja2 template: {error.message}", row=error.lineno
                ) from error
            closed = re.search(r"\{%[-+]?\s*end" + re.escape(unknown[1]) + r"\b", text) is not None
            extensions.append(_tolerate(unknown[1], closed=closed))
        except RecursionError as error:
            raise UnreadableFileError("The template is nested too deeply.") from error
    raise UnreadableFileError("The template uses too many unknown tags.")


class JinjaReader:
    """Reads Jinja2 templates."""

    def read(self, file: InputFile, workspace: Workspace) -> Iterable[Prompt]:
        """One prompt for the whole template; none where its name says that it makes something else."""
        if is_other_document(file.path.name):
            return
        source = file.source
        text = source.text.replace("\r\n", "\n")
        matter = FRONT_MATTER.match(text)
        start = matter.end() if matter else 0
        blanked = re.sub(r"[^\n]", " ", text[:start]) + text[start:]
        chat_template = is_chat_template(text)
        walker = TemplateWalker(workspace, file.path, source, loops=not chat_template)
        walker.anew = written_anew(file.path, text, workspace)
        role = role_of_file_name(file.path.name)
        if not chat_template and ROLE_MARKER.search(text, start):
            segments = segments_by_role(blanked, start, role, _pieces(walker, blanked))
        else:
            path = role if role == "system" else "messages[0]"
            segments = (Segment(path, role, walker.parts(blanked), newest=role == "user"),)
        place = source.place(start, len(source.text))
        yield Prompt(file.path.name, place, segments, layout=not chat_template, proven=True, written=True)
        if chat_template:
            head = source.place(start, start + len(source.text[start:].split("\n", 1)[0]))
            yield Prompt("chat template", head, (), practices=judge_chat_template(text[start:], head))

    def comments(self, source: Source) -> Iterable[tuple[Place, str]]:
        """Jinja and HTML comments."""
        return html_comments(source)


def _pieces(walker: TemplateWalker, text: str) -> Callable[[int, int], tuple[Part, ...]]:
    """Cuts the parts of a whole template at offsets, as role markers stand in its text."""
    parts = walker.parts(text)

    def between(begin: int, end: int) -> tuple[Part, ...]:
        first, last = walker.source.position(begin), walker.source.position(end)
        return tuple(part for part in parts if first <= (part.place.row, part.place.column) < last)

    return between
