"""The Jinja environment of chat templates: Hugging Face's, sandboxed, with a budget for each rendering.

What an operation costs is in ``template_budget``. Here every place where a template computes is led past it:
operators, ``~``, comparisons, slices, calls, filters and tests, what is written, and each pass through a
body. Nothing is computed while a template is compiled. What no prompt needs and whose cost cannot be told
beforehand is left out.
"""

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from jinja2 import nodes, pass_context
from jinja2.ext import Extension
from jinja2.parser import Parser
from jinja2.runtime import Context, LoopContext
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.visitor import NodeTransformer

from promptcache_engine.models.template_budget import PASS, Budget, BudgetExceededError, length

BUDGET: Final = "the budget"
"""The name a rendering's budget is given by: no template can write it."""
_PASS, _JOIN, _COMPARE, _SEARCH, _SLICE = "a pass", "a join", "a side", "a place", "a slice"
_HOLD: Final = "what is held"
"""Filters of this module, which no template can write either."""

_LEFT_OUT: Final = ("lipsum", "pprint", "urlize")


class TemplateSandbox(ImmutableSandboxedEnvironment):
    """The environment; each rendering wants a ``Budget`` under the name ``BUDGET``."""

    intercepted_binops = frozenset({"*", "**", "%", "+"})

    def __init__(self) -> None:
        super().__init__(
            trim_blocks=True,
            lstrip_blocks=True,
            optimized=False,  # nothing is computed before there is a budget
            finalize=_written,
            extensions=[_GenerationTag, "jinja2.ext.loopcontrols"],
        )
        for name in _LEFT_OUT:
            self.globals.pop(name, None)
            self.filters.pop(name, None)
        self.filters = {name: _counted_filter(name, each) for name, each in self.filters.items()}
        self.tests = {name: _counted_test(each) for name, each in self.tests.items()}
        self.filters |= {
            _PASS: _passed,
            _JOIN: _joined,
            _COMPARE: _compared,
            _SEARCH: _searched,
            _SLICE: _sliced,
            _HOLD: _held,
        }

    def add_filter(self, name: str, function: Callable[..., Any]) -> None:
        """Add a filter, or put it in another's place; it is counted as the others are."""
        self.filters[name] = _counted_filter(name, function)

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        """Apply an operator; raise BudgetExceededError where its result is too much."""
        _of(context).take_operator(operator, left, right)
        return super().call_binop(context, operator, left, right)

    def call(__self, __context: Context, __obj: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: N805, PYI063 - as Jinja2 does
        """Call what a template calls; what texts, lists and numbers can do is counted."""
        budget = _of(__context)
        # The sandbox wraps str.format.
        owner = getattr(getattr(__obj, "__wrapped__", __obj), "__self__", None)
        if isinstance(owner, LoopContext):  # loop.changed compares
            budget.compare(args)
        elif isinstance(owner, str | bytes | list | tuple | int):
            args = tuple(map(_whole, args))
            budget.take_call(getattr(__obj, "__name__", ""), (owner, *args), kwargs)
        else:
            budget.take(1 + length(owner) // PASS)
            budget.take_held((*args, *kwargs.values()))
        made = super().call(__context, __obj, *args, **kwargs)
        if isinstance(owner, str | bytes):
            budget.take_result(made)
        return made

    def _parse(self, source: str, name: str | None, filename: str | None) -> nodes.Template:
        tree: nodes.Template = _Counting().visit(super()._parse(source, name, filename))
        tree.set_environment(self)
        return tree


class _GenerationTag(Extension):
    """``{% generation %}`` marks the assistant's tokens for training; here only its body counts."""

    tags = {"generation"}  # noqa: RUF012 - declared so by jinja2

    def parse(self, parser: Parser) -> list[nodes.Node]:
        next(parser.stream)
        return parser.parse_statements(("name:endgeneration",), drop_needle=True)


class _Counting(NodeTransformer):
    """Puts a price into every body that can run more than once, and what has no hook through a filter."""

    def visit_Concat(self, node: nodes.Concat) -> nodes.Node:  # noqa: N802 - named by Jinja2
        self.generic_visit(node)
        return _through(nodes.List(list(node.nodes), lineno=node.lineno), _JOIN)

    def visit_List(self, node: nodes.List) -> nodes.Node:  # noqa: N802 - named by Jinja2
        self.generic_visit(node)
        return node if _is_constant(node.items) else _through(node, _HOLD)

    def visit_Tuple(self, node: nodes.Tuple) -> nodes.Node:  # noqa: N802 - named by Jinja2
        self.generic_visit(node)
        return node if node.ctx != "load" or _is_constant(node.items) else _through(node, _HOLD)

    def visit_Dict(self, node: nodes.Dict) -> nodes.Node:  # noqa: N802 - named by Jinja2
        self.generic_visit(node)
        return node if _is_constant([each.value for each in node.items]) else _through(node, _HOLD)

    def visit_Compare(self, node: nodes.Compare) -> nodes.Node:  # noqa: N802 - named by Jinja2
        self.generic_visit(node)
        sides = (node.expr, node.ops[0].expr)
        is_search = len(node.ops) > 1 or node.ops[0].op in {"in", "notin"}
        if not is_search and any(isinstance(each, nodes.Const) for each in sides):
            return node  # no more than the constant is compared
        node.expr = _through(node.expr, _COMPARE)
        for side in node.ops:
            side.expr = _through(side.expr, _SEARCH if side.op in {"in", "notin"} else _COMPARE)
        return node

    def visit_Getitem(self, node: nodes.Getitem) -> nodes.Node:  # noqa: N802 - named by Jinja2
        self.generic_visit(node)
        return _through(node, _SLICE) if isinstance(node.arg, nodes.Slice) else node

    def visit_For(self, node: nodes.For) -> nodes.Node:  # noqa: N802 - named by Jinja2
        self.generic_visit(node)
        if node.test is not None:
            node.test = nodes.And(_through(nodes.Const(PASS), _PASS), node.test, lineno=node.lineno)
        return _priced(node)

    def visit_Macro(self, node: nodes.Macro) -> nodes.Node:  # noqa: N802 - named by Jinja2
        self.generic_visit(node)
        return _priced(node)

    def visit_CallBlock(self, node: nodes.CallBlock) -> nodes.Node:  # noqa: N802 - named by Jinja2
        self.generic_visit(node)
        return _priced(node)

    def visit_Block(self, node: nodes.Block) -> nodes.Node:  # noqa: N802 - named by Jinja2
        self.generic_visit(node)
        return _priced(node)


def _priced(node: nodes.For | nodes.Macro | nodes.CallBlock | nodes.Block) -> nodes.Node:
    """Begin a body with the price of one pass: the pass itself, and the plain text in it."""
    price = PASS + sum(len(data.data) for data in node.find_all(nodes.TemplateData))
    node.body.insert(0, nodes.ExprStmt(_through(nodes.Const(price), _PASS), lineno=node.lineno))
    return node


def _through(node: nodes.Expr, name: str) -> nodes.Expr:
    if isinstance(node, nodes.Const) and name in {_COMPARE, _SEARCH}:
        return node
    return nodes.Filter(node, name, [], [], None, None, lineno=node.lineno)


def _is_constant(items: Sequence[nodes.Expr]) -> bool:
    return all(isinstance(each, nodes.Const) for each in items)


def _of(context: Context) -> Budget:
    budget = context.parent.get(BUDGET)
    if not isinstance(budget, Budget):
        raise BudgetExceededError
    return budget


@pass_context
def _written(context: Context, value: Any) -> Any:
    _of(context).weigh(value)
    return value


@pass_context
def _passed(context: Context, price: int) -> bool:
    _of(context).take(price)
    return True


@pass_context
def _joined(context: Context, values: list[Any]) -> str:
    _of(context).take_joined(values)
    return "".join(map(str, values))


@pass_context
def _held(context: Context, value: Any) -> Any:
    _of(context).take_held(value.values() if isinstance(value, dict) else value)
    return value


@pass_context
def _compared(context: Context, value: Any) -> Any:
    _of(context).compare(value)
    return value


@pass_context
def _searched(context: Context, value: Any) -> Any:
    if not isinstance(value, Mapping):  # a key is found at once
        _of(context).compare(value)
    return value


@pass_context
def _sliced(context: Context, value: Any) -> Any:
    _of(context).take(1 + length(value) // PASS)
    return value


def _whole(value: Any) -> Any:
    """What comes item by item as a list, so that its length is known."""
    return list(value) if isinstance(value, Iterator) and not isinstance(value, LoopContext) else value


def _counted_filter(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    @pass_context
    @functools.wraps(function, updated=())
    def counted(context: Context, value: Any, /, *args: Any, **named: Any) -> Any:
        value = _whole(value)
        _of(context).take_call(name, (value, *args), named)
        return function(*_wanted(function, context), value, *args, **named)

    return counted


def _counted_test(function: Any) -> Callable[..., Any]:
    @pass_context
    @functools.wraps(function, updated=())
    def counted(context: Context, *args: Any) -> Any:
        if len(args) > 1:
            _of(context).compare(args)
        return function(*_wanted(function, context), *args)

    return counted


def _wanted(function: Callable[..., Any], context: Context) -> tuple[Any, ...]:
    """What a function of Jinja's wants before its arguments."""
    match getattr(getattr(function, "jinja_pass_arg", None), "name", ""):
        case "context":
            return (context,)
        case "eval_context":
            return (context.eval_ctx,)
        case "environment":
            return (context.environment,)
        case _:
            return ()
