"""What functions and classes of other modules do to the conversation of this one.

``messages: trim(messages)`` hands it to a function that is imported, ``messages: this.memory.window()`` sends
what a method gives back, whose class may cut what it keeps. What is found there stands at the place in this
module, with the other one as its source.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from promptcache_lint.findings import Severity
from promptcache_lint.readers.typescript.conversations.budgets import budgets
from promptcache_lint.readers.typescript.conversations.edits import edits
from promptcache_lint.readers.typescript.conversations.facts import Facts
from promptcache_lint.readers.typescript.conversations.names import Names, around, bare, walk
from promptcache_lint.readers.typescript.conversations.row_windows import HINT
from promptcache_lint.readers.typescript.conversations.stored import goes_on, is_put_back
from promptcache_lint.readers.typescript.conversations.trims import cut_list, drops, is_aside, windows

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tree_sitter import Node

    from promptcache_lint.prompts import Practice
    from promptcache_lint.readers.typescript.conversations.names import Key
    from promptcache_lint.readers.typescript.module import Import, Module
    from promptcache_lint.readers.typescript.program import Program

__all__ = ["abroad", "may_pass"]

_HANDS_ON = re.compile(
    r"\b(?:\w+\.)?(?P<function>\w+)\(\s*(?:\.\.\.)?[\w.!?]*(?:essages|istory|onversation|contents|turns|ranscript)\b"
    r"|(?:essages|istory|contents|input|prompt)[\"']?\s*[:=]\s*[^;,\n]*\b\w+\.\w+\("
    r"|\b(?P<getter>(?:get|load|fetch|read|retrieve|recall|list)\w*(?:Messages|History|Turns|Conversation)\w*)\("
)
_MADE = re.compile(r"\bnew\s+(\w+)\(|:\s*(\w+)\b")
_MEMBER = re.compile(r"\b(\w+)\.(\w+)")
_CHANGES = re.compile(
    r"\.slice\(|\.(?:un)?shift\(|\.splice\(|trimMessages\(|\.map\(|\.(?:content|text|parts)\s*\+?=(?!=)"
)
_CLASSES = {"class_declaration", "abstract_class_declaration"}
_TYPED = {"public_field_definition", "required_parameter", "optional_parameter", "variable_declarator"}
_TYPE = re.compile(r":?\s*(\w+)\s*(?:\|\s*(?:null|undefined))?")


@dataclass(frozen=True)
class _Target:
    """A function of another module; ``given`` is its parameter that takes the conversation."""

    names: Names
    function: Node
    given: Key | None = None


def may_pass(module: Module, program: Program) -> bool:
    """Whether a conversation may be given to something imported from the tree that cuts or changes lists.

    Told from the texts of both; a name is looked up only where a conversation stands beside it.
    """
    text = module.source.text
    asked: dict[tuple[str, str | None], bool] = {}
    made: set[str] | None = None
    for match in _HANDS_ON.finditer(text):
        members = dict(_MEMBER.findall(match[0]))
        names = {match["function"], match["getter"], *members} & module.imports.keys()
        if match["function"] is None:
            made = {name for pair in _MADE.findall(text) for name in pair} if made is None else made
            names |= made & module.imports.keys()
        for name in names:
            key = (name, members.get(name))
            if key not in asked:
                asked[key] = _changes(module.imports[name], members.get(name), module, program)
            if asked[key]:
                return True
    return False


def _changes(what: Import, called: str | None, module: Module, program: Program) -> bool:
    """Whether an import, or what is ``called`` of a whole module, is of a file that cuts or changes lists."""
    if not what.specifier.startswith((".", "@/", "~/", "src/", "#")):
        return False
    found = (program.member(module, what, called) if called else None) or program.followed(module, what)
    text = found[0].source.text if found is not None else ""
    return _CHANGES.search(text) is not None or HINT.search(text) is not None


def abroad(facts: Facts, program: Program) -> Iterator[Practice]:
    """PC403, PC501 and PC502 of other modules, each at the call by which the conversation passes there."""
    search = _Search(facts, program)
    done: set[int] = set()
    for at in [*(at for at, call in facts.passed if not is_aside(call, facts)), *_in_place(facts)]:
        if at.id in done or is_aside(at, facts):
            continue
        done.add(at.id)
        target = search.target(at)
        if target is None:
            continue
        other = Facts(target.names, target.function, target.given)
        shown = [*windows(other)]
        for practice in (*shown, *drops(other), *budgets(other), *edits(other)):
            severity = practice.severity if target.given is None else _severity(practice, at, facts)
            if severity == Severity.ERROR and practice in shown and not _goes_on(at, facts):
                severity = Severity.WARNING
            if severity > Severity.INFO:
                place = facts.module.place(at)
                yield replace(practice, severity=severity, place=place, source=practice.place)


def _goes_on(at: Node, facts: Facts) -> bool:
    """Whether the conversation of which a function gives the end goes on here, with the answer."""
    function, given = bare(at.child_by_field_name("function")), _arguments(at)
    holder = function.child_by_field_name("object") if function is not None else None
    keys = (facts.names.key(given[0]) if given else None, facts.names.key(holder))
    return any(key is not None and (is_put_back(key, at, facts) or goes_on(key, at, facts)) for key in keys)


def _severity(practice: Practice, at: Node, facts: Facts) -> Severity:
    """How grave it is what a function does to a list: as far as the list is seen to live on."""
    given = _arguments(at)
    key = facts.names.key(given[0]) if given else None
    lives = key is not None and facts.is_conversation_key(key) and facts.lives(key, at)
    found = practice.severity
    return found if found == Severity.INFO else Severity.ERROR if lives else Severity.WARNING


def _in_place(facts: Facts) -> Iterator[Node]:
    """``shorten(messages);`` of a list that is sent."""
    for node in facts.names.nodes:
        if node.type != "expression_statement" or not node.named_children:
            continue
        call = bare(node.named_children[0])
        given = _arguments(call) if call is not None and call.type == "call_expression" else []
        if call is not None and given and facts.names.key(given[0]) in facts.sent:
            yield call


def _arguments(call: Node) -> list[Node]:
    given = call.child_by_field_name("arguments")
    return [child for child in given.named_children if child.type != "comment"] if given is not None else []


class _Search:
    """Finds what calls mean in the other modules of the tree."""

    def __init__(self, facts: Facts, program: Program) -> None:
        self._facts = facts
        self._program = program
        self._names: dict[Module, Names] = {}
        self._types: dict[Key, str] | None = None

    def target(self, at: Node) -> _Target | None:
        """The function of another module that a call runs."""
        function = bare(at.child_by_field_name("function"))
        if function is None:
            return None
        if function.type == "identifier":
            return self._function(self._facts.names.text(function), at)
        holder = function.child_by_field_name("object") if function.type == "member_expression" else None
        key = self._facts.names.key(holder)
        name = self._facts.names.text(function.child_by_field_name("property"))
        if key is None:
            return None
        imported = self._facts.module.imports.get(key[0]) if key[1] == 0 else None
        found = self._program.member(self._facts.module, imported, name) if imported is not None else None
        if found is not None:
            return self._given(found, at)
        return self._method(key, name, at)

    def _function(self, name: str, at: Node) -> _Target | None:
        names = self._facts.names
        key = names.key(at.child_by_field_name("function"))
        inner = any((name, outer.id) in names.functions for outer in around(at))
        imported = self._facts.module.imports.get(name) if key == (name, 0) and not inner else None
        return self._given(self._program.followed(self._facts.module, imported), at) if imported else None

    def _given(self, found: tuple[Module, str] | None, at: Node) -> _Target | None:
        """A function that takes the conversation as its first argument, and cuts or changes something."""
        given = _arguments(at)
        if found is None or _CHANGES.search(found[0].source.text) is None:
            return None
        key = self._facts.names.key(given[0]) if given else None
        talks = key in self._facts.sent or key in self._facts.lent if key is not None else False
        if not talks and not (given and self._is_field(given[0])):
            return None
        names = self._names_of(found[0])
        function = names.functions.get((found[1], 0))
        parameter = _first_parameter(function, names) if function is not None else None
        return None if function is None or parameter is None else _Target(names, function, parameter)

    def _is_field(self, node: Node) -> bool:
        """``body.messages``, ``req.body.history ?? []``: the conversation as a caller sent it."""
        held = cut_list(node)
        return held is not None and held.type == "member_expression" and self._facts.is_conversation(held)

    def _method(self, key: Key, name: str, at: Node) -> _Target | None:
        """The method of an object whose class another module defines."""
        found = self._class(key)
        if found is None or _CHANGES.search(found[0].module.text(found[1])) is None:
            return None
        method = found[0].functions.get((f"this.{name}", found[1].id))
        if method is None:
            return None
        talk = {*self._facts.sent, *self._facts.lent}
        takes = any(self._facts.names.key(each) in talk for each in _arguments(at)[:1])
        return _Target(found[0], method, _first_parameter(method, found[0]) if takes else None)

    def _class(self, key: Key) -> tuple[Names, Node] | None:
        """The class of a variable or field, by what it is given, or by its type."""
        own = self._facts.names
        named = [_made_class(value, own) for value in own.values.get(key, ())]
        imported = self._facts.module.imports.get(key[0]) if key[1] == 0 else None
        if imported is not None:
            return self._class_of_variable(self._program.followed(self._facts.module, imported))
        for name in [*named, self._types_of().get(key, "")]:
            what = self._facts.module.imports.get(name)
            found = self._program.followed(self._facts.module, what) if what is not None else None
            cls = _class_in(self._names_of(found[0]), found[1]) if found is not None else None
            if found is not None and cls is not None:
                return self._names_of(found[0]), cls
        return None

    def _class_of_variable(self, found: tuple[Module, str] | None) -> tuple[Names, Node] | None:
        """``export const memory = new Memory()``, of a class in the same module."""
        if found is None or "new " not in found[0].source.text:
            return None
        names = self._names_of(found[0])
        for value in names.values.get((found[1], 0), ()):
            cls = _class_in(names, _made_class(value, names))
            if cls is not None:
                return names, cls
        return None

    def _names_of(self, module: Module) -> Names:
        if module not in self._names:
            self._names[module] = Names(module)
        return self._names[module]

    def _types_of(self) -> dict[Key, str]:
        """The types that are written at the variables and fields of the module."""
        if self._types is None:
            self._types = {}
            for node in self._facts.names.nodes:
                if node.type in _TYPED:
                    self._types |= self._typed(node)
        return self._types

    def _typed(self, node: Node) -> dict[Key, str]:
        names = self._facts.names
        said = _TYPE.fullmatch(names.text(node.child_by_field_name("type")))
        target = node.child_by_field_name("name") or node.child_by_field_name("pattern")
        if said is None or target is None:
            return {}
        return dict.fromkeys(names.keys_of_declaration(node, target), said[1])


def _made_class(value: Node, names: Names) -> str:
    """The name of the class of which ``new Memory()`` makes an object; empty for anything else."""
    made = bare(value)
    is_new = made is not None and made.type == "new_expression"
    return names.text(made.child_by_field_name("constructor")) if made is not None and is_new else ""


def _class_in(names: Names, name: str) -> Node | None:
    """A class that a module defines."""
    found = (node for node in walk(names.module.tree.root_node) if node.type in _CLASSES)
    return next((node for node in found if names.text(node.child_by_field_name("name")) == name), None)


def _first_parameter(function: Node, names: Names) -> Key | None:
    first = function.child_by_field_name("parameter")
    given = function.child_by_field_name("parameters")
    if first is None and given is not None:
        first = next((each for each in given.named_children if each.type != "comment"), None)
    pattern = first.child_by_field_name("pattern") or first if first is not None else None
    return (
        (names.text(pattern), function.id) if pattern is not None and pattern.type == "identifier" else None
    )
