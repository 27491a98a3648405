"""What is known of a function that handles a conversation.

Its message lists, its loops, its calls of models.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

from promptcache_lint.findings import Severity
from promptcache_lint.prompts import Practice
from promptcache_lint.readers.python.walking import children_of, nodes_of
from promptcache_lint.rulebook import in_words

if TYPE_CHECKING:
    from collections.abc import Iterator

    from promptcache_lint.readers.python.program import Function, Module

__all__ = ["Facts", "called_name", "constant", "converts", "is_model_call", "lists_in", "role_of", "spell"]

_LIST_NAME = re.compile(
    r"(?:(?:chat|conversation|conversational|message|conv|llm|agent|prompt|openai|anthropic|claude|api|full|all|"
    r"past|previous|prior|recent|old|session|context|input|model|the|current|my|formatted|dialog|lc|langchain|"
    r"thread|user|new|final|raw|base|trimmed|filtered|short_term|working|request|state)_)*"
    r"(?:messages|history|conversation|transcript|msgs|chat_log|dialog|dialogue|turns|chat)(?:_list|_log|_messages)?"
)
_MODEL_CALL = re.compile(
    r".*\.(?:chat\.completions|messages|responses|completions|ChatCompletion|models|beta\.messages)"
    r"(?:\.with_raw_response|\.with_streaming_response)?\.(?:create|acreate|stream|parse|generate_content\w*)"
    r"|(?:.*\.)?a?completion|(?:.*\.)?(?:converse|converse_stream|generate_content\w*|chat_completion\w*)"
    r"|(?:.*\.)?(?:llm|model|chat_model|chain|agent|chat|client|self\.(?:llm|model|client|chat_model|agent))"
    r"\.(?:a?invoke|a?stream|a?chat|a?complete|a?generate|run|run_sync|predict|a?predict_messages|call|send)"
    r"|(?:.*\.)?(?:call_(?:llm|model|openai|claude|anthropic|api)|ask_(?:llm|model)|query_(?:llm|model)|llm_call|"
    r"get_completion|chat_completion|generate_response|get_response|complete_chat)",
)
_MESSAGE_KEYWORDS = {"messages", "input", "contents", "message_history", "chat_history", "history"}
_MESSAGE_CLASS = re.compile(
    r"(?:System|Developer|Human|User|AI|Assistant|Tool|Function|Chat|Base|Model)?(?:Chat)?Message\w*|Content|"
    r"ModelRequest|ModelResponse"
)
_ROLES = {"System": "system", "Tool": "tool", "Human": "user", "User": "user", "AI": "assistant"}
_ANNOTATION = re.compile(
    r"(?:list|List|Sequence|deque|Deque|Iterable)\[(?!discord|telegram|aiogram|telebot|email).*(?:Message|MessageParam|ChatCompletion\w*Param)\w*.*\]"
)
_CONVERTS = re.compile(
    r"convert|format_|translate|adapt|transform|normali[sz]e|_to_|^to_|from_|sanitize|serialize|encode|map_messages|"
    r"merge|_prep_|prepare_.*(?:payload|body|params)|create_.*(?:params|payload)|payload|test_|render|display|gradio"
)
_ADDS = re.compile(r"_*(?:add|append|push|insert|remember|note)(?:_|$)")
"""``add_to_history`` turns nothing into another form."""
_LOOPS = (ast.For, ast.AsyncFor, ast.While)
_TELLING = (ast.Call, ast.Dict, ast.Assign, ast.AnnAssign, ast.arg, ast.AugAssign)
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


def spell(node: ast.AST | None) -> str:
    """A name or chain of attributes as text (``self.messages``), a literal key included; else empty."""
    match node:
        case ast.Name():
            return node.id
        case ast.Attribute():
            inner = spell(node.value)
            return f"{inner}.{node.attr}" if inner else ""
        case ast.Subscript(slice=ast.Constant(value=str() as key)):
            inner = spell(node.value)
            return f"{inner}.{key}" if inner else ""
        case _:
            return ""


def called_name(node: ast.Call) -> str:
    """What a call calls, as written; ``?`` for what is no name."""
    names: list[str] = []
    target: ast.expr = node.func
    while isinstance(target, ast.Attribute):
        names.append(target.attr)
        target = target.value
    first = target.id if isinstance(target, ast.Name) else "?"
    return ".".join([first, *reversed(names)])


def constant(node: ast.AST | None) -> object:
    """The value of a literal, a negative number included; Ellipsis for anything else."""
    match node:
        case ast.Constant():
            return node.value
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() as number)):
            return -number
        case _:
            return ...


def is_model_call(node: ast.Call) -> bool:
    """Whether a call asks a model, by its name."""
    return _names_model_call(called_name(node))


@lru_cache(maxsize=32_768)
def _names_model_call(name: str) -> bool:
    return _MODEL_CALL.fullmatch(name) is not None


def converts(name: str) -> bool:
    """Whether a function, by its name, writes messages in another form for one request."""
    return _CONVERTS.search(name.lower()) is not None and _ADDS.match(name) is None


def role_of(node: ast.AST | None) -> str:
    """The role of a message as written: of a dict display, or of a message class; empty if none."""
    if isinstance(node, ast.Dict):
        for key, value in zip(node.keys, node.values, strict=True):
            if constant(key) in {"role", "type"} and isinstance(constant(value), str):
                return str(constant(value))
        return "?" if any(constant(key) == "role" for key in node.keys) else ""
    if isinstance(node, ast.Call):
        name = called_name(node).rpartition(".")[2]
        if _MESSAGE_CLASS.fullmatch(name):
            return _ROLES.get(re.sub(r"(?:Chat)?Message.*", "", name), "?")
    return ""


@dataclass(eq=False)
class Facts:
    """One function (or a module's own body) with what its class knows; ``sure`` names hold messages.

    ``kinds`` are its node and all below it, by their kind; ``function`` is None for a module's body.
    ``handed`` are the calls by which other functions give it their messages or send what it gives back (of a
    property: where it is read), ``gives`` the functions to which it hands its own. ``sent_by`` sends an
    attribute of its object; ``abroad``: it is looked at from another module. ``tables``: entries of tables
    that others show to hold messages (``self.talks[]``).
    """

    module: Module
    node: ast.AST
    name: str
    about_models: bool
    kinds: dict[type[ast.AST], list[ast.AST]]
    sure: set[str] = field(default_factory=set)
    tables: set[str] = field(default_factory=set)
    calls: list[ast.Call] = field(default_factory=list)
    function: Function | None = None
    abroad: bool = False
    handed: list[tuple[Facts, ast.Call | ast.Attribute]] = field(default_factory=list)
    gives: list[Facts] = field(default_factory=list)
    sent_by: Facts | None = None
    _turns: set[ast.AST] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.sure = {name for node in self.of(*_TELLING) for name in _evidence(node)}
        self.calls = [
            node for node in self.of(ast.Call) if isinstance(node, ast.Call) and is_model_call(node)
        ]
        self._turns = {loop for loop in self.of(*_LOOPS) if self._asks(loop)}

    @cached_property
    def nodes(self) -> list[ast.AST]:
        """Its node and all below it, parents before children."""
        return nodes_of(self.node)

    @cached_property
    def parents(self) -> dict[ast.AST, ast.AST]:
        """The node right above each."""
        return {child: node for node in self.nodes for child in children_of(node)}

    def of(self, *kinds: type[ast.AST]) -> list[ast.AST]:
        """The nodes of some kinds."""
        return [node for kind in kinds for node in self.kinds.get(kind, ())]

    def asks(self, room: int = 3) -> bool:
        """Whether a model is asked in the function, by one that gives it its messages or is given them."""
        if self.calls or any(target.calls for target in self.gives):
            return True
        callers = [caller for caller, _ in self.handed] + ([self.sent_by] if self.sent_by is not None else [])
        return room > 0 and any(caller.asks(room - 1) for caller in callers)

    def _asks(self, loop: ast.AST) -> bool:
        return bool(self.calls) and any(loop in self.around(call) for call in self.calls)

    def conviction(self, node: ast.AST | None) -> Severity | None:
        """How sure it is that an expression is the list of messages.

        ERROR sure, WARNING by name, else None.
        """
        name = spell(node)
        if not name:
            return None
        if name in self.sure:
            return Severity.ERROR
        if name.rpartition(".")[2] == "history" and not self.calls and not self.sure:
            return None  # of prices, of commands, of calls: nothing here says of messages
        by_name = _LIST_NAME.fullmatch(in_words(name.rpartition(".")[2])) is not None
        return Severity.WARNING if by_name and self.about_models else None

    def is_sent_elsewhere(self, node: ast.AST) -> bool:
        """Whether an attribute in ``node`` is given to a model anywhere in the module."""
        names = {spell(inner) for inner in ast.walk(node) if isinstance(inner, ast.Attribute)}
        asked = (
            call for call in nodes_of(self.module.tree) if isinstance(call, ast.Call) and is_model_call(call)
        )
        given = (inner for call in asked for inner in ast.walk(call) if isinstance(inner, ast.Attribute))
        return any(spell(inner) in names for inner in given)

    def around(self, node: ast.AST) -> Iterator[ast.AST]:
        """The nodes around one, innermost first, within this function."""
        at = self.parents.get(node)
        while at is not None:
            yield at
            at = self.parents.get(at)

    def loop(self, node: ast.AST) -> ast.AST | None:
        """The innermost loop around a node; not the loop whose iterable it is."""
        inner = node
        for outer in self.around(node):
            if isinstance(outer, _SCOPES):
                return None
            if isinstance(outer, _LOOPS) and inner is not getattr(outer, "iter", None):
                return outer
            inner = outer
        return None

    def turns(self, node: ast.AST) -> ast.AST | None:
        """The loop around a node in which a model is asked: each round of it is a turn."""
        return next((outer for outer in self.around(node) if outer in self._turns), None)

    def statement(self, node: ast.AST) -> ast.stmt | None:
        """The statement a node is part of."""
        if isinstance(node, ast.stmt):
            return node
        return next((outer for outer in self.around(node) if isinstance(outer, ast.stmt)), None)

    def practice(
        self, code: str, severity: Severity, node: ast.AST, says: str, source: ast.AST | None = None
    ) -> Practice:
        """A practice at a node."""
        origin = self.module.place(source) if source is not None else None
        return Practice(code, severity, self.module.place(node), says, origin)

    def label(self, node: ast.AST) -> str:
        """The source text of a node, short."""
        return self.module.label(node)


def _evidence(node: ast.AST) -> Iterator[str]:
    """Names that a node shows to hold messages."""
    match node:
        case ast.Call():
            yield from _given_to_calls(node)
        case ast.Dict():
            for key, value in zip(node.keys, node.values, strict=True):
                if constant(key) in {"messages", "contents"}:
                    yield from lists_in(value)
        case ast.Assign(targets=[target], value=ast.List(elts=elements)) if elements and all(
            role_of(element) for element in elements
        ):
            yield from filter(None, [spell(target)])
        case ast.AnnAssign() if _is_of_messages(node.annotation):
            yield from filter(None, [spell(node.target)])
        case ast.arg(annotation=ast.expr() as annotation) if _is_of_messages(annotation):
            yield node.arg
        case ast.AugAssign(op=ast.Add(), value=ast.List(elts=[first, *_])) if role_of(first):
            yield from filter(None, [spell(node.target)])


def _is_of_messages(annotation: ast.expr) -> bool:
    """Whether an annotation is that of a list of messages; it is written out only where it names some."""
    named = any(map(_names_messages, nodes_of(annotation)))
    return named and _ANNOTATION.search(ast.unparse(annotation)) is not None


def _names_messages(node: ast.AST) -> bool:
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name) | ast.Constant(value=str() as name):
            return "Message" in name or "ChatCompletion" in name
        case _:
            return False


def _given_to_calls(node: ast.Call) -> Iterator[str]:
    for keyword in node.keywords:
        if keyword.arg == "messages" or (keyword.arg in _MESSAGE_KEYWORDS and is_model_call(node)):
            yield from lists_in(keyword.value)
    match node.func:
        case ast.Attribute(attr="append" | "insert" | "extend") if node.args:
            added = node.args[-1]
            if isinstance(added, ast.List) and added.elts:
                added = added.elts[0]
            if role_of(added) and role_of(added) not in {"text", "object", "string", "function", "image"}:
                yield from filter(None, [spell(node.func.value)])
        case ast.Attribute(attr="invoke" | "ainvoke" | "stream" | "astream" | "chat" | "achat") if node.args:
            if isinstance(node.args[0], ast.List) and any(map(role_of, node.args[0].elts)):
                yield from lists_in(node.args[0])  # ``bound.invoke([SystemMessage(RULES), *history])``
            name = spell(node.args[0])
            if name and _LIST_NAME.fullmatch(in_words(name.rpartition(".")[2])):
                yield name


def lists_in(node: ast.expr) -> Iterator[str]:
    """The names of lists in an expression that makes one list: ``[first, *rest]``, ``a + b``, ``a[-5:]``."""
    match node:
        case ast.Name() | ast.Attribute():
            yield spell(node)
        case ast.BinOp(op=ast.Add()):
            yield from lists_in(node.left)
            yield from lists_in(node.right)
        case ast.List():
            for element in node.elts:
                if isinstance(element, ast.Starred):
                    yield from lists_in(element.value)
        case ast.Subscript(slice=ast.Slice()):
            yield from lists_in(node.value)
        case ast.Call(func=ast.Name(id="list"), args=[inner]):
            yield from lists_in(inner)
