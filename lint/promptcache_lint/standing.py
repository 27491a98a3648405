"""How sure a finding is in the tree it stands in: what a file alone cannot tell.

A file of prompts is what the program makes of it. In a tree with programs, one that they never name and that
does not say its own role may be anything (a skill, a notice, a document), and one that they name without a
role holds no certain system prompt; and when a file is filled in only the program shows, so that there what
fills it is a warning. A program is known to send prompts where some file of its tree talks to a
model. In a tree without programs, files speak for themselves, and so does a file that was named itself.
"""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cached_property
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Literal

from promptcache_lint.findings import Severity
from promptcache_lint.readers.clients import sends_to_model
from promptcache_lint.wording import opens_like_prompt, role_of_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from promptcache_lint.findings import Finding
    from promptcache_lint.places import Source

__all__ = ["PROGRAMS", "Standing"]

PROGRAMS = frozenset({".py", ".pyi", ".ipynb", ".ts", ".tsx", ".js", ".jsx", ".mts", ".cts", ".mjs", ".cjs"})
_DATA = {".json", ".jsonl", ".yaml", ".yml", ".toml"}
_OWN_FORMAT = {".prompt", ".prompty"}
_SAYS_ROLE = re.compile(
    r"""["']?\brole["']?\s*[:=]\s*["']?(?:system|developer)\b|\{\{\s*role\s+["']system|<\|im_start\|>system"""
    r"""|^[ \t]*(?:#+[ \t]*)?(?:system|developer)[ \t]*:[ \t]*$"""
    r"""|["']?model["']?\s*:\s*["'\w](?s:.*)["']?messages["']?\s*:""",
    re.IGNORECASE | re.MULTILINE,
)
_FILE = re.compile(r"(?<![\w@-])[\w@-]++\.[\w.-]+")
_QUOTED = re.compile(r"""(?<![\w@-])([\w@-]++)["'`]""")
_HEAD = re.compile(r"\A(?:---\n.*?^---$|\s|\{#.*?#\}|\{%.*?%\}|<!--.*?-->)+", re.MULTILINE | re.DOTALL)
_ANYWHERE = {"PC101", "PC109", "PC103", "PC401", "PC402"}
_MUCH = 100
_OF_A_REQUEST = ("PC508", "PC6")
"""Faults that a file shows by itself: of a request as it stands there, of a chat template."""
_STRING = re.compile(r"""(["'`])(?:(?!\1).)*\1""")
_WORD = re.compile(r"[A-Za-z_]\w+")
_DOCUMENTS = re.compile(r"(?:^|/)(?:docs?|documentation)/", re.IGNORECASE)
_BESIDE = re.compile(
    r"(?:^|/)(?:skills?|commands|notices?|\.(?:claude|codex|cursor|gemini|kiro|opencode|roo|windsurf))/",
    re.IGNORECASE,
)
"""Folders of what is read when it is wanted and behind what was said, or by tools that fill nothing in."""

_Use = Literal["role", "maybe", "worded", "text", "none"]
"""A prompt of a role; one that may have it; one that begins like one; any that is used; one that is not."""


class Standing:
    """What the programs of a tree say of its files. ``programs`` gives their texts where they are needed."""

    def __init__(self, programs: Callable[[], Iterable[str]]) -> None:
        self._programs = programs
        self._uses: dict[str, _Use] = {}
        self._loaded: dict[tuple[str, str], bool] = {}

    def judged(self, finding: Finding, source: Source | None, *, asked: bool) -> Finding:
        """The finding as grave as its tree allows."""
        path = PurePosixPath(source.called if source is not None else finding.place.path)
        if finding.severity == Severity.INFO or finding.code.startswith("PC9"):
            return finding
        if path.suffix.lower() in PROGRAMS:
            if not asked and _DOCUMENTS.search(f"{path.parent}/"):
                return replace(finding, severity=Severity.INFO)
            sure = finding.severity < Severity.ERROR or self._sends
            return finding if sure else replace(finding, severity=Severity.WARNING)
        if not asked and _DOCUMENTS.search(f"{path.parent}/"):
            return replace(finding, severity=Severity.INFO)
        if asked or not self._texts:
            return finding
        text = source.text if source is not None else ""
        return replace(finding, severity=min(finding.severity, self._most(path, text, finding)))

    @cached_property
    def _texts(self) -> list[str]:
        return list(self._programs())

    @cached_property
    def _sends(self) -> bool:
        """Whether any program of the tree talks to a model."""
        return any(map(sends_to_model, self._programs()))

    @cached_property
    def _names(self) -> set[str]:
        """Names of files in the programs, and words that end a string."""
        found = {name for text in self._texts for name in _FILE.findall(text)}
        return found.union(name for text in self._texts for name in _QUOTED.findall(text))

    def _most(self, path: PurePosixPath, text: str, finding: Finding) -> Severity:
        """How grave a finding in a file of prompts may be."""
        use = self._uses.get(str(path))
        if use is None:
            use = self._uses[str(path)] = self._use(path, text)
        if use == "role":  # when it is filled in, and how often, the file does not show
            return Severity.ERROR if finding.code.startswith(_OF_A_REQUEST) else Severity.WARNING
        much = (finding.stranded_tokens or 0) >= _MUCH
        matters = use == "maybe" or (much and (use == "worded" or finding.code in _ANYWHERE))
        return Severity.WARNING if matters and use != "none" else Severity.INFO

    def _use(self, path: PurePosixPath, text: str) -> _Use:
        if _BESIDE.search(f"{path.parent}/"):
            return "none"
        if path.suffix.lower() in _OWN_FORMAT or (path.suffix.lower() in _DATA and _SAYS_ROLE.search(text)):
            return "role"
        stem = path.name.split(".", maxsplit=1)[0]
        role = "system" if _SAYS_ROLE.search(text) else role_of_name(stem)
        named = self._is_named(path, stem)
        if role is not None:
            return "role" if named and role == "system" else "maybe"
        if named and self._is_called_system(path, stem):
            return "role"
        if named and any(map(opens_like_prompt, _starts(text))):
            return "worded"
        return "text" if named else "none"

    def _is_named(self, path: PurePosixPath, stem: str) -> bool:
        """Whether a program names the file, by its name or its stem, or loads what lies in its folder."""
        if path.name in self._names or stem in self._names:
            return True
        what = path.parent.name, path.suffix
        known = self._loaded.get(what)
        if known is None:
            known = self._loaded[what] = any(_loads(text, *what) for text in self._texts)
        return known

    def _is_called_system(self, path: PurePosixPath, stem: str) -> bool:
        """Whether a line that names the file calls it a system prompt."""
        for name in (path.name, stem):
            pattern = re.compile(rf"^[^\n]*\b{re.escape(name)}\b[^\n]*$", re.MULTILINE)
            for text in self._texts:
                if name in text and any(map(_says_system, pattern.findall(text))):
                    return True
        return False


def _loads(text: str, folder: str, kind: str) -> bool:
    """Whether a program may load all files of a kind (its suffix) that lie in a folder, or in its own."""
    if not folder:
        return f"*{kind}" in text
    return kind in text and re.search(rf"\b{re.escape(folder)}[\"'/]", text) is not None


def _says_system(line: str) -> bool:
    """Whether what a line names, but for its strings (the file's path), is called a system prompt."""
    return any(role_of_name(word) == "system" for word in _WORD.findall(_STRING.sub("", line)))


def _starts(text: str) -> list[str]:
    """The beginning of a text behind its front matter, comments and statements, and behind its first line."""
    start = _HEAD.sub("", text[:4000])
    return [start, start.partition("\n")[2]]
