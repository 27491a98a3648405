"""Splits a template's syntax tree where the first volatile variable is written.

The head is what only static variables shape; rendered alone it is the prefix of every rendering. What stands
behind is measured: static text there is stranded, the cache never reaches it. Nothing is rendered here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from jinja2 import meta, nodes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jinja2 import Environment

_Kind = TypeVar("_Kind", bound=nodes.Node)
_Reading = nodes.Include | nodes.Import | nodes.FromImport
_MAKERS = frozenset({"namespace", "dict", "range", "cycler", "joiner"})
"""Functions that make something new and change nothing that is there."""
_DEFINING = (nodes.Assign, nodes.AssignBlock, nodes.Macro, nodes.Import, nodes.FromImport)


@dataclass(frozen=True)
class Layout:
    """A template, taken apart.

    ``head`` is the tree of the static part, ``literals`` its texts (those of included templates too);
    ``stranded`` is the number of characters of literal text behind the first volatile variable, spaces not
    counted; ``undeclared`` are the names the template needs from outside; ``extends`` tells that it leaves
    its order to another template.
    """

    head: nodes.Template
    literals: tuple[str, ...]
    stranded: int
    undeclared: frozenset[str]
    extends: bool


class Splitter:
    """Takes one template apart; ``volatile`` are the names that change."""

    def __init__(self, environment: Environment, volatile: frozenset[str]) -> None:
        self._environment = environment
        self._changing = {*volatile, "self"}  # what blocks write stands elsewhere

    def split(self, name: str) -> Layout:
        """Split the template ``name`` of the environment's loader."""
        tree = self._parse(name)
        head: list[nodes.Node] = []
        tail: list[nodes.Node] = []
        for node in self._pieces(tree):
            defines = isinstance(node, _DEFINING)
            if defines and tail:
                continue  # what is defined there cannot shape what stands before
            if not tail and not self._changes(node):
                head.append(node)
            elif tail or not defines or _reaches_out(node):
                tail.append(node)
            else:
                self._define(node, head)
        top = nodes.Template(head, lineno=1)
        top.set_environment(self._environment)
        return Layout(
            head=top,
            literals=tuple(self._texts(head)),
            stranded=sum(len("".join(text.split())) for text in self._texts(tail)),
            undeclared=frozenset(self._undeclared(tree, set())),
            extends=next(tree.find_all(nodes.Extends), None) is not None,
        )

    def _parse(self, name: str) -> nodes.Template:
        loader = self._environment.loader
        assert loader is not None
        source, _, _ = loader.get_source(self._environment, name)
        return self._environment.parse(source, name)

    @staticmethod
    def _pieces(tree: nodes.Template) -> Iterator[nodes.Node]:
        """Yield the top-level nodes; what is written by one tag after another comes one by one."""
        for node in tree.body:
            if isinstance(node, nodes.Output):
                for child in node.nodes:
                    yield nodes.Output([child], lineno=child.lineno)
            else:
                yield node

    def _define(self, node: nodes.Node, head: list[nodes.Node]) -> None:
        """Mark what a volatile node defines, and the macros before it that use that."""
        self._changing.update(_defined_names(node))
        for macro in [earlier for earlier in head if isinstance(earlier, nodes.Macro)] * 2:
            if self._changes(macro):
                self._changing.add(macro.name)

    def _changes(self, node: nodes.Node) -> bool:
        if any(name.name in self._changing for name in _with_itself(node, nodes.Name)):
            return True
        return any(self._include_changes(include) for include in _reading(node))

    def _include_changes(self, include: _Reading) -> bool:
        trees = self._included(include)
        return trees is None or any(self._changes(tree) for tree in trees)

    def _included(self, include: _Reading) -> list[nodes.Template] | None:
        """Return the trees an include may bring; None when its name is computed."""
        if not isinstance(include.template, nodes.Const):
            return None
        names = include.template.value
        return [self._parse(name) for name in ([names] if isinstance(names, str) else names)]

    def _texts(self, trees: list[nodes.Node]) -> Iterator[str]:
        for tree in trees:
            for data in _with_itself(tree, nodes.TemplateData):
                yield data.data
            for include in _with_itself(tree, nodes.Include):
                yield from self._texts(list(self._included(include) or ()))

    def _undeclared(self, tree: nodes.Template, defined: set[str]) -> set[str]:
        defined = defined | {name.name for name in tree.find_all(nodes.Name) if name.ctx == "store"}
        found = meta.find_undeclared_variables(tree) - defined
        for include in _reading(tree):
            for included in self._included(include) or ():
                found |= self._undeclared(included, defined)
        return found


def _with_itself(node: nodes.Node, kind: type[_Kind]) -> Iterator[_Kind]:
    if isinstance(node, kind):
        yield node
    yield from node.find_all(kind)


def _reading(node: nodes.Node) -> Iterator[_Reading]:
    """Yield what brings in other templates that see the variables of this one."""
    yield from _with_itself(node, nodes.Include)
    yield from (found for found in _with_itself(node, nodes.Import) if found.with_context)
    yield from (found for found in _with_itself(node, nodes.FromImport) if found.with_context)


def _reaches_out(node: nodes.Node) -> bool:
    """Tell whether a definition may change more than the names it defines."""
    if isinstance(node, nodes.Macro):
        return False  # that happens where it is called
    calls = (call.node for call in node.find_all(nodes.Call))
    makes = all(isinstance(called, nodes.Name) and called.name in _MAKERS for called in calls)
    return not makes or next(node.find_all(nodes.NSRef), None) is not None or any(_reading(node))


def _defined_names(node: nodes.Node) -> Iterator[str]:
    if isinstance(node, nodes.Macro):
        yield node.name
    elif isinstance(node, nodes.Import):
        yield node.target
    elif isinstance(node, nodes.FromImport):
        yield from (name if isinstance(name, str) else name[1] for name in node.names)
    else:
        yield from (name.name for name in node.find_all(nodes.Name) if name.ctx == "store")
