"""Which functions are worth running: those in which, or below which, a prompt or a volatile value may occur.

Looks only at the text of functions and at the names they call, so that a large tree costs little. A function
that is left out counts as one of which nothing is known.
"""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from promptcache_lint.readers.python.program import Class, Function
from promptcache_lint.wording import role_of_name

if TYPE_CHECKING:
    from promptcache_lint.readers.python.program import Program

__all__ = ["PROMPT_HINT", "Relevance", "may_hold_prompt"]

PROMPT_HINT = re.compile(
    r"prompt|instructions|persona\b|preamble|system_message|SystemMessage|[\"']role[\"']|\bSYSTEM|\bsystem\s*="
    r"|_section\b|You are |you are an? |generate_content|completions?\.create|messages\.create"
    r"|responses\.create|\bcompletion\(|[\"']system[\"']",
    re.IGNORECASE,
)
_SOURCE_HINT = re.compile(
    r"\b(?:now|utcnow|today|time|time_ns|monotonic|perf_counter|strftime|ctime|localtime|gmtime|formatdate"
    r"|uuid\d?|getnode|token_hex|token_urlsafe|token_bytes|ULID|ulid|ObjectId|nanoid|cuid|generate"
    r"|random|randint|randrange|uniform|choices?|sample|shuffle|getrandbits|urandom|permutation"
    r"|gethostname|getfqdn|node|uname|platform|getpid|getppid|getcwd|cwd|home|getlogin|getuser|expanduser"
    r"|realpath|abspath|mkdtemp|mkstemp|mktemp|NamedTemporaryFile|TemporaryDirectory|getenv|getlocale"
    r"|set|frozenset|union|glob|iglob|listdir|scandir|iterdir|rglob|walk|as_completed|imap_unordered|dumps"
    r"|id|hash|object)\s*\(|\bos\.environ|\bsys\.(?:platform|version|executable)|[=(\[,]\s*\{\s*[\"'\w][^:{}]*[,}]"
)
_CALLED = re.compile(r"\b([A-Za-z_]\w*)\s*\(|\bself\.([a-z_]\w*)\b")
_SMALL = 12
_DEEPEST = 5


def may_hold_prompt(text: str) -> bool:
    """Whether anything in a file hints at prompts; most files of a tree are ruled out here, unparsed."""
    return PROMPT_HINT.search(text) is not None


class Relevance:
    """Remembers, for one program, what is known of its functions."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._sources: dict[Function, bool] = {}
        self._prompts: dict[Function, bool] = {}

    def holds_prompt(self, function: Function) -> bool:
        """Whether a function should be run by itself: its text or its name has to do with prompts."""
        if function not in self._prompts:
            text = function.module.segment(function.node)
            self._prompts[function] = role_of_name(function.name) is not None or may_hold_prompt(text)
        return self._prompts[function]

    def worth_calling(self, function: Function) -> bool:
        """Whether a call may yield something volatile: from the function itself, or from what it calls."""
        if isinstance(function.node, ast.Lambda):
            return True
        size = (function.node.end_lineno or 0) - function.node.lineno
        return size <= _SMALL or self._reaches_source(function, 0)

    def _reaches_source(self, function: Function, depth: int) -> bool:
        if function in self._sources:
            return self._sources[function]
        if depth > _DEEPEST:
            return False
        self._sources[function] = False
        text = function.module.segment(function.node)
        found = _SOURCE_HINT.search(text) is not None or any(
            self._reaches_source(called, depth + 1) for called in self._called(function, text)
        )
        self._sources[function] = found
        return found

    def _called(self, function: Function, text: str) -> list[Function]:
        names = {name for pair in _CALLED.findall(text) for name in pair if name}
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
