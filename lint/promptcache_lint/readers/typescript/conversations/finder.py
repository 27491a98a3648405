"""Runs the recognisers over a module that asks a model."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from promptcache_lint.prompts import Prompt
from promptcache_lint.readers.typescript.conversations.abroad import abroad, may_pass
from promptcache_lint.readers.typescript.conversations.budgets import budgets
from promptcache_lint.readers.typescript.conversations.edits import edits
from promptcache_lint.readers.typescript.conversations.facts import Facts
from promptcache_lint.readers.typescript.conversations.fan_outs import STARTS, fan_outs
from promptcache_lint.readers.typescript.conversations.images import IMAGES, images
from promptcache_lint.readers.typescript.conversations.names import Names
from promptcache_lint.readers.typescript.conversations.reasoning import reasoning
from promptcache_lint.readers.typescript.conversations.replays import replays
from promptcache_lint.readers.typescript.conversations.row_windows import HINT
from promptcache_lint.readers.typescript.conversations.settings import settings
from promptcache_lint.readers.typescript.conversations.steps import HOOK, steps
from promptcache_lint.readers.typescript.conversations.summaries import summaries
from promptcache_lint.readers.typescript.conversations.switches import switches
from promptcache_lint.readers.typescript.conversations.trims import trims

if TYPE_CHECKING:
    from collections.abc import Iterator

    from promptcache_lint.readers.typescript.module import Module
    from promptcache_lint.readers.typescript.program import Program

__all__ = ["find_practices"]

_CUTS = re.compile(
    r"\.slice\(\s*(?:-|Math\.max|[\w.]+\.length)|\.(?:un)?shift\(|[rR]everse(?:d)?\(\)|\.splice\(|trimMessages\("
    r"|\.\w*(?:Messages|History|Turns|Conversation)\((?:[^()]*\D)?\d{1,2}\s*\}?\s*\)"
    r"|\.(?:content|text|parts|output)\s*\+?=(?!=)|\[\w+\]\s*=(?!=)"
)
_SWITCHES = re.compile(
    r"(?:model|llm)\w{0,60}[\"']?\s*[:=][^,;?\[(]{0,2000}[?\[(]|arguments[\"']?\s*:\s*JSON\.stringify\(|Promise\.(?:race|any)\("
    r"|listTools|getTools|McpTools|[mM]cp\w*\.tools\(|\.map\(\s*\(\w+[^)]*,|\.slice\([^)]*,\s*-\d+\)\s*\.map\("
    r"|\b(?:tools|thinking|reasoning\w*|tool_?[cC]hoice|response_?[fF]ormat|verbosity)[\"']?\s*[:=](?!=)|\.{3}\("
    r"|[\"'](?:redacted_)?(?:thinking|reasoning)[\"']|<\\?/?think|pruneMessages|[sS]ummar|[cC]ondens|[cC]ompact"
)
_ASKS = re.compile(
    r"\.(?:post|create|stream|parse|runTools|generateContent\w*|startChat|invoke|call)\(|ollama\.chat|ConverseStream|Converse"
    r"|(?:generate|stream)(?:Text|Object|UI)|JSON\.stringify\("
)
_RECOGNISERS = (trims, budgets, edits, switches, settings, replays, reasoning, summaries, images, fan_outs)
_LISTS = ("essages", "istory", "contents", "input", "onversation")


def find_practices(module: Module, program: Program) -> Iterator[Prompt]:
    """One prompt for each practice in a module; ``practices`` holds it.

    ``program``: the tree, through whose other modules its conversations may pass.
    """
    text = module.source.text
    if HOOK.search(text) is not None:
        for practice in steps(Facts(Names(module))):
            yield Prompt("conversation", practice.place, (), practices=(practice,))
    if _ASKS.search(text) is None or not any(word in text for word in _LISTS):
        return
    passes = may_pass(module, program)
    starts = STARTS.search(text) is not None or IMAGES.search(text) is not None
    starts = starts or HINT.search(text) is not None
    if not (passes or starts or _CUTS.search(text) or _SWITCHES.search(text)):
        return
    facts = Facts(Names(module))
    if not facts.calls:
        return
    for recognise in _RECOGNISERS:
        for practice in recognise(facts):
            yield Prompt("conversation", practice.place, (), practices=(practice,))
    for practice in abroad(facts, program) if passes else ():
        yield Prompt("conversation", practice.place, (), practices=(practice,))
