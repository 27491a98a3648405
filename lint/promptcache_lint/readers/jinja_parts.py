"""The parts of a parsed Jinja2 template: its text, its holes with their traits, its conditional sections.

A walk over the syntax tree in the order of the document, with the variables in scope. Values are followed
through `set`, filters, calls, macros, and files that are included or imported.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from jinja2 import nodes

from promptcache_lint.errors import UnreadableFileError
from promptcache_lint.prompts import Branch, Hole, Text
from promptcache_lint.readers.jinja_blocks import Blocks, with_super
from promptcache_lint.readers.jinja_moves import behind_talk, filled, moved, own_or_moved
from promptcache_lint.readers.jinja_talk import end_of_talk
from promptcache_lint.readers.jinja_values import Scope, Traits, evaluate, mapping_order, spell
from promptcache_lint.rulebook import in_words

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import jinja2

    from promptcache_lint.places import Place, Source
    from promptcache_lint.prompts import Part
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
        self._blocks = Blocks()
        self.anew: frozenset[str] = frozenset()
        """The blocks that are never rendered as they stand here: their text stands for what is."""

    def parts(self, text: str, scope: Scope | None = None, blocks: Blocks | None = None) -> tuple[Part, ...]:
        """The parts of ``text``, whose offsets and lines are those of the source.

        ``blocks`` are those of the templates that extend this one.
        """
        from promptcache_lint.readers.jinja import parse_template  # noqa: PLC0415 - the two need each other

        environment, tree = parse_template(text)
        self._outputs = list(_output_ranges(environment, text))
        self._next = 0
        self._blocks = blocks if blocks is not None else Blocks()
        scope = scope if scope is not None else Scope(self.workspace.vocabulary)
        extended = next(tree.find_all(nodes.Extends), None)
        if extended is not None:
            return tuple(self._extending(tree, extended, scope))
        end = end_of_talk(tree.body)
        parts = tuple(self._body(tree.body[: end + 1], scope))
        rest = tuple(self._body(tree.body[end + 1 :], scope))
        return (*parts, *(behind_talk(rest) if end >= 0 else rest))

    def _extending(self, tree: nodes.Template, extended: nodes.Extends, scope: Scope) -> Iterator[Part]:
        """The parts of the template that this one extends, with this one's blocks in the place of its own.

        Blocks are read here, in order, as the columns of their ``{{ … }}`` are counted.
        """
        for node in tree.body:
            if isinstance(node, nodes.Block):
                self._blocks.read.setdefault(node.name, []).append(tuple(self._body(node.body, scope)))
            else:
                for _ in self._node(node, scope):
                    pass  # what stands outside of the blocks of such a template is not rendered
        place = self._line(extended.lineno)
        for name in _constant_names(extended.template):
            walker, text = self._open(name)
            if walker is None:
                continue
            try:
                parts = walker.parts(text, scope.child(), self._blocks)
            except UnreadableFileError:
                break
            yield from own_or_moved(parts, place) if self._depth == 0 else parts
            return
        for blocks in self._blocks.read.values():
            yield from blocks[0]

    def _block(self, node: nodes.Block, scope: Scope) -> Iterator[Part]:
        """A block's parts, or those of the template furthest down that has it; ``super()`` is the next."""
        own = tuple(self._body(node.body, scope))
        if node.name in self.anew:
            own = tuple(part for part in own if isinstance(part, Text))
        yield from with_super([*self._blocks.read.get(node.name, ()), own])

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
                for argument, default in zip(reversed(node.args), reversed(node.defaults), strict=False):
                    inner.values[argument.name] = evaluate(default, scope, self._line(node.lineno))
                scope.blocks[node.name] = tuple(self._body(node.body, inner))
                scope.parameters[node.name] = tuple(argument.name for argument in node.args)
            case nodes.CallBlock():
                yield from self._expression(node.call, self._line(node.lineno), scope)
                yield from self._body(node.body, scope)
            case nodes.Include():
                yield from self._include(node.template, node.lineno, scope)
            case nodes.Import() | nodes.FromImport():
                self._import(node, scope)
            case nodes.Block():
                yield from self._block(node, scope)
            case nodes.FilterBlock() | nodes.With() | nodes.Scope() | nodes.ScopedEvalContextModifier():
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
            yield from moved(filled(block, self._given(node, scope, place)), place)
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
    def _given(node: nodes.Node, scope: Scope, place: Place) -> dict[str, Traits]:
        """What a call of a macro passes for its parameters."""
        while isinstance(node, nodes.Filter) and node.node is not None:
            node = node.node
        if not isinstance(node, nodes.Call):
            return {}
        names = scope.parameters.get(spell(node.node), ())
        pairs = [*zip(names, node.args, strict=False), *((item.key, item.value) for item in node.kwargs)]
        return {name: evaluate(value, scope, place) for name, value in pairs if name in names}

    def _assign(self, node: nodes.Assign, scope: Scope) -> None:
        place = self._line(node.lineno)
        if isinstance(node.target, nodes.NSRef):
            scope.attributes[f"{node.target.name}.{node.target.attr}"] = evaluate(node.node, scope, place)
        elif isinstance(node.target, nodes.Name):
            block = scope.block_of(node.node)
            if block is not None:
                scope.blocks[node.target.name] = filled(block, self._given(node.node, scope, place))
                return
            scope.blocks.pop(node.target.name, None)
            scope.set(node.target.name, node.node, place)

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
            yield from moved(parts, self._line(line))
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
