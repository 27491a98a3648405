"""Which lists of a module are conversations: those that a call of a model API sends."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from promptcache_lint.prompts import Practice
from promptcache_lint.readers.stores import hands_out
from promptcache_lint.readers.typescript.conversations.flow import gone_through, results
from promptcache_lint.readers.typescript.conversations.names import Names, around, bare
from promptcache_lint.readers.typescript.module import FUNCTIONS, unquoted
from promptcache_lint.readers.typescript.requests import API

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tree_sitter import Node

    from promptcache_lint.findings import Severity
    from promptcache_lint.readers.typescript.conversations.names import Key

__all__ = ["LOOPS", "Facts"]

LOOPS = {"for_statement", "for_in_statement", "while_statement", "do_statement"}
_COUNTING = re.compile(r".*\.(?:countTokens|getGenerativeModel)|getGenerativeModel")
_OTHER_API = re.compile(r"(?:.*\.)?ollama\.chat")
_LANGCHAIN = re.compile(r"""from\s*["'](?:@langchain/|langchain)""")
_ASKS = {"invoke", "stream", "call"}
_LIST_NAME = re.compile(
    r"(?:\w*_)?(?:messages|msgs|history|conversation|turns|thread|transcript|dialog(?:ue)?)"
)
_CONVERSATION_NAME = re.compile(
    r"messages?|msgs|history|conversation|turns|thread|transcript|dialog|memory|chat", re.IGNORECASE
)
_NO_CONVERSATION = re.compile(
    r"buffer|queue|pending|inbox|backlog|unread|example|few_?shot|shots|sample|demo|template|string|(?<!con)text",
    re.IGNORECASE,
)
"""Messages that wait, or that somebody has written down, or one text."""
_KEYS = {"messages", "contents", "input", "history", "prompt"}
_SAME_LIST = {
    "slice",
    "map",
    "filter",
    "flatMap",
    "flat",
    "concat",
    "reverse",
    "toReversed",
    "splice",
    "toSpliced",
}
_CONVERTS = re.compile(r"(?:\w+\.)*\w*[mM]essages\w*|(?:\w+\.)*(?:structuredClone|Array\.from)")
_POSTS = re.compile(r"(?:axios|(?:\w+\.)*(?:http|api|client|got|ky))\.post")
_OF_GEMINI = {"generationConfig", "systemInstruction", "system_instruction", "safetySettings"}
_LISTS = {"identifier", "member_expression", "shorthand_property_identifier", "subscript_expression"}
_FAR = 4


class Facts:
    """One module: ``sent`` maps each list that reaches a model to the calls that send it.

    ``ways`` are the expressions on the way from a list to a call, in which it may be cut, ``passed`` those in
    which functions are called that stand elsewhere, to which lists are ``lent``. With a ``seed``, only what
    that function gives back is looked at: somebody else sends it, who gives it a conversation (``given``).
    """

    def __init__(self, names: Names, seed: Node | None = None, given: Key | None = None) -> None:
        self.names = names
        self.module = names.module
        self.sent: dict[Key, list[Node]] = {}
        self.ways: list[tuple[Node, Node]] = []
        self.passed: list[tuple[Node, Node]] = []
        self.lent: set[Key] = set()
        self.calls: list[Node] = []
        self.seeded = seed is not None
        self._given = given
        self._seen: set[int] = set()
        self._langchain = _LANGCHAIN.search(self.module.source.text) is not None
        self._pushes = self._pushed()
        if seed is None:
            self._read()
        else:
            self._begin_with(seed)
        self._grown = (self.sent.keys() | self.lent) & (self._pushes.keys() | self._filled())

    def _filled(self) -> set[Key]:
        """The tables of which an entry is pushed to under a name: ``const talk = talks.get(user) ?? []``."""
        given = (value for key in self._pushes for value in self.names.values.get(key, ()))
        keys = (self.names.key(value.child_by_field_name("left") or value) for value in given)
        return {key for key in keys if key is not None and key[0].endswith("[]")}

    def _read(self) -> None:
        for node in self.names.nodes:
            if node.type in {"call_expression", "new_expression"}:
                for value in self._lists_sent(node):
                    self._follow(value, node, 0)

    def _begin_with(self, seed: Node) -> None:
        self.calls.append(seed)
        if self._given is not None:
            self.sent[self._given] = [seed]
        for result in results(seed):
            self._follow(result, seed, 0)

    def lives(self, key: Key, node: Node) -> bool:
        """Whether a list that changes at ``node`` is sure to be sent again.

        It is added to, and is a field, a variable of the module, or older than the loop of turns around it.
        """
        if key not in self._grown or key[0].startswith("this."):
            return key in self._grown
        given = self.names.values.get(key, ())
        declared = [value for value in given if value.parent and value.parent.type == "variable_declarator"]
        if key[1] == 0 and not any(outer.type in LOOPS for value in declared for outer in around(value)):
            return True
        loop = self.in_turns(node)
        return loop is not None and not any(
            loop.start_byte <= value.start_byte < loop.end_byte for value in declared
        )

    def options(self, call: Node) -> Iterator[tuple[str, Node]]:
        """The options a call is given, by name, as far as they are written down."""
        arguments = call.child_by_field_name("arguments")
        for child in arguments.named_children if arguments is not None else ():
            yield from self._pairs(child)

    def converses(self, call: Node) -> bool:
        """Whether a call carries on a conversation that lives longer than the function that asks."""
        return any(
            call in calls
            and self.is_conversation_key(key)
            and (key in self.names.parameters or self.lives(key, call))
            for key, calls in self.sent.items()
        )

    def grows(self, key: Key) -> bool:
        """Whether something is pushed to a list that is sent."""
        return key in self._grown

    def in_turns(self, node: Node) -> Node | None:
        """The loop around a node in which a model is asked, within its function."""
        for outer in around(node):
            if outer.type in FUNCTIONS:
                return None
            if outer.type in LOOPS and any(
                outer.start_byte <= call.start_byte and call.end_byte <= outer.end_byte for call in self.calls
            ):
                return outer
        return None

    def is_conversation(self, node: Node | None) -> bool:
        """Whether a list, by its name, holds what was said (and not documents, or examples)."""
        key = self.names.key(node)
        if key is None and node is not None and node.type == "member_expression":
            key = self.names.text(node.child_by_field_name("property")), 0  # ``request.body.history``
        return key is not None and self.is_conversation_key(key)

    def is_conversation_key(self, key: Key) -> bool:
        """The same of a list's name."""
        if key == self._given:
            return True
        if key[0].rpartition(".")[2].isupper() or key in self.names.texts:
            return False
        if _NO_CONVERSATION.search(key[0]) is not None:
            return False
        return self._speaks_of_talk(key) or self._is_another_name(key)

    def practice(self, code: str, severity: Severity, node: Node, says: str) -> Practice:
        """A practice at a node."""
        return Practice(code, severity, self.module.place(node), says.format(f"`{self.module.label(node)}`"))

    def _lists_sent(self, call: Node) -> Iterator[Node]:
        """The expressions of a call whose lists of messages are sent."""
        function = call.child_by_field_name("function") or call.child_by_field_name("constructor")
        arguments = call.child_by_field_name("arguments")
        given = [child for child in arguments.named_children if child.type != "comment"] if arguments else []
        if not given:
            return
        path = self.names.path(function)
        if (API.fullmatch(path) or _OTHER_API.fullmatch(path)) and not _COUNTING.fullmatch(path):
            self.calls.append(call)
            yield from self._options(given[0], 0)
        elif path == "JSON.stringify" and self._is_body(call):
            if self._asks(given[0]):
                self.calls.append(call)
                yield from self._options(given[0], 0)
        elif _POSTS.fullmatch(path) and len(given) > 1 and self._asks(given[1]):
            self.calls.append(call)
            yield from self._options(given[1], 0)
        elif self._langchain and path.rpartition(".")[2] in _ASKS and self._are_messages(given[0]):
            self.calls.append(call)
            yield given[0]

    def _asks(self, body: Node) -> bool:
        """Whether what is posted is a request to a model."""
        keys = {name for name, _ in self._pairs(body)}
        return {"model", "messages"} <= keys or ("contents" in keys and not keys.isdisjoint(_OF_GEMINI))

    def _is_body(self, node: Node) -> bool:
        pair = node.parent
        return (
            pair is not None
            and pair.type == "pair"
            and self.names.text(pair.child_by_field_name("key")) == "body"
        )

    def _are_messages(self, node: Node) -> bool:
        """Whether what a model of LangChain is asked with is a list of messages."""
        node = bare(node) or node
        if node.type == "array":
            return re.search(r"new (?:System|Human|AI)Message\(", self.names.text(node)) is not None
        key = self.names.key(node)
        return (
            key is not None
            and _LIST_NAME.fullmatch(re.sub(r"(?<=[a-z])(?=[A-Z])", "_", key[0].rpartition(".")[2]).lower())
            is not None
        )

    def _pairs(self, node: Node | None) -> Iterator[tuple[str, Node]]:
        """The entries of an object that is written down."""
        node = bare(node)
        for child in node.named_children if node is not None and node.type == "object" else ():
            if child.type == "shorthand_property_identifier":
                yield self.names.text(child), child
            elif child.type == "pair":
                value = child.child_by_field_name("value")
                if value is not None:
                    yield unquoted(self.names.text(child.child_by_field_name("key"))), value

    def _options(self, node: Node, depth: int) -> Iterator[Node]:
        """The lists among the options of a request, which may have a name."""
        key = self.names.key(node)
        if key is not None and depth < _FAR:
            for value in self.names.values.get(key, ()):
                yield from self._options(value, depth + 1)
        yield from (value for name, value in self._pairs(node) if name in _KEYS)

    def _follow(self, node: Node, call: Node, depth: int) -> None:
        """What an expression that is sent is made of."""
        at = bare(node)
        if at is None or depth > _FAR * 3:
            return
        match at.type:
            case kind if kind in _LISTS:
                self._follow_list(self.names.key(at), call, depth)
            case "array":
                for child in at.named_children:
                    if child.type == "spread_element":
                        self._follow(child, call, depth + 1)
            case "ternary_expression" | "binary_expression":
                for field in ("consequence", "alternative", "left", "right"):
                    inner = at.child_by_field_name(field)
                    if inner is not None:
                        self._follow(inner, call, depth + 1)
            case "call_expression":
                self._follow_list(self.names.key(at), call, depth)
                self._follow_call(at, call, depth)

    def _follow_list(self, key: Key | None, call: Node, depth: int) -> None:
        """What a list that is sent is given, and what is pushed to it."""
        calls = self.sent.setdefault(key, []) if key is not None else [call]
        if key is not None and call not in calls:
            calls.append(call)
            for value in (*self.names.values.get(key, ()), *self._pushes.get(key, ())):
                self._follow(value, call, depth + 1)

    def _follow_call(self, at: Node, call: Node, depth: int) -> None:
        function, arguments = at.child_by_field_name("function"), at.child_by_field_name("arguments")
        if function is None:
            return
        given = arguments.named_children if arguments is not None else []
        name = self.names.text(function.child_by_field_name("property"))
        if name in _SAME_LIST:
            receiver = function.child_by_field_name("object")
            if at.id not in self._seen:
                self._seen.add(at.id)
                self.ways.append((at, call))
            if receiver is not None:
                self._follow(receiver, call, depth + 1)
            if name == "concat":
                for inner in given:
                    self._follow(inner, call, depth + 1)
            return
        cuts = hands_out(name) or (self._langchain and self.names.path(function) == "trimMessages")
        if cuts and at.id not in self._seen:
            self._seen.add(at.id)
            self.ways.append((at, call))
        own = self.names.functions.get(self.names.key(function) or ("", 0))
        if own is None and not cuts:
            self.passed.append((at, call))
            lent = self.names.key(given[0]) if given else None
            self.lent |= {lent} if lent is not None else set()
        for result in results(own) if own is not None else ():
            self._follow(result, call, depth + 1)
        if given and (own is not None or _CONVERTS.fullmatch(self.names.path(function))):
            self._follow(given[0], call, depth + 1)

    def _pushed(self) -> dict[Key, list[Node]]:
        """The lists to which something is pushed, each with those that are pushed to it whole."""
        found: dict[Key, list[Node]] = {}
        for node in self.names.nodes:
            function = node.child_by_field_name("function") if node.type == "call_expression" else None
            arguments = node.child_by_field_name("arguments")
            if function is None or arguments is None or function.type != "member_expression":
                continue
            key = self.names.key(function.child_by_field_name("object"))
            if key is not None and self.names.text(function.child_by_field_name("property")) == "push":
                given = [child for child in arguments.named_children if child.type == "spread_element"]
                found.setdefault(key, []).extend([*given, *gone_through(node)])
        return found

    def _speaks_of_talk(self, key: Key) -> bool:
        return key in self._grown or _CONVERSATION_NAME.search(key[0]) is not None

    def _is_another_name(self, key: Key) -> bool:
        """Whether a variable is given a conversation as it is: ``let recent = this.history``."""
        given = (self.names.key(value) for value in self.names.values.get(key, ()))
        return any(each is not None and each != key and self._speaks_of_talk(each) for each in given)
