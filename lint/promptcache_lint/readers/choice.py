"""Which reader a file gets, by its name and, for files whose name says little, by what is in it.

A file that was named on the command line is always read. In a folder, text and data files are read only where
something says that they hold prompts: a README is not one.
"""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING

from promptcache_lint.readers.data import DataReader
from promptcache_lint.readers.jinja import JinjaReader, is_jinja
from promptcache_lint.readers.notebook import NotebookReader
from promptcache_lint.readers.placeholders import has_placeholder
from promptcache_lint.readers.python.reader import PythonReader
from promptcache_lint.readers.python.relevance import may_hold_prompt
from promptcache_lint.readers.text import TextReader
from promptcache_lint.readers.typescript.grammar import SUFFIXES as _TYPESCRIPT
from promptcache_lint.readers.typescript.reader import TypeScriptReader
from promptcache_lint.wording import opens_like_prompt

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from promptcache_lint.readers.reading import Reader

__all__ = ["READ_SUFFIXES", "choose_reader"]

_PYTHON = {".py", ".pyi"}
_NOTEBOOKS = {".ipynb"}
_JINJA = {".j2", ".jinja", ".jinja2"}
_TEXT = {
    ".txt",
    ".md",
    ".markdown",
    ".prompt",
    ".prompty",
    ".hbs",
    ".handlebars",
    ".mustache",
    ".tmpl",
    ".tpl",
    ".mdc",
}
_DATA = {".json", ".jsonl", ".yaml", ".yml", ".toml"}
READ_SUFFIXES = frozenset(_PYTHON | _NOTEBOOKS | _TYPESCRIPT | _JINJA | _TEXT | _DATA)
"""Endings of the files that are looked at in a folder."""

_PROMPT_PATH = re.compile(
    r"prompt|system[_-]?message|instruction|persona|\bagents?\b|\bskills?\b", re.IGNORECASE
)
_DOCUMENT = re.compile(
    r"(?:readme|changelog|changes|license|licence|contributing|code_of_conduct|security|history|authors|"
    r"notice|todo|release|roadmap|install|requirements|skill|agents|claude|gemini|copilot-instructions)\b.*",
    re.IGNORECASE,
)
_DATA_HINT = re.compile(r"prompt|[\"']?role[\"']?\s*:|system|instructions|messages|template", re.IGNORECASE)
_NOT_PROMPTS = re.compile(
    r"(?:package(?:-lock)?|tsconfig.*|composer|pnpm-lock|docker-compose.*|mkdocs|\.pre-commit-config|pyproject|"
    r"cargo|poetry|uv|renovate|dependabot|codecov)\.(?:json|ya?ml|toml|lock)",
    re.IGNORECASE,
)
_LARGEST = 2_000_000
_HEAD = re.compile(
    r"\A(?:\s|\{#.*?#\}|\{%[-+]?\s*macro\b.*?\{%[-+]?\s*endmacro\s*[-+]?%\}"
    r"|\{%[-+]?\s*set\s+[\w.]+\s*(?:\|[^%=]*)?[-+]?%\}.*?\{%[-+]?\s*endset\s*[-+]?%\}"
    r"|\{%.*?%\}|\{\{.*?\}\}|<!--.*?-->)+",
    re.DOTALL,
)
"""Comments and statements, definitions with what they hold, and values that stand in front of all text."""
_EXTENDS = re.compile(r"\{%[-+]?\s*extends\s+[\"']([^\"']+)[\"']")
_MOST_EXTENDED = 4
_FIRST_LINES = 3


def choose_reader(path: Path, relative: str, text: str, *, asked: bool) -> Reader | None:
    """The reader for a file with ``text``; None if it holds none; ``relative``: its name in its project."""
    suffix = path.suffix.lower()
    if suffix in _PYTHON:
        return PythonReader()
    if suffix in _NOTEBOOKS:
        return NotebookReader() if asked or may_hold_prompt(text) else None
    if len(text) > _LARGEST and not asked:
        return None
    if suffix in _TYPESCRIPT:
        return TypeScriptReader()
    if suffix in _JINJA:
        return JinjaReader() if asked or _may_be_prompt(path, relative, text) else None
    if suffix in _DATA:
        return DataReader() if asked or _may_be_data(path, text) else None
    if suffix in _TEXT or asked:
        if not asked and not _is_prompt_text(path, relative, text):
            return None
        return JinjaReader() if is_jinja(text) else TextReader()
    return None


def _may_be_prompt(path: Path, relative: str, text: str) -> bool:
    """Whether a Jinja2 template makes a prompt and no page, mail or configuration file."""
    inner = path.name.removesuffix(path.suffix)
    if re.search(r"\.(?:html?|xml|css|js|ts|py|conf|cfg|ini|sql|sh|service|ya?ml|json|toml|rst)$", inner):
        return False
    if re.search(r"<html|<!doctype|<body|<div\b", text[:4000], re.IGNORECASE):
        return False
    if _PROMPT_PATH.search(relative) is not None or "messages" in text:
        return True
    return _opens_like_prompt(text) or any(_opens_like_prompt(each) for each in _extended(path, text))


def _opens_like_prompt(text: str) -> bool:
    """Whether the first lines of what a template writes begin as prompts do."""
    lines = (line for line in _start(text).split("\n") if line.strip())
    return any(opens_like_prompt(_start(line)) for line in islice(lines, _FIRST_LINES))


def _extended(path: Path, text: str) -> Iterator[str]:
    """The templates that one extends, the nearest first."""
    for _ in range(_MOST_EXTENDED):
        match = _EXTENDS.search(text[:4000])
        if match is None:
            return
        beside = [folder / match[1] for folder in (path.parent, *path.parent.parents[:2])]
        try:
            found = next(each for each in beside if each.is_file() and each.stat().st_size <= _LARGEST)
            text = found.read_text(encoding="utf-8", errors="replace")
        except (OSError, ValueError, StopIteration):
            return
        path = found
        yield text


def _may_be_data(path: Path, text: str) -> bool:
    return not _NOT_PROMPTS.fullmatch(path.name) and _DATA_HINT.search(text) is not None


def _is_prompt_text(path: Path, relative: str, text: str) -> bool:
    if _DOCUMENT.fullmatch(path.name):
        return False
    if path.suffix.lower() in {".prompt", ".prompty"}:
        return True
    if _PROMPT_PATH.search(relative) is None and not opens_like_prompt(_start(text)):
        return False
    return has_placeholder(text) or is_jinja(text)  # asked last: all of the text is looked through


def _start(text: str) -> str:
    """The beginning of a text after comments and statements."""
    return _HEAD.sub("", text[:4000])
