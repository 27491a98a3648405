"""The parts of a parsed Jinja2 template: its text, its holes with their traits, its conditional sections.

A walk over the syntax tree in the order of the document, with the variables in scope. Values are followed
through `set`, filters, calls, macros, and files that are included or imported.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from jinja2 import nodes

from promptcache_lint.errors import UnreadableFileError
from promptcache_lint.prompts import Branch, Hole, Text
from promptcache_lint.readers.jinja_values import Scope, Traits, evaluate, mapping_order, spell
from promptcache_lint.rulebook import in_words

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import jinja2

    from promptcache_lint.places import Place, Source
    from promptcache_lint.prompts import Part, Trait
    from promptcache_lint.readers.reading import Workspace

__all__ = ["TemplateWalker"]

_MOST_INCLUDES = 8
_LARGEST_INCLUDE = 1_000_000


class TemplateWalker:
    """Reads one template file into parts; `parts` is the whole of it.

    ``loops``: the order of what the template loops over is looked at.
    """

    def __init__(
        self, workspace: Workspace, path: Path, source: Source, depth: int = 0, *, loops: bool = True
    ) -> None:
        self.workspace = workspace
        self.path = path
        self.source = source
        self._depth = depth
        self._loops = loops
        self._outputs: list[tuple[int, int]] = []
        self._next = 0

    def parts(self, text: str, scope: Scope | None = None) -> tuple[Part, ...]:
        """The parts of ``text``, whose offsets and lines are those of the source."""
        from promptcache_lint.readers.jinja import parse_template  # noqa: PLC0415 - the two need each other

        environment, tree = parse_template(text)
        self._outputs = list(_output_ranges(environment, text))
        self._next = 0
        return tuple(self._body(tree.body, scope if scope is not None else Scope(self.workspace.vocabulary)))

    def _body(self, body: list[nodes.Node], scope: Scope) -> Iterator[Part]:
        for node in body:
            yield from self._node(node, scope)

    def _node(self, node: nodes.Node, scope: Scope) -> Iterator[Part]:  # noqa: C901 - one case a kind of node
        match node:
            case nodes.Output():
                yield from self._output(node, scope)
            case nodes.Assign():
                self._assign(node, scope)
            case nodes.AssignBlock():
                parts = tuple(self._body(node.body, scope))
                if isinstance(node.target, nodes.Name):
                    scope.blocks[node.target.name] = parts
            case nodes.If():
                yield self._condition(node, scope)
            case nodes.For():
                yield from self._loop(node, scope)
            case nodes.Macro():
                inner = scope.child()
                for argument in node.args:
                    inner.unknown(argument.name)
                scope.blocks[node.name] = tuple(self._body(node.body, inner))
                scope.parameters[node.name] = tuple(argument.name for argument in node.args)
            case nodes.CallBlock():
                yield from self._expression(node.call, self._line(node.lineno), scope)
                yield from self._body(node.body, scope)
            case nodes.Include():
                yield from self._include(node.template, node.lineno, scope)
            case nodes.Import() | nodes.FromImport():
                self._import(node, scope)
            case (
                nodes.FilterBlock()
                | nodes.With()
                | nodes.Block()
                | nodes.Scope()
                | nodes.ScopedEvalContextModifier()
            ):
                if isinstance(node, nodes.With):
                    for target, value in zip(node.targets, node.values, strict=False):
                        if isinstance(target, nodes.Name):
                            scope.values[target.name] = evaluate(value, scope, self._line(node.lineno))
                yield from self._body(node.body, scope)
            case _:
                return

    def _output(self, node: nodes.Output, scope: Scope) -> Iterator[Part]:
        for child in node.nodes:
            if isinstance(child, nodes.TemplateData):
                yield Text(child.data, self._line(child.lineno))
                continue
            place = self._line(child.lineno)
            if self._next < len(self._outputs):
                start, end = self._outputs[self._next]
                self._next += 1
                place = self.source.place(start, end)
            yield from self._expression(child, place, scope)

    def _expression(self, node: nodes.Expr, place: Place, scope: Scope) -> Iterator[Part]:
        block = scope.block_of(node)
        if block is not None:
            given = self._given(node, scope, place)
            yield from _moved(_filled(block, given) if given else block, place)
            return
        if isinstance(node, nodes.Const):
            yield Text(str(node.value), place)
            return
        if isinstance(node, nodes.CondExpr):
            first = tuple(self._expression(node.expr1, place, scope))
            second = tuple(self._expression(node.expr2, place, scope)) if node.expr2 is not None else ()
            yield Branch(spell(node.test), place, (first, second))
            return
        traits = tuple(trait.through(place) for trait in evaluate(node, scope, place))
        label = spell(node)
        stability = max((trait.mark.stability for trait in traits), default=None)
        yield Hole(label, place, traits, stability, in_words(label))

    @staticmethod
    def _given(node: nodes.Expr, scope: Scope, place: Place) -> dict[str, Traits]:
        """What a call of a macro passes for its parameters, where that is volatile."""
        if not isinstance(node, nodes.Call):
            return {}
        names = scope.parameters.get(spell(node.node), ())
        pairs = [*zip(names, node.args, strict=False), *((item.key, item.value) for item in node.kwargs)]
        found = {name: evaluate(value, scope, place) for name, value in pairs}
        return {name: traits for name, traits in found.items() if traits}

    def _assign(self, node: nodes.Assign, scope: Scope) -> None:
        if isinstance(node.target, nodes.Name):
            block = scope.block_of(node.node)
            if block is not None:
                scope.blocks[node.target.name] = block
                return
            scope.blocks.pop(node.target.name, None)
            scope.values[node.target.name] = evaluate(node.node, scope, self._line(node.lineno))

    def _condition(self, node: nodes.If, scope: Scope) -> Branch:
        options = [tuple(self._body(node.body, scope))]
        options += [tuple(self._body(branch.body, scope)) for branch in node.elif_]
        options.append(tuple(self._body(node.else_, scope)))
        test = "" if isinstance(node.test, nodes.Const) else spell(node.test)
        if isinstance(node.test, nodes.Name) and node.test.name == "loop":
            test = ""
        if spell(node.test).startswith("loop."):
            test = ""
        return Branch(test, self._line(node.lineno), tuple(options))

    def _loop(self, node: nodes.For, scope: Scope) -> Iterator[Part]:
        inner = scope.child()
        line = self._line(node.lineno)
        traits = evaluate(node.iter, scope, line)
        if self._loops:
            traits = (*traits, *mapping_order(node.iter, scope, line))
        targets = node.target.items if isinstance(node.target, nodes.Tuple) else [node.target]
        for target in targets:
            if isinstance(target, nodes.Name):
                inner.values[target.name] = traits
        yield from self._body(node.body, inner)
        yield from self._body(node.else_, inner)

    def _include(self, template: nodes.Expr, line: int, scope: Scope) -> Iterator[Part]:
        for name in _constant_names(template):
            walker, text = self._open(name)
            if walker is None:
                continue
            try:
                parts = walker.parts(text, scope.child())
            except UnreadableFileError:
                return
            yield from _moved(parts, self._line(line))
            return

    def _import(self, node: nodes.Import | nodes.FromImport, scope: Scope) -> None:
        for name in _constant_names(node.template):
            walker, text = self._open(name)
            if walker is None:
                continue
            inner = Scope(self.workspace.vocabulary)
            try:
                walker.parts(text, inner)
            except UnreadableFileError:
                return
            if isinstance(node, nodes.Import):
                for key, block in inner.blocks.items():
                    scope.blocks[f"{node.target}.{key}"] = block
                    scope.parameters[f"{node.target}.{key}"] = inner.parameters.get(key, ())
                for key, value in inner.values.items():
                    scope.values[f"{node.target}.{key}"] = value
                return
            for item in node.names:
                key, alias = item if isinstance(item, tuple) else (item, item)
                if key in inner.blocks:
                    scope.blocks[alias] = inner.blocks[key]
                    scope.parameters[alias] = inner.parameters.get(key, ())
                elif key in inner.values:
                    scope.values[alias] = inner.values[key]
            return

    def _open(self, name: str) -> tuple[TemplateWalker | None, str]:
        if self._depth >= _MOST_INCLUDES:
            return None, ""
        for folder in (self.path.parent, *self.path.parent.parents[:2], *self.workspace.roots):
            path = folder / name
            try:
                if not path.is_file() or path.stat().st_size > _LARGEST_INCLUDE:
                    continue
                text = path.read_text(encoding="utf-8")
            except (OSError, ValueError):
                continue
            source = self.workspace.source(path, text)
            return TemplateWalker(self.workspace, path, source, self._depth + 1), text
        return None, ""

    def _line(self, row: int) -> Place:
        text = self.source.line(row)
        indent = len(text) - len(text.lstrip())
        start = self.source.offset(row, indent + 1)
        return self.source.place(start, start + len(text.strip()))


def _filled(parts: tuple[Part, ...], given: dict[str, Traits]) -> tuple[Part, ...]:
    """A macro's parts with its parameters replaced by what is passed for them."""
    done: list[Part] = []
    for part in parts:
        if isinstance(part, Branch):
            done.append(replace(part, options=tuple(_filled(option, given) for option in part.options)))
        elif isinstance(part, Hole) and (root := part.label.split(" ")[0].split(".")[0]) in given:
            done.append(replace(part, traits=given[root], stability=given[root][0].mark.stability))
        else:
            done.append(part)
    return tuple(done)


def _moved(parts: tuple[Part, ...], place: Place) -> Iterator[Part]:
    """Parts that are rendered at ``place``: a macro's or an included file's."""
    for part in parts:
        if isinstance(part, Branch):
            yield replace(part, place=place, options=tuple(tuple(_moved(o, place)) for o in part.options))
        elif isinstance(part, Hole):
            traits: tuple[Trait, ...] = tuple(t.through(part.place).through(place) for t in part.traits)
            yield replace(part, place=place, traits=traits)
        else:
            yield replace(part, place=place)


def _constant_names(template: nodes.Expr) -> Iterator[str]:
    candidates = template.items if isinstance(template, nodes.Tuple | nodes.List) else [template]
    for candidate in candidates:
        if isinstance(candidate, nodes.Const) and isinstance(candidate.value, str):
            yield candidate.value


def _output_ranges(environment: jinja2.Environment, text: str) -> Iterator[tuple[int, int]]:
    """Start and end offsets of the ``{{ … }}`` in ``text``, in order."""
    cursor = 0
    start = None
    tokens = list(environment.lex(text))
    for _, kind, value in tokens:
        found = text.find(value, cursor)
        if found == -1:
            continue
        cursor = found + len(value)
        if kind == "variable_begin":
            start = found
        elif kind == "variable_end" and start is not None:
            yield start, found + len(value.rstrip())
            start = None
