"""Runs the recognisers over a module that asks a model."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from promptcache_lint.prompts import Prompt
from promptcache_lint.readers.typescript.conversations.abroad import abroad, may_pass
from promptcache_lint.readers.typescript.conversations.edits import edits
from promptcache_lint.readers.typescript.conversations.facts import Facts
from promptcache_lint.readers.typescript.conversations.names import Names
from promptcache_lint.readers.typescript.conversations.replays import replays
from promptcache_lint.readers.typescript.conversations.switches import switches
from promptcache_lint.readers.typescript.conversations.trims import trims

if TYPE_CHECKING:
    from collections.abc import Iterator

    from promptcache_lint.readers.typescript.module import Module
    from promptcache_lint.readers.typescript.program import Program

__all__ = ["find_practices"]

_CUTS = re.compile(
    r"\.slice\(\s*(?:-|Math\.max|[\w.]+\.length)|\.shift\(\)|\.splice\(|trimMessages\("
    r"|\.\w*(?:Messages|History|Turns|Conversation)\((?:[^()]*\D)?\d{1,2}\s*\}?\s*\)"
    r"|\.(?:content|text|parts|output)\s*\+?=(?!=)|\[\w+\]\s*=(?!=)"
)
_SWITCHES = re.compile(
    r"model[\"']?\s*[:=][^,;]*(?:\?|\[|\()|arguments[\"']?\s*:\s*JSON\.stringify\(|Promise\.(?:race|any)\("
    r"|listTools|getTools|McpTools|[mM]cp\w*\.tools\(|\.map\(\s*\(\w+[^)]*,|\.slice\([^)]*,\s*-\d+\)\s*\.map\("
)
_ASKS = re.compile(
    r"\.(?:post|create|stream|parse|runTools|generateContent\w*|startChat|invoke|call)\(|ollama\.chat|ConverseStream|Converse"
    r"|(?:generate|stream)(?:Text|Object|UI)|JSON\.stringify\("
)
_LISTS = ("essages", "istory", "contents", "input", "onversation")


def find_practices(module: Module, program: Program) -> Iterator[Prompt]:
    """One prompt for each practice in a module; ``practices`` holds it.

    ``program``: the tree, through whose other modules its conversations may pass.
    """
    text = module.source.text
    if _ASKS.search(text) is None or not any(word in text for word in _LISTS):
        return
    passes = may_pass(module, program)
    if not passes and _CUTS.search(text) is None and _SWITCHES.search(text) is None:
        return
    facts = Facts(Names(module))
    if not facts.calls:
        return
    for recognise in (trims, edits, switches, replays):
        for practice in recognise(facts):
            yield Prompt("conversation", practice.place, (), practices=(practice,))
    for practice in abroad(facts, program) if passes else ():
        yield Prompt("conversation", practice.place, (), practices=(practice,))
