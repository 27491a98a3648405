"""Which functions are worth running: those in which, or below which, a prompt or a volatile value may occur.

Looks only at the text of functions and at the names they call, so that a large tree costs little. A function
that is left out counts as one of which nothing is known.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from promptcache_lint.readers.python.factories import factories_of
from promptcache_lint.readers.python.hinting import (
    LIKELY_SOURCES,
    SURE_SOURCES,
    gives_text,
    hands_text_over,
    has_source,
    keeps_text,
    looks_up,
    may_hold_prompt,
    names_of,
    puts_text_together,
    returns_text,
    words_of,
)
from promptcache_lint.readers.python.program import Class, Function, Module
from promptcache_lint.readers.python.tables import tables_of
from promptcache_lint.readers.python.yields import flow_into, flow_of
from promptcache_lint.wording import role_of_name

if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Set as AbstractSet

    from promptcache_lint.readers.python.program import Program
    from promptcache_lint.readers.python.yields import Flow

__all__ = ["Relevance", "may_hold_prompt"]

_SMALL, _DEEPEST = 12, 3
_MOST_ASKED = 60
"""Functions looked at for one question; what is not answered by then may be so."""
_MARK = "cache_control"


class Relevance:
    """Remembers, for one program, what is known of its functions."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._sources: dict[Function, bool] = {}
        self._yields: dict[Function, bool] = {}
        self._prompts: dict[Function, bool] = {}
        self._hinted: dict[Function, bool] = {}
        self._makers: dict[Function, bool] = {}
        self._flows: dict[Function, Flow] = {}
        self._worth: dict[Function, bool] = {}
        self._words: dict[Function, set[str]] = {}
        self._calls: dict[Function, list[Function]] = {}
        self._members: dict[Class, list[Function]] = {}
        self._givers: dict[Class, bool] = {}
        self._tables: dict[Module, dict[str, list[Function]]] = {}

    def forget(self) -> None:
        """Let go of all functions."""
        for known in vars(self).values():
            if isinstance(known, dict):
                known.clear()

    def holds_prompt(self, function: Function) -> bool:
        """Whether a function should be run by itself: its text or its name has to do with prompts."""
        if function not in self._prompts:
            named = role_of_name(function.name) is not None or any(map(role_of_name, function.decorators))
            code = function.code
            hinted = named or self._is_hinted(function)
            self._prompts[function] = found = hinted and self._makes_prompt(function)
            if hinted and not found:
                self._prompts[function] = found = any(map(self.yields_source, self.called(function)))
            if not found:
                self._prompts[function] = self._hands_on(function, code) or self._lends_text(function, code)
        return self._prompts[function]

    def mentions_prompt(self, function: Function) -> bool:
        """Whether a function may send or name a prompt, though it makes none itself."""
        return self.holds_prompt(function) or self._is_hinted(function)

    def _is_hinted(self, function: Function) -> bool:
        """Whether anything in a function's text hints at prompts."""
        known = self._hinted.get(function)
        if known is None:
            known = self._hinted[function] = may_hold_prompt(function.code)
        return known

    def _makes_prompt(self, function: Function) -> bool:
        """Whether it puts a text together, or holds something volatile: else nothing can be found in it."""
        code = function.code
        return puts_text_together(code) or has_source(code, self.words(function))

    def _hands_on(self, function: Function, code: str) -> bool:
        """Whether a function hands something volatile to one that makes a prompt of it."""
        if not has_source(code, self.words(function)):
            return False
        makers = [called for called in self.called(function) if self.holds_prompt(called)]
        if not makers:
            return False
        flow = flow_into(function, names_of(makers, function))
        return self._brings_source(function, flow, 0) or self._has_kept_source(function, flow)

    def _lends_text(self, function: Function, code: str) -> bool:
        """Whether a function gives a text of its own to one of its module that marks it as cacheable."""
        if _MARK not in function.module.source.text or not hands_text_over(code):
            return False
        return any(self._sets_mark(called, 0) for called in self.called(function) if called is not function)

    def _sets_mark(self, function: Function, depth: int) -> bool:
        return _MARK in function.code or (
            depth < 1 and any(self._sets_mark(called, depth + 1) for called in self.called(function))
        )

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

    def takes_up(self, function: Function, names: list[str]) -> bool:
        """Whether what is given under some names may be in what a function returns, changes or sends."""
        if self.makes_prompts(function):
            return True
        return not self._flow(function).words.isdisjoint(names)

    def _flow(self, function: Function) -> Flow:
        flow = self._flows.get(function)
        if flow is None:
            flow = self._flows[function] = flow_of(function)
        return flow

    def reads_any(self, function: Function, attributes: list[str]) -> bool:
        """Whether a method, or what it calls, says the name of an attribute, or hands its object on."""
        return self._reads_any(function, attributes, set())

    def _reads_any(self, function: Function, attributes: list[str], seen: set[Function]) -> bool:
        if function in seen or len(seen) > _MOST_ASKED:
            return len(seen) > _MOST_ASKED
        seen.add(function)
        if not self.words(function).isdisjoint(attributes) or function.hands_itself_on:
            return True
        return any(self._reads_any(called, attributes, seen) for called in self.called(function))

    def calls_any(self, function: Function, names: list[str], depth: int = 0) -> bool:
        """Whether a function, or what it calls, says one of ``names``."""
        if not self.words(function).isdisjoint(names):
            return True
        return depth < _DEEPEST and any(
            self.calls_any(each, names, depth + 1) for each in self.called(function)
        )

    def makes_prompts(self, function: Function, depth: int = 0) -> bool:
        """Whether a prompt may be made in a function, or in one that it calls."""
        known = self._makers.get(function)
        if known is not None or depth > _DEEPEST:
            return bool(known)
        self._makers[function] = False
        found = self._makers[function] = self.mentions_prompt(function) or any(
            self.makes_prompts(called, depth + 1) for called in self.called(function)
        )
        return found

    def keeps_text(self, function: Function) -> bool:
        """Whether a short method keeps what it is given, as those do that build a text bit by bit."""
        size = (function.node.end_lineno or 0) - function.node.lineno
        owner = function.owner
        return owner is not None and size <= _SMALL and self._gives_text(owner) and keeps_text(function.code)

    def _gives_text(self, owner: Class) -> bool:
        """Whether objects of a class give the text that is kept in them."""
        known = self._givers.get(owner)
        if known is None:
            known = self._givers[owner] = any(gives_text(each.code) for each in owner.methods.values())
        return known

    def _is_short_text(self, function: Function) -> bool:
        size = (function.node.end_lineno or 0) - function.node.lineno
        return size <= _SMALL and returns_text(function.text)

    def _reaches_source(self, function: Function, depth: int) -> bool:
        if function in self._sources:
            return self._sources[function]
        if depth > _DEEPEST:
            return False
        self._sources[function] = False
        found = has_source(function.code, self.words(function)) or any(
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
        found = self._yields[function] = self._brings_source(function, self._flow(function), depth)
        return found

    def _brings_source(self, function: Function, flow: Flow, depth: int) -> bool:
        """Whether there is something volatile in what flows in a function, or comes from those it calls."""
        if flow.sets or flow.words & SURE_SOURCES or flow.called & LIKELY_SOURCES:
            return True
        called = self._called(function, flow.words, flow.called.__contains__)
        return any(self._yields_source(each, depth + 1) for each in called) or any(
            self._reaches_source(each, depth + 1) for each in self.decorators(function)
        )

    def decorators(self, function: Function) -> list[Function]:
        """The functions of the tree that decorate one, the nearest first."""
        if isinstance(function.node, ast.Lambda) or not function.node.decorator_list:
            return []
        nodes = (n.func if isinstance(n, ast.Call) else n for n in reversed(function.node.decorator_list))
        names = [node.id for node in nodes if isinstance(node, ast.Name)]
        return [each for name in names for each in self._called(function, {name}, {name}.__contains__)]

    def words(self, function: Function) -> set[str]:
        """The words in a function's text, but for its docstring."""
        known = self._words.get(function)
        if known is None:
            known = self._words[function] = words_of(function.code)
        return known

    def called(self, function: Function) -> list[Function]:
        """What a function may call, by the names in its text."""
        known = self._calls.get(function)
        if known is None:
            text = function.code
            words = self.words(function)
            found = self._called(function, words, lambda name: f"{name}(" in text)
            known = self._calls[function] = found + self.decorators(function)
        return known

    def _of_class(self, cls: Class) -> list[Function]:
        """What may run when an object of a class is made, or used."""
        known = self._members.get(cls)
        if known is None:
            known = self._members[cls] = [*cls.methods.values(), *factories_of(cls)]
        return known

    def tables(self, module: Module) -> dict[str, list[Function]]:
        """The tables of functions in a module."""
        known = self._tables.get(module)
        if known is None:
            self._tables[module] = {}  # what a ring of imports finds
            known = self._tables[module] = tables_of(module, self._program)
        return known

    def _called(
        self, function: Function, words: AbstractSet[str], is_called: Callable[[str], bool]
    ) -> list[Function]:
        """What a part of a function may call, by the words in it."""
        module = function.module
        found = [module.functions[name] for name in sorted(words & module.functions.keys())]
        tables = self.tables(module)
        for name in sorted(words & tables.keys()) if tables else ():
            found += tables[name]
        if function.owner is not None:
            found += [function.owner.methods[name] for name in sorted(words & function.owner.methods.keys())]
        for name in sorted(words & module.classes.keys()):
            found += self._of_class(module.classes[name])
        inner = (name for name, first in module.inner_imports if first in words)
        for name in sorted({*inner, *(words & module.imports.keys())}):
            found += self._imported(module.imports[name], name, function, words, is_called)
        return found

    def _imported(
        self,
        dotted: str,
        name: str,
        function: Function,
        words: AbstractSet[str],
        is_called: Callable[[str], bool],
    ) -> list[Function]:
        """What may be called of an import: itself, or the functions of a module, or of a table."""
        module, code = function.module, function.code
        dots = dotted.lstrip(".")
        if not is_called(name) and not name.islower() and not (name.isupper() and looks_up(name, code)):
            return []
        target = self._program.resolve(dotted, module) if dots else None
        match target:
            case Function() if is_called(name):
                return [target]
            case Class() if is_called(name):
                return self._of_class(target)
            case Module():
                named = sorted(words & target.functions.keys())
                tables = self.tables(target)
                listed = [each for key in sorted(words & tables.keys()) for each in tables[key]]
                return [*(target.functions[each] for each in named if is_called(each)), *listed]
            case (Module() as module_of_table, str() as variable):
                return self.tables(module_of_table).get(variable, [])
            case _:
                return []
