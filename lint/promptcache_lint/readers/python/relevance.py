"""Which functions are worth running: those in which, or below which, a prompt or a volatile value may occur.

Looks only at the text of functions and at the names they call, so that a large tree costs little. A function
that is left out counts as one of which nothing is known.
"""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from promptcache_lint.readers.python.program import Class, Function
from promptcache_lint.readers.python.yields import flow_into, flow_of
from promptcache_lint.wording import role_of_name

if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Set as AbstractSet

    from promptcache_lint.readers.python.program import Program
    from promptcache_lint.readers.python.yields import Flow

__all__ = ["Relevance", "may_hold_prompt"]

_PROMPT_HINTS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(
        ("prompt", "instructions", "persona", "preamble", "_section", "you are ", "generate_content"), ()
    ),
    "system": (
        *("system_m", "systemm", "system =", "system=", '"system"', "'system'"),
        *("role.system", "from_system", "system_role"),
    ),
    "role": ('"role"', "'role'"),
    "completion": ("completion(", "completions."),
    "developer": ("role.developer", "from_developer", '"developer"'),
    "create": ("messages.create", "responses.create"),
    "function": ('"function"', "'function'"),
    "input_schema": (),
    "toolspec": (),
}
"""What hints at prompts in lower-case text: a word by itself, or, where it is too common, in these forms."""
_SURE_SOURCES = frozenset(
    {
        *(
            "utcnow",
            "time_ns",
            "monotonic",
            "perf_counter",
            "strftime",
            "ctime",
            "localtime",
            "gmtime",
            "formatdate",
        ),
        *("uuid1", "uuid4", "uuid6", "uuid7", "getnode", "token_hex", "token_urlsafe", "token_bytes", "ULID"),
        *(
            "ulid",
            "ObjectId",
            "nanoid",
            "cuid",
            "shortuuid",
            "ksuid",
            "randint",
            "randrange",
            "uniform",
            "shuffle",
        ),
        *(
            "getrandbits",
            "urandom",
            "permutation",
            "gethostname",
            "getfqdn",
            "uname",
            "getpid",
            "getppid",
            "getcwd",
        ),
        *(
            "getlogin",
            "getuser",
            "expanduser",
            "realpath",
            "abspath",
            "mkdtemp",
            "mkstemp",
            "mktemp",
            "environ",
        ),
        *("NamedTemporaryFile", "TemporaryDirectory", "getenv", "getlocale", "frozenset", "iglob", "listdir"),
        *(
            "similarity_search",
            "asimilarity_search",
            "similarity_search_with_score",
            "get_relevant_documents",
        ),
        *("max_marginal_relevance_search", "query_texts", "query_embeddings"),
        *("scandir", "iterdir", "rglob", "as_completed", "imap_unordered", "dumps"),
    }
)
_LIKELY_SOURCES = frozenset(
    {
        *(
            "now",
            "today",
            "time",
            "random",
            "choice",
            "choices",
            "sample",
            "node",
            "platform",
            "cwd",
            "home",
            "set",
        ),
        *("union", "glob", "walk", "id", "hash", "object", "generate", "version", "system", "machine"),
    }
)
"""Words that are sources when they are called, and otherwise only words."""
_BRACES = re.compile(r"\{\s*[\"'\w][^:{}]*[,}]")
_BEFORE_A_SET = re.compile(r"(?:[=(\[,]|\bfor\s[\w, ()]{1,80}\sin|\breturn)\Z")
_WORD = re.compile(r"\w+")
_NO_WORD = {code: " " for code in range(128) if not _WORD.match(chr(code))}
_MAKES_TEXT = re.compile(r"return\s+\(?\s*[fr]?[\"']|\.join\(|\.format\(|\+=")
_PUTS_TOGETHER = re.compile(
    r"""\b[rR]?[fF][rR]?["']|\.format\(|\.join\(|\+=|["']\s*%\s|\s\+\s|\.replace\(|ubstitute|"""
    r"""cache_control|cachePoint|claude|\{[a-z_]+\}|\.partial\("""
)
_SMALL = 12
_DEEPEST = 3


def may_hold_prompt(text: str) -> bool:
    """Whether anything in a file hints at prompts; most files of a tree are ruled out here, unparsed."""
    lowered = text.lower()
    for word, forms in _PROMPT_HINTS.items():
        if word in lowered and (not forms or any(form in lowered for form in forms)):
            return True
    return False


class Relevance:
    """Remembers, for one program, what is known of its functions."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._sources: dict[Function, bool] = {}
        self._yields: dict[Function, bool] = {}
        self._prompts: dict[Function, bool] = {}
        self._worth: dict[Function, bool] = {}
        self._words: dict[Function, set[str]] = {}
        self._calls: dict[Function, list[Function]] = {}

    def forget(self) -> None:
        """Let go of all functions."""
        self._sources.clear()
        self._yields.clear()
        self._prompts.clear()
        self._worth.clear()
        self._words.clear()
        self._calls.clear()

    def holds_prompt(self, function: Function) -> bool:
        """Whether a function should be run by itself: its text or its name has to do with prompts."""
        if function not in self._prompts:
            named = role_of_name(function.name) is not None or any(map(role_of_name, function.decorators))
            code = function.code
            hinted = named or may_hold_prompt(code)
            self._prompts[function] = found = hinted and _makes_prompt(code)
            if hinted and not found:
                self._prompts[function] = found = any(map(self.yields_source, self.called(function)))
            if not found:
                self._prompts[function] = self._hands_on(function, code)
        return self._prompts[function]

    def mentions_prompt(self, function: Function) -> bool:
        """Whether a function may send or name a prompt, though it makes none itself."""
        return self.holds_prompt(function) or may_hold_prompt(function.code)

    def _hands_on(self, function: Function, code: str) -> bool:
        """Whether a function hands something volatile to one that makes a prompt of it."""
        if not _has_source(code, self.words(function)):
            return False
        makers = [called for called in self.called(function) if self.holds_prompt(called)]
        if not makers:
            return False
        flow = flow_into(function, _names_of(makers, function))
        return self._brings_source(function, flow, 0) or self._has_kept_source(function, flow)

    def _has_kept_source(self, function: Function, flow: Flow) -> bool:
        """Whether an attribute in what flows is set by a method that something volatile may come from."""
        methods = function.owner.methods.values() if function.owner is not None else ()
        return any(
            not flow.words.isdisjoint(method.attributes) and self.reaches_source(method) for method in methods
        )

    def worth_calling(self, function: Function) -> bool:
        """Whether a call may yield something volatile, or a short text: from it, or from what it calls."""
        if isinstance(function.node, ast.Lambda):
            return True
        known = self._worth.get(function)
        if known is None:
            known = self._worth[function] = self.yields_source(function) or self._is_short_text(function)
        return known

    def yields_source(self, function: Function) -> bool:
        """Whether something volatile may be in what a function returns or changes."""
        return self._yields_source(function, 0)

    def reaches_source(self, function: Function) -> bool:
        """Whether something volatile may come from a function, or from what it calls."""
        return self._reaches_source(function, 0)

    def _is_short_text(self, function: Function) -> bool:
        size = (function.node.end_lineno or 0) - function.node.lineno
        return size <= _SMALL and _MAKES_TEXT.search(function.text) is not None

    def _reaches_source(self, function: Function, depth: int) -> bool:
        if function in self._sources:
            return self._sources[function]
        if depth > _DEEPEST:
            return False
        self._sources[function] = False
        found = _has_source(function.code, self.words(function)) or any(
            self._reaches_source(called, depth + 1) for called in self.called(function)
        )
        self._sources[function] = found
        return found

    def _yields_source(self, function: Function, depth: int) -> bool:
        if function in self._yields:
            return self._yields[function]
        if depth > _DEEPEST or not self._reaches_source(function, depth):
            return False
        self._yields[function] = False
        found = self._yields[function] = self._brings_source(function, flow_of(function), depth)
        return found

    def _brings_source(self, function: Function, flow: Flow, depth: int) -> bool:
        """Whether there is something volatile in what flows in a function, or comes from those it calls."""
        return bool(flow.sets or flow.words & _SURE_SOURCES or flow.called & _LIKELY_SOURCES) or any(
            self._yields_source(called, depth + 1)
            for called in self._called(function, flow.words, flow.called.__contains__)
        )

    def words(self, function: Function) -> set[str]:
        """The words in a function's text, but for its docstring."""
        known = self._words.get(function)
        if known is None:
            known = self._words[function] = _words_of(function.code)
        return known

    def called(self, function: Function) -> list[Function]:
        """What a function may call, by the names in its text."""
        known = self._calls.get(function)
        if known is None:
            text = function.code
            words = self.words(function)
            known = self._calls[function] = self._called(function, words, lambda name: f"{name}(" in text)
        return known

    def _called(
        self, function: Function, words: AbstractSet[str], is_called: Callable[[str], bool]
    ) -> list[Function]:
        """What a part of a function may call, by the words in it."""
        module = function.module
        found = [module.functions[name] for name in sorted(words & module.functions.keys())]
        if function.owner is not None:
            found += [function.owner.methods[name] for name in sorted(words & function.owner.methods.keys())]
        for name in sorted(words & module.classes.keys()):
            found += module.classes[name].methods.values()
        for name in sorted(words & module.imports.keys()):
            if not is_called(name):
                continue
            target = self._program.resolve(module.imports[name], module)
            if isinstance(target, Function):
                found.append(target)
            elif isinstance(target, Class):
                found += target.methods.values()
        return found


def _names_of(called: list[Function], caller: Function) -> set[str]:
    """The names by which functions are called in ``caller``: their own, their class's, or an import's."""
    names = {f.owner.name if f.name == "__init__" and f.owner is not None else f.name for f in called}
    imports = caller.module.imports.items()
    return names | {alias for alias, dotted in imports if dotted.rpartition(".")[2] in names}


def _has_source(text: str, words: set[str]) -> bool:
    if words & _SURE_SOURCES or any(f"{word}(" in text for word in words & _LIKELY_SOURCES):
        return True
    return "{" in text and _displays_set(text)


def _displays_set(text: str) -> bool:
    """Whether braces in a text may be those of a set."""
    for braces in _BRACES.finditer(text):
        before = text[max(braces.start() - 200, 0) : braces.start()].rstrip()
        if _BEFORE_A_SET.search(before):
            return True
    return False


def _words_of(code: str) -> set[str]:
    if code.isascii():
        return set(code.translate(_NO_WORD).split())
    return set(_WORD.findall(code))


def _makes_prompt(code: str) -> bool:
    """Whether code puts a text together, or holds something volatile: else nothing can be found in it."""
    return _PUTS_TOGETHER.search(code) is not None or _has_source(code, _words_of(code))
