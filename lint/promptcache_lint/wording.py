"""How prompts are worded and named: does a name, or a text, belong to a prompt, and whose role is it?

Shared by all readers. Deliberately narrow: a text that is no prompt and is taken for one costs more trust
than one that is missed.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from promptcache_lint.rulebook import in_words

if TYPE_CHECKING:
    from promptcache_lint.prompts import Role

__all__ = [
    "is_other_document",
    "opens_like_code",
    "opens_like_prompt",
    "role_of_file_name",
    "role_of_name",
    "role_of_speaker",
]

_SYSTEM = re.compile(
    r"(?:\w+_)?(?:system|sys|developer)_?(?:prompts?|messages?|msg|instructions?|text|content|template|role)"
    r"(?:_\w+)?"
    r"|(?:\w+_)?system|preamble|persona|(?:\w+_)?instructions(?:_(?:text|template|str))?"
    r"|(?:get|build|make|render|create|compose|format|default|base)_instructions?(?:_\w+)?"
    r"|(?:build|make|create|get|render)_system"
    r"|(?:\w+_)?(?:agent|assistant|bot|base|character|personality|role|identity|guidelines?)_prompts?(?:_\w+)?"
)
_USER = re.compile(
    r"(?:\w+_)?(?:user|human|question|query|task|turn|followup|follow_up)_?"
    r"(?:prompts?|messages?|msg|turns?|content|template|text)(?:_\w+)?"
)
_CODE = re.compile(
    r"\s*(?:#![/ ]|(?:import [\w.]+(?: as \w+)?|from [\w.]+ import [\w*, ()]+) *\n|(?:async )?def \w+\("
    r"|class \w+[(:]"
    r"|#include\b|<\?(?:xml|php)|<!doctype|(?:const|let|var) \w+ = |package \w+;?\s*\n)",
    re.IGNORECASE,
)
_OTHER_DOCUMENT = re.compile(
    r"(?:readme|license|changelog|contributing|dockerfile|containerfile|makefile|procfile|requirements)(?:[._-].*)?"
    r"|.+\.(?:html?|css|py|js|ts|sh|bat|toml|ini|cfg|conf|env|c|h|cpp|go|rs|java|service|tf)\.(?:j2|jinja2?|tmpl)",
    re.IGNORECASE,
)
_BEHIND = re.compile(
    r"(?:\w+_)?(?:append|appended|suffix|postfix|trailing|closing|reminder)_(?:prompt|message)s?"
)
"""What is put behind everything else, in the newest message."""
_PROMPT = re.compile(
    r"(?:\w+_)?prompts?(?:_(?:text|template|str|string|tmpl|body|content|header|prefix|suffix|base|v\d+|[a-z]{2}))?"
    r"|(?:build|make|create|get|render|format|compose|generate)_prompts?(?:_\w+)?|(?:\w+_)?instruction|(?:\w+_)?prompt_for_\w+"
    r"|few_?shot(?:s|_\w+)?"
)
_NOT_PROMPT = re.compile(
    r"(?:\w+_)?(?:negative|shell|input|cli|console|ps1|image|sd|save|load|log|print|show|ask|confirm|yes_no|"
    r"password|test|assert|check|validate|hash|count|on|handle|parse|read|list|delete|update|add|remove)_prompts?"
    r"(?:_\w+)?|prompts?_(?:id|ids|name|names|file|files|path|paths|dir|tokens?|len|length|hash|key|cache\w*|"
    r"version|toolkit|session|user|for_\w*(?:input|confirmation))|system_(?:info|status|time|path|name|id|type)"
    r"|is_\w+|has_\w+|prompt_user\w*|(?:\w+_)?(?:file|operating|sub|eco)_?system"
    r"|(?:\w+_)?(?:setup|deploy(?:ment)?|install(?:ation)?|login|payment|shipping|delivery|activation|registration)"
    r"_instructions?(?:_\w+)?"
)

_NOTICE = (
    r"about to (?:permanently |be )?(?:delete|remove|leave|perform|cancel|lose|send|exit|overwrite|discard"
    r"|publish|reset|restore|replace|log|sign|disconnect|close|import|export|pay|redirected|charged|clear|move|rename)"
    r"|(?:now |currently |already )?(?:logged|signed) (?:in|out)"
    r"|(?:now |currently )?(?:offline|subscribed|unsubscribed|leaving|viewing)|invited|out of"
    r"|(?:receiving|getting|seeing|reading) (?:this|these|our)\b"
)
"""How a program tells its user what is going on: "You are about to delete …" is a dialog, and no prompt."""
_OPENING = re.compile(
    r"\s*+(?:#[^\n]*+\n\s*+)*+"
    rf"(?:you(?:'re| are| will be| act| answer| play| help)\b(?! (?:not|{_NOTICE})\b)"
    r"|your (?:task|job|role|goal|name) is\b"
    r"|act as (?:an?|the)\b|as an? (?:expert|assistant|ai)\b|answer (?:the|with|in|as|only|using)\b"
    r"|given (?:the|a|an) [^.\n]{3,120}(?:,|\.|:)\s*(?:answer|write|extract|classify|summari[sz]e)"
    r"|(?:summari[sz]e|translate|classify|rewrite|extract) (?:the|this|these|all|each)\b"
    r"|<(?:system|instructions|role|persona)>)",
    re.IGNORECASE,
)
"""Headings first. None is given back, for no opening begins with ``#``: rulers would be tried in all ways."""


@lru_cache(maxsize=32_768)
def role_of_name(name: str) -> Role | None:
    """The role of what is called ``name`` (of a variable, function, key or file); None if no prompt."""
    words = in_words(name)
    if _NOT_PROMPT.fullmatch(words):
        return None
    if _USER.fullmatch(words) or _BEHIND.fullmatch(words):
        return "user"
    if _SYSTEM.fullmatch(words):
        return "system"
    return "prompt" if _PROMPT.fullmatch(words) else None


def role_of_file_name(name: str) -> Role:
    """The role a file's name suggests; a prompt in a file of its own is a system prompt by default."""
    stem = name.split(".", maxsplit=1)[0]
    words = [part for part in re.split(r"[._\-\s]+", name.lower()) if part]
    if role_of_name(stem) == "user" or "user" in words[:-1] or {"human", "input"} & set(words[:-1]):
        return "user"
    return "system"


def role_of_speaker(name: str) -> Role | None:
    """The role that a message's ``role`` field names, in the spellings of the libraries."""
    match name.lower():
        case "system" | "developer":
            return "system"
        case "user" | "human":
            return "user"
        case "assistant" | "ai" | "model":
            return "assistant"
        case "tool" | "function":
            return "tool"
        case _:
            return None


def is_other_document(file_name: str) -> bool:
    """Whether a template makes no prompt but a document known by its name (``Dockerfile.jinja2``)."""
    return _OTHER_DOCUMENT.fullmatch(file_name) is not None


def opens_like_code(text: str) -> bool:
    """Whether the text begins the way programs do: such a "preamble" is run, not read."""
    return _CODE.match(text) is not None


def opens_like_prompt(text: str) -> bool:
    """Whether the text begins the way prompts begin ("You are …")."""
    return _OPENING.match(text) is not None
