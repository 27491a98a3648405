"""A Jinja2 sandbox whose work is bounded: for templates that come from files nobody has vouched for.

Nothing large is computed while a template is compiled, and each rendering has a `Budget`: steps of loops
and macros, characters written and joined, the size of what `*`, `**`, `%`, filters and calls make; what each
of them costs is in `template_costs`. What runs out of it raises `BoundExceededError`. One thing stays outside
its reach: the comparison of deeply shared lists; who renders a stranger's template does so in a process of
its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from jinja2 import nodes, pass_context
from jinja2.runtime import LoopContext
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.visitor import NodeTransformer

from promptcache.template_costs import (
    BOUND,
    SEARCHED,
    STEP,
    BoundExceededError,
    Budget,
    budget_of,
    length,
    take_call,
    take_held,
    take_joined,
    take_operator,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from jinja2.runtime import Context

__all__ = ["BOUND", "BoundExceededError", "BoundedEnvironment", "Budget", "with_budget"]

_BUDGET: Final = "the budget"
"""The variable that holds a rendering's budget: no template can write this name."""
_PASSES: Final = "_passes"
_JOINED: Final = "_joined"
_HELD: Final = "_held"
_COMPARED: Final = "_compared"
_GOES_THROUGH: Final = frozenset({"join", "sort", "unique", "sum", "batch", "slice"})
"""Functions that take the last item, too, of what comes item by item."""


class BoundedEnvironment(ImmutableSandboxedEnvironment):
    """The sandbox of model servers, with a budget for each rendering; `with_budget` gives it one."""

    intercepted_binops: frozenset[str] = frozenset({"*", "**", "%", "+"})

    def __init__(self, **options: Any) -> None:
        super().__init__(**options, optimized=False, finalize=_written)
        self.filters = {name: _counted(name, function) for name, function in self.filters.items()}
        self.tests = {name: _counted(name, function) for name, function in self.tests.items()}
        self.filters.update({_PASSES: _pass, _JOINED: _join, _HELD: _hold, _COMPARED: _compare})

    def add_filter(self, name: str, function: Callable[..., Any]) -> None:
        """Add a filter, counted as the others are."""
        self.filters[name] = _counted(name, function)

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        """Apply an operator once its result is known to be affordable."""
        take_operator(_of(context), operator, left, right)
        return super().call_binop(context, operator, left, right)

    def call(__self, __context: Context, __obj: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: N805, PYI063 - as Jinja2 does
        """Call what a template calls; what goes in and comes out is counted."""
        budget = _of(__context)
        owner = getattr(
            getattr(__obj, "__wrapped__", __obj), "__self__", None
        )  # the sandbox wraps str.format
        name = getattr(__obj, "__name__", "")
        if isinstance(owner, str | bytes | list | tuple | int | Mapping):
            args = _whole(name, args)
            take_call(budget, name, (owner, *args), kwargs)
        elif name == "generate_lorem_ipsum":
            take_call(budget, "lipsum", args, kwargs)
        else:
            take_held(budget, (*args, *kwargs.values()))
        return super().call(__context, __obj, *args, **kwargs)

    def _parse(self, source: str, name: str | None, filename: str | None) -> nodes.Template:
        tree: nodes.Template = _Counting().visit(super()._parse(source, name, filename))
        tree.set_environment(self)
        return tree


def with_budget(variables: Mapping[str, Any], units: int = BOUND) -> dict[str, Any]:
    """Return ``variables`` to render a template with, and a budget: ``units`` and what they are long."""
    return {**variables, _BUDGET: budget_of(variables, units)}


class _Counting(NodeTransformer):
    """Puts a step into every body that can run more than once, and `~` through a filter."""

    def visit_Concat(self, node: nodes.Concat) -> nodes.Node:  # noqa: N802 - named by Jinja2
        self.generic_visit(node)
        return _filter(nodes.List(list(node.nodes), lineno=node.lineno), _JOINED)

    def visit_List(self, node: nodes.List) -> nodes.Node:  # noqa: N802 - named by Jinja2
        self.generic_visit(node)
        return node if _is_constant(node.items) else _filter(node, _HELD)

    def visit_Tuple(self, node: nodes.Tuple) -> nodes.Node:  # noqa: N802 - named by Jinja2
        self.generic_visit(node)
        return node if node.ctx != "load" or _is_constant(node.items) else _filter(node, _HELD)

    def visit_Dict(self, node: nodes.Dict) -> nodes.Node:  # noqa: N802 - named by Jinja2
        self.generic_visit(node)
        return node if _is_constant([each.value for each in node.items]) else _filter(node, _HELD)

    def visit_Compare(self, node: nodes.Compare) -> nodes.Node:  # noqa: N802 - named by Jinja2
        self.generic_visit(node)
        for side in node.ops:
            if not isinstance(side.expr, nodes.Const):
                side.expr = _filter(side.expr, _COMPARED)
        return node

    def visit_For(self, node: nodes.For) -> nodes.Node:  # noqa: N802 - named by Jinja2
        self.generic_visit(node)
        if node.test is not None:
            node.test = nodes.And(_filter(nodes.Const(STEP, lineno=node.lineno), _PASSES), node.test)
        return _stepping(node)

    def visit_Macro(self, node: nodes.Macro) -> nodes.Node:  # noqa: N802 - named by Jinja2
        self.generic_visit(node)
        return _stepping(node)

    def visit_CallBlock(self, node: nodes.CallBlock) -> nodes.Node:  # noqa: N802 - named by Jinja2
        self.generic_visit(node)
        return _stepping(node)

    def visit_Block(self, node: nodes.Block) -> nodes.Node:  # noqa: N802 - named by Jinja2
        self.generic_visit(node)
        return _stepping(node)


def _stepping(node: Any) -> nodes.Node:
    """Begin a body with the price of one pass: a step, and the plain text in it."""
    price = STEP + sum(len(data.data) for data in node.find_all(nodes.TemplateData))
    step = nodes.ExprStmt(_filter(nodes.Const(price, lineno=node.lineno), _PASSES), lineno=node.lineno)
    node.body.insert(0, step)
    return node  # type: ignore[no-any-return]


def _is_constant(items: Sequence[nodes.Expr]) -> bool:
    return all(isinstance(each, nodes.Const) for each in items)


def _filter(node: nodes.Expr, name: str) -> nodes.Filter:
    return nodes.Filter(node, name, [], [], None, None, lineno=node.lineno)


def _of(context: Context) -> Budget:
    budget = context.parent.get(_BUDGET)
    if not isinstance(budget, Budget):
        raise BoundExceededError
    return budget


@pass_context
def _written(context: Context, value: Any) -> Any:
    _of(context).take_value(value)
    return value


@pass_context
def _pass(context: Context, price: int) -> bool:
    _of(context).step(price)
    return True


@pass_context
def _join(context: Context, values: list[Any]) -> str:
    take_joined(_of(context), values)
    return "".join(map(str, values))


@pass_context
def _hold(context: Context, value: Any) -> Any:
    take_held(_of(context), value.values() if isinstance(value, dict) else value)
    return value


@pass_context
def _compare(context: Context, value: Any) -> Any:
    """The right side of a comparison: what is searched, or compared at most."""
    _of(context).take(1 + (0 if isinstance(value, Mapping) else length(value) // SEARCHED))
    return value


def _counted(name: str, function: Any) -> Callable[..., Any]:
    """Return a filter or test that counts what it is given; it is never run while a template is compiled."""
    kind = getattr(getattr(function, "jinja_pass_arg", None), "name", "")

    @pass_context
    def counted(context: Context, *args: Any, **kwargs: Any) -> Any:
        args = _whole(name, args)
        take_call(_of(context), name, args, kwargs)
        passed = {
            "context": (context,),
            "eval_context": (context.eval_ctx,),
            "environment": (context.environment,),
        }
        return function(*passed.get(kind, ()), *args, **kwargs)

    return counted


def _whole(name: str, args: tuple[Any, ...]) -> tuple[Any, ...]:
    """What comes item by item as a list, so that its length is known, where all of it will be asked for."""
    if name not in _GOES_THROUGH:
        return args
    return tuple(
        list(each) if isinstance(each, Iterator) and not isinstance(each, LoopContext) else each
        for each in args
    )
