"""Which functions are worth running: those in which, or below which, a prompt or a volatile value may occur.

Looks only at the text of functions and at the names they call, so that a large tree costs little. A function
that is left out counts as one of which nothing is known.
"""

from __future__ import annotations

import ast
import re
from bisect import bisect_left
from dataclasses import dataclass
from typing import TYPE_CHECKING

from promptcache_lint.readers.python.program import Class, Function
from promptcache_lint.wording import role_of_name

if TYPE_CHECKING:
    from promptcache_lint.readers.python.program import Module, Program

__all__ = ["Relevance", "may_hold_prompt"]

_PROMPT_HINTS = (
    "prompt", "instructions", "persona", "preamble", "system_m", "systemm", "system =", "system=", '"system"',
    "'system'", '"role"', "'role'", "_section", "you are ", "generate_content", "completion",
    "messages.create", "responses.create",
)  # fmt: skip
_PROMPT_HINT = re.compile("|".join(map(re.escape, _PROMPT_HINTS)))
_SOURCE_HINT = re.compile(
    r"\b(?:now|utcnow|today|time|time_ns|monotonic|perf_counter|strftime|ctime|localtime|gmtime|formatdate"
    r"|uuid\d?|getnode|token_hex|token_urlsafe|token_bytes|ULID|ulid|ObjectId|nanoid|cuid|generate"
    r"|random|randint|randrange|uniform|choices?|sample|shuffle|getrandbits|urandom|permutation"
    r"|gethostname|getfqdn|node|uname|platform|getpid|getppid|getcwd|cwd|home|getlogin|getuser|expanduser"
    r"|realpath|abspath|mkdtemp|mkstemp|mktemp|NamedTemporaryFile|TemporaryDirectory|getenv|getlocale"
    r"|set|frozenset|union|glob|iglob|listdir|scandir|iterdir|rglob|walk|as_completed|imap_unordered|dumps"
    r"|id|hash|object)\s*\(|\bos\.environ|\bsys\.(?:platform|version|executable)|[=(\[,]\s*\{\s*[\"'\w][^:{}]*[,}]"
)
_CALLED = re.compile(r"(?<![\w.])([A-Za-z_]\w*)\(|\bself\.([a-z_]\w*)")
_MAKES_TEXT = re.compile(r"return\s+\(?\s*[fr]?[\"']|\.join\(|\.format\(|\+=")
_SMALL = 12
_DEEPEST = 5


def may_hold_prompt(text: str) -> bool:
    """Whether anything in a file hints at prompts; most files of a tree are ruled out here, unparsed."""
    lowered = text.lower()
    return any(hint in lowered for hint in _PROMPT_HINTS)


@dataclass(frozen=True, slots=True)
class _Outline:
    """Where in a module's text, by offset, there are hints of prompts and sources, and called names."""

    prompts: list[int]
    sources: list[int]
    calls: list[int]
    called: list[str]


def _outline(text: str) -> _Outline:
    calls = [(match.start(), match[1] or match[2]) for match in _CALLED.finditer(text)]
    return _Outline(
        [match.start() for match in _PROMPT_HINT.finditer(text.lower())],
        [match.start() for match in _SOURCE_HINT.finditer(text)],
        [start for start, _ in calls],
        [name for _, name in calls],
    )


def _any_between(offsets: list[int], start: int, end: int) -> bool:
    at = bisect_left(offsets, start)
    return at < len(offsets) and offsets[at] < end


class Relevance:
    """Remembers, for one program, what is known of its functions."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._sources: dict[Function, bool] = {}
        self._prompts: dict[Function, bool] = {}
        self._outlines: dict[Module, _Outline] = {}

    def holds_prompt(self, function: Function) -> bool:
        """Whether a function should be run by itself: its text or its name has to do with prompts."""
        if function not in self._prompts:
            start, end = _extent(function)
            hinted = _any_between(self._outline(function.module).prompts, start, end)
            self._prompts[function] = hinted or role_of_name(function.name) is not None
        return self._prompts[function]

    def worth_calling(self, function: Function) -> bool:
        """Whether a call may yield something volatile, or a short text: from it, or from what it calls."""
        if isinstance(function.node, ast.Lambda):
            return True
        return self._reaches_source(function, 0) or self._is_short_text(function)

    def _is_short_text(self, function: Function) -> bool:
        size = (function.node.end_lineno or 0) - function.node.lineno
        return size <= _SMALL and _MAKES_TEXT.search(function.module.segment(function.node)) is not None

    def _reaches_source(self, function: Function, depth: int) -> bool:
        if function in self._sources:
            return self._sources[function]
        if depth > _DEEPEST:
            return False
        self._sources[function] = False
        start, end = _extent(function)
        outline = self._outline(function.module)
        found = _any_between(outline.sources, start, end) or any(
            self._reaches_source(called, depth + 1) for called in self._called(function, outline, start, end)
        )
        self._sources[function] = found
        return found

    def _called(self, function: Function, outline: _Outline, start: int, end: int) -> list[Function]:
        names = set(outline.called[bisect_left(outline.calls, start) : bisect_left(outline.calls, end)])
        found: list[Function] = []
        module = function.module
        for name in names:
            if function.owner is not None and name in function.owner.methods:
                found.append(function.owner.methods[name])
            elif name in module.functions:
                found.append(module.functions[name])
            elif name in module.classes:
                found += module.classes[name].methods.values()
            elif name in module.imports:
                target = self._program.resolve(module.imports[name], module)
                if isinstance(target, Function):
                    found.append(target)
                elif isinstance(target, Class):
                    found += target.methods.values()
        return found

    def _outline(self, module: Module) -> _Outline:
        if module not in self._outlines:
            self._outlines[module] = _outline(module.source.text)
        return self._outlines[module]


def _extent(function: Function) -> tuple[int, int]:
    """First and last offset of a function's text, in whole lines."""
    source = function.module.source
    node = function.node
    return source.offset(node.lineno, 1), source.offset((node.end_lineno or node.lineno) + 1, 1)
