"""What a text of Python hints at, by its words alone: prompts, volatile values, texts that are put together.

Which functions are run for what their text hints at is `relevance`'s business.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

    from promptcache_lint.readers.python.program import Function

__all__ = [
    "LIKELY_SOURCES",
    "SURE_SOURCES",
    "gives_text",
    "hands_itself_on",
    "hands_text_over",
    "has_source",
    "is_about_prompts",
    "keeps_text",
    "looks_up",
    "may_hold_prompt",
    "names_of",
    "puts_text_together",
    "returns_text",
    "words_of",
]

_QUOTED = re.compile(r"""[(,=]\s*[\"'][^\"'\n]+[\"'][^\n\"':]*[,)]""")
_PROMPT_HINTS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(
        (
            "prompt",
            "instructions",
            "persona",
            "preamble",
            "backstory",
            "_section",
            "you are ",
            "generate_content",
        ),
        (),
    ),
    "system": (
        *("system_m", "systemm", "system =", "system=", '"system"', "'system'"),
        *("role.system", "from_system", "system_role", "system_i", "systemi"),
    ),
    "role": ('"role"', "'role'"),
    "completion": ("completion(", "completions."),
    "developer": ("role.developer", "from_developer", '"developer"'),
    "create": ("messages.create", "responses.create"),
    "function": ('"function"', "'function'"),
    "input_schema": (),
    "toolspec": (),
    "invoke": ("invoke({", "invoke(dict("),
    "format_messages": (),
}
"""What hints at prompts in lower-case text: a word by itself, or, where it is too common, in these forms."""
SURE_SOURCES = frozenset(
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
        *("max_marginal_relevance_search", "query_texts", "query_embeddings", "query_vector", "near_vector"),
        *(
            "query_points",
            "query_points_groups",
            "near_text",
            "similarity_search_by_vector",
            "RANDOM",
            "top_k",
        ),
        *("check_output", "getoutput", "popen", "subprocess"),
        *("scandir", "iterdir", "rglob", "as_completed", "imap_unordered", "dumps"),
    }
)
LIKELY_SOURCES = frozenset(
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
        *("get_template", "from_string", "Template"),  # what a Jinja2 environment shares may be one
        *("recall", "retrieve"),
        *("select", "query"),  # of a database, in an order that nobody has given
    }
)
"""Words that are sources when they are called, and otherwise only words."""
_BRACES = re.compile(r"\{\s*[\"'\w][^:{}]*[,}]")
_BEFORE_A_SET = re.compile(r"(?:[=(\[,]|\bfor\s[\w, ()]{1,80}\sin|\breturn)\Z")
_WORD = re.compile(r"\w+")
_ITSELF = re.compile(r"\bself\b(?!\.)")
_NO_WORD = {code: " " for code in range(128) if not _WORD.match(chr(code))}
_KEEPS = re.compile(r"\bself\.\w+(?:\.(?:append|extend|insert|write)\(| *\+=(?! *\d))|\breturn self\b(?!\.)")
_GIVES = re.compile(
    r"\.join\([^\n]*\bself\.|\.getvalue\(\)|def (?:build|render|text|content|compile|finish|__str__)\("
)
_MAKES_TEXT = re.compile(
    r"return\s+\(?\s*[fr]?[\"']|\.join\(|\.format\(|\+=|return\s+\[?\s*\{\s*[\"'](?:type|text|cachePoint)[\"']"
)
"""A text, or a block of a message's content, that is given back."""
_PUTS_TOGETHER = re.compile(
    r"""\b[rR]?[fF][rR]?["']|\.format\(|\.join\(|\+=|["']\s*%\s|\s\+\s|\.replace\(|ubstitute|"""
    r"""cache_control|cachePoint|claude|\{[a-z_]+\}|\.partial\(|\.render(?:_async)?\(|render_template"""
)


_COMMON = frozenset(
    {"instructions", "persona", "preamble", "_section", "you are ", "system", "developer", "function"}
)
"""Hints that programs which know no models are full of: bytecode has instructions, and physics systems."""
_ABOUT_MODELS = (
    *("assistant", "openai", "anthropic", "claude", "gpt", "gemini", "langchain", "chat", "ollama"),
    *("conversation", "generativeai", "generative_ai", "generative ai", "mistral", "copilot", "bedrock"),
    *("language model", "tool_", "groq", "deepseek", "huggingface", "rag_", "persona ", "dspy", "litellm"),
)
_MODELS = re.compile(r"(?<!user)(?<!user[-_ ])agent|(?<![a-z])llm|\bmcp|cohere(?!n)")
_ADDRESSED = re.compile(
    r"LLM|You are|YOU ARE|You're|Your (?:task|job|role|goal)|Act as an?\b|# Role"
    r"|(?:[=(,\[+]\s*|:[ \t]*|\breturn\s+\(?\s*)[fFrR]{0,2}[\"']{1,3}\s*(?:As an?|Answer|Respond|Reply|Be"
    r"|Never|Summari[sz]e|Translate|Classify|Rewrite|Extract|Write|Always|Given (?:the|an?)|Today)\b"
)
"""How a model is spoken to."""


def is_about_prompts(text: str) -> bool:
    """Whether a file may hold prompts; most files of a tree are ruled out here, unparsed.

    A hint that is common elsewhere counts where something else in the file has to do with models.
    """
    lowered = text.lower()
    common = False
    for word, forms in _PROMPT_HINTS.items():
        if word in lowered and (not forms or any(form in lowered for form in forms)):
            if word not in _COMMON:
                return True
            common = True
    if not common:
        return False
    if any(word in lowered for word in _ABOUT_MODELS):
        return True
    return _MODELS.search(lowered) is not None or _ADDRESSED.search(text) is not None


def may_hold_prompt(text: str) -> bool:
    """Whether anything in a part of a file hints at prompts."""
    lowered = text.lower()
    for word, forms in _PROMPT_HINTS.items():
        if word in lowered and (not forms or any(form in lowered for form in forms)):
            return True
    return False


def has_source(text: str, words: AbstractSet[str]) -> bool:
    """Whether something volatile may come from a text; ``words`` are those in it."""
    if words & SURE_SOURCES or any(f"{word}(" in text for word in words & LIKELY_SOURCES):
        return True
    if ("{" in text and _displays_set(text)) or "et[str]" in text:
        return True
    lowered = text.lower()
    return ("select" in lowered or ".objects." in lowered) and _QUERY.search(text) is not None


_QUERY = re.compile(r"[\"'(\s]select\s|\.objects\.", re.IGNORECASE)
"""How a query of a database begins."""


def _displays_set(text: str) -> bool:
    """Whether braces in a text may be those of a set."""
    for braces in _BRACES.finditer(text):
        before = text[max(braces.start() - 200, 0) : braces.start()].rstrip()
        if _BEFORE_A_SET.search(before):
            return True
    return False


def words_of(code: str) -> set[str]:
    """The words in a text."""
    if code.isascii():
        return set(code.translate(_NO_WORD).split())
    return set(_WORD.findall(code))


def hands_itself_on(code: str) -> bool:
    """Whether a method gives its object to somebody else: ``self`` stands by itself in it."""
    return len(_ITSELF.findall(code)) > 1


def looks_up(name: str, code: str) -> bool:
    """Whether code takes something out of what has the name, as out of a table of functions."""
    return f"{name}[" in code or f"{name}.get(" in code or f" in {name}" in code


def keeps_text(code: str) -> bool:
    """Whether a method keeps what it is given in its object, or gives its object back."""
    return _KEEPS.search(code) is not None


def gives_text(code: str) -> bool:
    """Whether a method gives the text that its object has been handed bit by bit."""
    return _GIVES.search(code) is not None


def puts_text_together(code: str) -> bool:
    """Whether a text of values is made anywhere in code."""
    return _PUTS_TOGETHER.search(code) is not None


def returns_text(code: str) -> bool:
    """Whether code gives back a text that is written or put together in it."""
    return _MAKES_TEXT.search(code) is not None


def names_of(called: list[Function], caller: Function) -> set[str]:
    """The names by which functions are called in ``caller``: their own, their class's, or an import's."""
    names = {f.owner.name if f.name == "__init__" and f.owner is not None else f.name for f in called}
    imports = caller.module.imports.items()
    return names | {alias for alias, dotted in imports if dotted.rpartition(".")[2] in names}


def hands_text_over(code: str) -> bool:
    """Whether a call in it is given a text that is written out."""
    return _QUOTED.search(code) is not None
