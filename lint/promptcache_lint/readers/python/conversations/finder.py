"""Runs the recognisers over every function of a module that handles a conversation."""

from __future__ import annotations

import ast
import re
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from promptcache_lint.findings import Severity
from promptcache_lint.prompts import Prompt
from promptcache_lint.readers.python.conversations.abroad import Abroad
from promptcache_lint.readers.python.conversations.edits import edits
from promptcache_lint.readers.python.conversations.facts import Facts
from promptcache_lint.readers.python.conversations.fan_outs import fan_outs
from promptcache_lint.readers.python.conversations.handing import hand_over, helpers
from promptcache_lint.readers.python.conversations.images import images
from promptcache_lint.readers.python.conversations.lookup import Lookup
from promptcache_lint.readers.python.conversations.moving import moving
from promptcache_lint.readers.python.conversations.replays import replays
from promptcache_lint.readers.python.conversations.results import results
from promptcache_lint.readers.python.conversations.row_windows import row_windows
from promptcache_lint.readers.python.conversations.schemas import schemas
from promptcache_lint.readers.python.conversations.summaries import summaries
from promptcache_lint.readers.python.conversations.switches import switches
from promptcache_lint.readers.python.conversations.trims import trims
from promptcache_lint.readers.python.conversations.unmarked import unmarked_twins
from promptcache_lint.readers.python.modules import Function
from promptcache_lint.readers.python.walking import kinds_of, nodes_of, stored_among

if TYPE_CHECKING:
    from collections.abc import Iterator

    from promptcache_lint.places import Place
    from promptcache_lint.readers.python.program import Module, Program

__all__ = ["find_practices", "may_handle_conversation"]

_LIBRARIES = re.compile(
    r"^[ \t]*(?:from|import)\s+(?:openai|anthropic|litellm|langchain\w*|langgraph|llama_index|pydantic_ai|"
    r"google\.genai|google\.generativeai|boto3|cohere|mistralai|groq|ollama|transformers|vllm|agno|crewai|autogen\w*|dspy|haystack|"
    r"semantic_kernel|smolagents|instructor|agents)\b|[\"']role[\"']\s*:",
    re.MULTILINE,
)
_ABOUT_MODELS = re.compile(
    r"openai|anthropic|litellm|langchain|langgraph|llama_index|pydantic_ai|genai|bedrock|cohere|mistralai|groq|"
    r"ollama|autogen|agno|dspy|crewai|smolagents|[\"']role[\"']|completions|\.messages\.create|messages=|llm(?!atch)|LLM|"
    r"image_url|tool_call|list_tools"
)
_CONVERSATION = (
    *("essages", "istory", "onversation", "ranscript", "ialog", "emory", "list_tools", "Message", "mage"),
    *("chema", "msgs", "input=", "odel_context", "num_history", ".arguments", "thinking", "reasoning"),
    *("deque", "<think", "think>", '"role"', "'role'"),
)
_HANDLES = (
    *(
        "essages",
        "_history",
        ".history",
        "history[",
        "history=",
        "onversation",
        "RemoveMessage",
        "list_tools",
    ),
    *("as_completed", "image_url", "presigned", "Memory(", "ChatCompletionContext", "num_history"),
    *("response_format", "text_format", "input=", "input_image", "transcript", "msgs"),
)
_HINTS = (
    *("sign", "system", "model=", "sort", "detail", "arguments", "assistant", "del ", "[-", "[len("),
    *(".pop(", "popleft(", "deque(", "trim", "RemoveMessage", ".remove("),
    *("essages[", "istory[", "onversation[", 'content"]', "content']", ".content =", ".content +="),
    *(".parts =", ".insert(", "Memory", "Buffer", "Window", "Reducer", "Limiter", "num_history"),
    *("truncation", "tools=", "tool_choice", "thinking", "reasoning", "response_format", "effort"),
    *("as_completed", "asyncio.wait(", "gather(", "create_task(", "submit(", "start_soon(", "list_tools"),
    *("mcp", "MCP", "get_tools", "bind_tools", "<think", "ummar", "ompact", "_history(", "_messages("),
    *("_turns(", "ondens", ".save(", "image_url", "input_image", "cache_control", "cachePoint"),
    *("canonical", "maxlen"),
)
"""One of these is in each function in which something is found; the most common ones come first."""
_RECOGNISERS = (
    (trims, ()),
    (row_windows, ("limit", "order")),
    (edits, ()),
    (switches, ()),
    (replays, ("think", "reasoning", "dumps", "assistant", "aimessage", "aichatmessage")),
    (
        results,
        (
            *("as_completed", "imap_unordered", "wait(", "_tools", "mcp", "gather(", "create_task("),
            *("ensure_future(", "start_soon(", ".map(", "submit("),
        ),
    ),
    (summaries, ("summar", "condens", "compact", "compress")),
    (images, ("detail", "sign", "blob_sas", "save", "image", "photo", "picture")),
    (moving, ()),
    (schemas, ("sort", "canonical", "_keys")),
)
"""Each with words of which one stands, in lower case, wherever it finds something."""


def may_handle_conversation(text: str) -> bool:
    """Whether a file is worth being parsed for what it may do to a conversation."""
    return _holds(text, _HANDLES) and _ABOUT_MODELS.search(text) is not None


def find_practices(module: Module, program: Program) -> Iterator[Prompt]:
    """One prompt for each practice in a module; ``practices`` holds it.

    ``program``: the tree, through whose other modules its conversations may pass.
    """
    for practice in (*unmarked_twins(module), *fan_outs(module)):
        yield Prompt("request", practice.place, (), practices=(practice,))
    text = module.source.text
    words = _held(text, _CONVERSATION)
    if not words:
        return
    told: set[str] = set()
    found: list[tuple[Facts, str]] = []
    others: set[Function] = set()
    groups = [_told_apart(group, words, others) for group in _groups(module)]
    if not any(groups):
        return
    about_models = _LIBRARIES.search(text) is not None
    for parts in groups:
        facts = [_facts(module, part, about_models) for part in parts]
        # What one method shows of an attribute, all methods of its class know.
        shared = {name for known in facts for name in known.sure if name.startswith("self.")}
        for part, known in zip(parts, facts, strict=True):
            known.sure |= told if isinstance(known.node, ast.Module) else shared
            told |= _of_module(known)
            found.append((known, part.text))
    lookup = Lookup(program)
    given = [*helpers((known for known, _ in found), others, lookup)]
    found += [(_facts(module, each, about_models), each.text) for each in given]
    abroad = Abroad([known for known, _ in found], lookup, _of_another)
    hand_over([*(known for known, _ in found), *(known for known, _ in abroad.found)], lookup)
    for known, written in found:
        yield from _run(known, written)
    yield from (Prompt("conversation", each.place, (), practices=(each,)) for each in abroad.practices)
    for known, place in abroad.ways():
        yield from _run_abroad(known, None if known.module is module else module.place(place))


def _told_apart(
    group: list[Function | _Body], words: tuple[str, ...], others: set[Function]
) -> list[Function | _Body]:
    """Those of a group in which something may be found; the other functions are kept in ``others``."""
    parts: list[Function | _Body] = []
    for part in group:
        if _holds(part.text, words) and _holds(part.text, _HINTS):
            parts.append(part)
        elif isinstance(part, Function):
            others.add(part)
    return parts


def _facts(module: Module, part: Function | _Body, about_models: bool) -> Facts:  # noqa: FBT001
    function = None if isinstance(part, _Body) else part
    return Facts(module, part.node, part.name, about_models=about_models, kinds=part.kinds, function=function)


def _of_another(function: Function) -> Facts:
    """The facts of a function of another module, in which names alone say nothing."""
    return _facts(function.module, function, about_models=False)


def _held(text: str, words: tuple[str, ...]) -> tuple[str, ...]:
    """Those of some words that are in a text: the others need not be looked for in its parts."""
    return tuple([word for word in words if word in text])


def _holds(text: str, words: tuple[str, ...]) -> bool:
    for word in words:  # noqa: SIM110 - asked of every function of a tree: a generator costs as much again
        if word in text:
            return True
    return False


def _of_module(facts: Facts) -> set[str]:
    """The variables of the module that a function shows to hold messages."""
    names = {name for name in facts.sure if "." not in name}
    if not names:
        return names
    given = {node.arg for node in facts.of(ast.arg) if isinstance(node, ast.arg)}
    shared = {name for node in facts.of(ast.Global) if isinstance(node, ast.Global) for name in node.names}
    return names - ((stored_among(facts.of(ast.Name)) | given) - shared)


def _run(facts: Facts, text: str) -> Iterator[Prompt]:
    lowered = text.lower()
    for recognise, words in _RECOGNISERS:
        if words and not _holds(lowered, words):
            continue
        for practice in recognise(facts):
            yield Prompt("conversation", practice.place, (), practices=(practice,))


def _run_abroad(facts: Facts, place: Place | None) -> Iterator[Prompt]:
    """What a function does to the messages that pass through ``place``, where it is of another module."""
    for recognise in (trims, edits):
        for practice in recognise(facts):
            if practice.severity > Severity.INFO:
                told = practice if place is None else replace(practice, place=place, source=practice.place)
                yield Prompt("conversation", told.place, (), practices=(told,))


class _Body:
    """What a module does when it is loaded: its own statements, as if they were a function's."""

    name = ""

    def __init__(self, module: Module) -> None:
        definitions = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom)
        body = [statement for statement in module.tree.body if not isinstance(statement, definitions)]
        self.node = ast.Module(body=body, type_ignores=[])
        self._module = module

    @property
    def text(self) -> str:
        """The text of its statements, in whole lines."""
        return "\n".join(_text(self._module, statement) for statement in self.node.body)

    @cached_property
    def kinds(self) -> dict[type[ast.AST], list[ast.AST]]:
        """Its node and all below it, by their kind."""
        return kinds_of(nodes_of(self.node))


def _groups(module: Module) -> Iterator[list[Function | _Body]]:
    """Functions that share attributes.

    Those of a class together, others by themselves; the module's own body.
    """
    for function in module.functions.values():
        yield [function]
    for cls in module.classes.values():
        yield list(cls.methods.values())
    body = _Body(module)
    if body.node.body:
        yield [body]


def _text(module: Module, node: ast.stmt) -> str:
    first, last = node.lineno, node.end_lineno or node.lineno
    start = module.source.offset(first, 1)
    return module.source.text[start : module.source.offset(last + 1, 1)]
