"""Conversations that lose their oldest messages: windows, queues of fixed length, and libraries' trimming."""

from __future__ import annotations

import ast
import re
from dataclasses import replace
from typing import TYPE_CHECKING

from promptcache_lint.findings import Severity
from promptcache_lint.readers.python.conversations.amounts import amount, before_end
from promptcache_lint.readers.python.conversations.asides import is_aside
from promptcache_lint.readers.python.conversations.batches import how_rare, is_summed_up
from promptcache_lint.readers.python.conversations.facts import (
    called_name,
    constant,
    converts,
    is_model_call,
)
from promptcache_lint.readers.python.conversations.fitting import fitted
from promptcache_lint.readers.python.conversations.hidden import is_lost, is_narrowed, outrun
from promptcache_lint.readers.python.conversations.keeping import is_kept
from promptcache_lint.readers.python.conversations.queues import (
    QUEUE,
    bounded,
    is_overtaken,
    makes_queue,
)
from promptcache_lint.readers.python.conversations.rebuilding import takes_older_along
from promptcache_lint.readers.python.conversations.saving import is_saved, saves
from promptcache_lint.readers.python.conversations.sources import talk_of
from promptcache_lint.readers.python.conversations.stored import goes_on, is_beside
from promptcache_lint.readers.python.conversations.tables import entry, is_sent_from_table, of_a_table
from promptcache_lint.readers.python.conversations.uses import use_of
from promptcache_lint.readers.python.conversations.windows import is_handed_out
from promptcache_lint.readers.stores import MANY_RUNS, NEXT_TO_NOTHING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from promptcache_lint.prompts import Practice
    from promptcache_lint.readers.python.conversations.facts import Facts

__all__ = ["trims"]

_WINDOW_CLASSES = {
    "ConversationBufferWindowMemory", "ConversationTokenBufferMemory", "BufferedChatCompletionContext",
    "HeadAndTailChatCompletionContext", "TokenLimitedChatCompletionContext", "ChatHistoryTruncationReducer",
    "MessageHistoryLimiter", "MessageTokenLimiter", "SlidingWindowConversationManager",
}  # fmt: skip
_WINDOW_SETTINGS = {"num_history_runs", "num_history_responses", "num_history_messages", "history_window"}
_LOOK = re.compile(
    r"(?:.*\W)?(?:get_|read_|load_|fetch_|list_)?(?:last_|all_|recent_|latest_)?(?:messages|history)"
)
_ORPHAN = re.compile(
    r"isinstance\(\w+\[0\]|\[0\]\S*role.*(?:tool|assistant|function|!= .user)", re.IGNORECASE
)
_SYSTEM_TEST = re.compile(
    r"\[0\].*(?<![!])={2}.*(?:system|developer)|isinstance\(.*\[0\].*(?:System|Developer)", re.IGNORECASE
)
_AT_TIMES = "{} drops the oldest messages: each time it does, the whole conversation is new to the cache."
_SAYS = "{} drops the oldest messages: from then on every turn begins with another message, and misses."


def trims(facts: Facts) -> Iterator[Practice]:
    """PC501."""
    if converts(facts.name):
        return
    if is_aside(facts.name):
        yield from _saved(facts)
        return
    for node in facts.of(ast.Subscript, ast.Call, ast.Delete, ast.For):
        for practice in _trimmed(node, facts):
            proven = practice.severity < Severity.ERROR or facts.asks() or _is_sent_elsewhere(node, facts)
            yield practice if proven else replace(practice, severity=Severity.WARNING)


def _saved(facts: Facts) -> Iterator[Practice]:
    """What a function cuts that saves a conversation; it does nothing else with it."""
    for node in facts.of(ast.Subscript) if saves(facts.name) else ():
        match node:
            case ast.Subscript(slice=ast.Slice(lower=ast.expr() as lower, upper=None)):
                if talk_of(node.value, facts) is not None and is_saved(node, facts):
                    found = _window(node, lower, facts)
                    yield from (
                        replace(each, severity=min(each.severity, Severity.WARNING)) for each in found
                    )
            case _:
                continue


def _is_sent_elsewhere(node: ast.AST, facts: Facts) -> bool:
    return facts.is_sent_elsewhere(node) or is_sent_from_table(node, facts)


def _trimmed(node: ast.AST, facts: Facts) -> Iterator[Practice]:
    match node:
        case ast.Subscript(slice=ast.Slice(lower=ast.expr() as lower, upper=None)):
            yield from _window(node, lower, facts)
        case ast.Call():
            yield from _call(node, facts)
        case ast.Delete():
            for target in node.targets:
                yield from _deleted(target, facts)
        case ast.For():
            yield from fitted(node, facts)


def _is_from_end(lower: ast.expr, owner: ast.expr) -> bool:
    """Whether a slice begins so many messages before the end; the last one alone is no window."""
    match lower:
        case ast.UnaryOp(op=ast.USub(), operand=ast.Call(func=ast.Name(id="len"))):
            return False  # ``messages[-len(results):]``: those that were just added
        case ast.UnaryOp(op=ast.USub()):
            return constant(lower) != -1
        case ast.BinOp(op=ast.Sub(), left=ast.Call(func=ast.Name(id="len"), args=[inner])):
            return entry(inner) == entry(owner) != "" and constant(lower.right) != 1
        case _:
            return before_end(lower) is not None


def _window(node: ast.Subscript, lower: ast.expr, facts: Facts) -> Iterator[Practice]:
    sure = talk_of(node.value, facts) if _is_from_end(lower, node.value) else None
    if sure is None or takes_older_along(node.value, lower, facts):
        return
    bound = _length(lower, facts)
    hidden = is_narrowed(node, bound, facts) or outrun(node.value, node, bound, facts)
    severity = None if hidden or is_lost(node, facts) else use_of(node, sure, facts)
    if severity is None and not hidden and is_saved(node, facts):
        severity = Severity.WARNING
    if severity is not None:
        severity = min(severity, Severity.WARNING) if hidden is None else severity
        severity = Severity.INFO if _is_rarely_felt(lower, facts) else severity
        if not (facts.calls or facts.handed) and _is_given(lower, facts):
            if _LOOK.fullmatch(facts.name.lower()) or (bound is not None and bound >= MANY_RUNS):
                return  # a look at the history, as long as its caller wants
            severity = Severity.WARNING
        says = _SAYS
        if is_summed_up(node.value, lower, facts):
            severity, says = Severity.INFO, _AT_TIMES
        elif (rare := how_rare(node, node.value, facts)) is not None:
            severity, says = min(severity, rare), _AT_TIMES
        elif _is_last_resort(node, facts):
            severity, says = min(severity, Severity.WARNING), _AT_TIMES
        if severity == Severity.ERROR and not _goes_on(node, facts):
            severity = Severity.INFO if is_beside(facts) else Severity.WARNING
        if bound is None:  # it may be so long that no conversation fills it
            severity = min(severity, Severity.WARNING)
        yield facts.practice("PC501", severity, node, says.format(f"`{facts.label(node)}`"))


def _goes_on(node: ast.Subscript, facts: Facts) -> bool:
    """Whether the next turn finds the window in the list's place, or the answer in the list."""
    return is_kept(node, node.value, facts) or goes_on(node.value, facts)


def _is_rarely_felt(lower: ast.expr, facts: Facts) -> bool:
    """Whether a window, and the system prompt beside it, is so long that few conversations ever fill it.

    Or so short that it holds nothing that a cache could give back.
    """
    if _is_given(lower, facts):
        return False
    length = _length(lower, facts)
    return length is not None and (length + 1 >= MANY_RUNS or length <= NEXT_TO_NOTHING)


def _length(lower: ast.expr, facts: Facts) -> float | None:
    """How many messages a window takes that begins at ``-n`` or ``len(messages) - n``."""
    counted = before_end(lower)
    return amount(counted if counted is not None else getattr(lower, "right", lower), facts)


def _is_last_resort(node: ast.AST, facts: Facts) -> bool:
    """Whether a cut is made only after something else has failed."""
    return any(isinstance(outer, ast.ExceptHandler) for outer in facts.around(node))


def _is_given(lower: ast.expr, facts: Facts) -> bool:
    """Whether the length of a window is a parameter of the function."""
    given = {node.arg for node in facts.of(ast.arg) if isinstance(node, ast.arg)} - {"self", "cls"}
    return any(isinstance(inner, ast.Name) and inner.id in given for inner in ast.walk(lower))


def _call(node: ast.Call, facts: Facts) -> Iterator[Practice]:
    name = called_name(node)
    last = name.rpartition(".")[2]
    if last == "trim_messages" and (node.args or node.keywords):
        if not isinstance(facts.parents.get(node), ast.Expr):  # the libraries' gives what is left
            talk = node.args[0] if node.args else node.keywords[0].value
            sure = Severity.ERROR if name == last and goes_on(talk, facts) else Severity.WARNING
            yield facts.practice("PC501", sure, node, _SAYS.format("`trim_messages`"))
    elif last in _WINDOW_CLASSES or name.endswith("ChatMemoryBuffer.from_defaults"):
        yield facts.practice("PC501", Severity.WARNING, node, _SAYS.format(f"`{name}`"))
    elif makes_queue(node):
        if (held := bounded(node, facts)) is not None and not is_overtaken(node, facts):
            yield facts.practice("PC501", held, node, _SAYS.format(f"`{facts.label(node)}`"))
    elif last in {"pop", "popleft"} and isinstance(node.func, ast.Attribute):
        yield from _popped(node, node.func.value, facts)
    elif last == "RemoveMessage":
        yield from _removed(node, facts)
    elif is_handed_out(node):
        yield from _handed_out(node, facts)
    else:
        yield from _settings(node, facts)


def _handed_out(node: ast.Call, facts: Facts) -> Iterator[Practice]:
    """``session.get_history(limit=10)``: what the method does only its name says, so this is a warning."""
    if use_of(node, Severity.WARNING, facts) is not None:
        yield facts.practice("PC501", Severity.WARNING, node, _SAYS.format(f"`{facts.label(node)}`"))


def _popped(node: ast.Call, owner: ast.expr, facts: Facts) -> Iterator[Practice]:
    """``messages.pop(0)`` whose result nobody uses.

    A result that is used is a queue, or the system message.
    """
    assert isinstance(node.func, ast.Attribute)
    from_front = node.func.attr == "popleft" or (len(node.args) == 1 and constant(node.args[0]) in {0, 1, 2})
    sure = facts.conviction(owner) or of_a_table(owner, facts)
    if sure is None or not from_front or not isinstance(facts.parents.get(node), ast.Expr):
        return
    if _is_of_system(node, facts) or _is_queue(node, owner, facts):
        return
    yield _at_its_rate(node, owner, sure, facts.label(node), facts)


def _at_its_rate(cut: ast.AST, owner: ast.expr, sure: Severity, label: str, facts: Facts) -> Practice:
    """A cut in the list itself: one that goes far at a mark costs little."""
    rare = how_rare(cut, owner, facts)
    severity, says = (sure, _SAYS) if rare is None else (min(sure, rare), _AT_TIMES)
    return facts.practice("PC501", severity, cut, says.format(f"`{label}`"))


def _is_queue(node: ast.AST, owner: ast.expr, facts: Facts) -> bool:
    """Whether messages wait in the list until each was dealt with: by its name, or drained to the last.

    Nor does it count when messages are dropped that a cut has left without their question or call.
    """
    name = entry(owner)
    for outer in facts.around(node):
        if isinstance(outer, ast.While | ast.If):
            said = ast.unparse(outer.test)
            orphans = _ORPHAN.search(said) is not None and "len(" not in said and "oken" not in said
            if orphans or (isinstance(outer, ast.While) and entry(outer.test) == name):
                return True
    return QUEUE.search(name) is not None


def _is_of_system(node: ast.AST, facts: Facts) -> bool:
    """Whether what goes is the system message: ``if messages[0]["role"] == "system": …``, outside of loops.

    It is passed on separately, or replaced; no turn is lost.
    """
    for outer in facts.around(node):
        if isinstance(outer, ast.While | ast.For):
            return False
        if isinstance(outer, ast.If) and _SYSTEM_TEST.search(ast.unparse(outer.test)):
            return True
    return False


def _deleted(target: ast.expr, facts: Facts) -> Iterator[Practice]:
    if not isinstance(target, ast.Subscript):
        return
    sure = facts.conviction(target.value) or of_a_table(target.value, facts)
    if sure is None:
        return
    if constant(target.slice) == 0 and _is_of_system(target, facts):
        return
    match target.slice:
        case ast.Slice(lower=lower, upper=ast.expr() as upper) if lower is None or constant(lower) in {
            0,
            1,
            2,
        }:
            # Without a lower end that counts from the back, it is the old messages that go.
            del upper
        case index if constant(index) in {0, 1, 2}:
            pass
        case _:
            return
    yield _at_its_rate(target, target.value, sure, f"del {facts.label(target)}", facts)


def _removed(node: ast.Call, facts: Facts) -> Iterator[Practice]:
    """LangGraph's way: ``[RemoveMessage(id=m.id) for m in messages[:-2]]``."""
    for outer in facts.around(node):
        generators = getattr(outer, "generators", ())
        iterables = [generator.iter for generator in generators]
        if isinstance(outer, ast.For):
            iterables.append(outer.iter)
        for iterable in iterables:
            if isinstance(iterable, ast.Subscript) and isinstance(iterable.slice, ast.Slice):
                yield facts.practice(
                    "PC501", Severity.WARNING, node, _SAYS.format(f"`{facts.label(iterable)}`")
                )
                return


def _settings(node: ast.Call, facts: Facts) -> Iterator[Practice]:
    for keyword in node.keywords:
        length = constant(keyword.value)
        if keyword.arg in _WINDOW_SETTINGS and isinstance(length, int):
            often = Severity.WARNING if length < MANY_RUNS else Severity.INFO
            yield facts.practice("PC501", often, keyword.value, _SAYS.format(f"`{keyword.arg}`"))
        if keyword.arg == "truncation" and constant(keyword.value) == "auto" and is_model_call(node):
            yield facts.practice("PC501", Severity.WARNING, keyword.value, _SAYS.format("`truncation`"))
