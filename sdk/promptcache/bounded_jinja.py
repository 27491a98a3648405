"""A Jinja2 sandbox whose work is bounded: for templates that come from files nobody has vouched for.

Nothing large is computed while a template is compiled, and each rendering has a `Budget`: steps of loops
and macros, characters written and joined, the size of what `*`, `**`, `%`, filters and calls make. What runs
out of it raises `BoundExceededError`. One thing stays outside its reach: the comparison of deeply shared
lists; who renders a stranger's template does so in a process of its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING, Any, Final

from jinja2 import nodes, pass_context
from jinja2.exceptions import TemplateRuntimeError
from jinja2.runtime import LoopContext
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.utils import Namespace
from jinja2.visitor import NodeTransformer

if TYPE_CHECKING:
    from collections.abc import Callable

    from jinja2.runtime import Context

__all__ = ["BOUND", "BoundExceededError", "BoundedEnvironment", "Budget", "with_budget"]

BOUND: Final = 2_000_000
"""Units a rendering may use: about as many steps, characters or items. A real one takes a few thousand
and what its messages are long, a few times over."""
_TIMES: Final = 100
"""A template may handle what its caller gave it so many times over."""
_STEP: Final = 10
"""Units that one pass through a body takes, whatever it does."""
_BUDGET: Final = "the budget"
"""The variable that holds a rendering's budget: no template can write this name."""
_PASSES: Final = "_passes"
_JOINED: Final = "_joined"
_LONGEST_NUMBER: Final = 4096
"""Bits of the largest whole number that an operator may make."""
_NUMBERS: Final = re.compile(r"\d+")
_PADS: Final = frozenset({"center", "ljust", "rjust", "zfill", "expandtabs", "to_bytes", "indent"})
"""Functions that add to each line as much as a number, or a text, among their arguments says."""
_SPREADS: Final = frozenset({"replace", "join", "tojson", "pprint", "batch", "slice", "wordwrap"})
"""Functions that put an argument, or as many signs as it says, between the items of their value."""
_WRITING: Final = frozenset(
    {
        *("string", "tojson", "pprint", "join", "format", "format_map", "replace", "escape", "e"),
        *("forceescape", "upper", "lower", "capitalize", "title", "trim", "striptags", "urlencode", "urlize"),
        *("wordcount", "wordwrap", "xmlattr", "truncate", "indent", "center", "sort", "unique", "sum"),
        *("index", "count"),
    }
)
"""Functions that go through all that their arguments hold."""


_GOES_THROUGH: Final = frozenset({"join", "sort", "unique", "sum", "batch", "slice"})
"""Functions that take the last item, too, of what comes item by item."""


class BoundExceededError(TemplateRuntimeError):
    """A template that asks for more than its budget: it computes without end, or something huge."""

    def __init__(self) -> None:
        super().__init__("it takes more steps or memory than any prompt needs")


class Budget:
    """What one rendering may still use, in units."""

    def __init__(self, units: int = BOUND) -> None:
        self._left = units

    def take(self, units: int) -> None:
        """Use ``units``. Raises `BoundExceededError` where that many are not left."""
        self._left -= units
        if self._left < 0:
            raise BoundExceededError

    def take_value(self, value: Any) -> int:
        """Use, and return, what writing ``value`` takes, with all it holds, each as often as it is held."""
        before, waiting = self._left, [value]
        while waiting:
            held = waiting.pop()
            if isinstance(held, str | bytes | bytearray):
                self.take(1 + len(held))
            elif isinstance(held, Mapping):
                self.take(1 + 2 * len(held))
                waiting += [*held.keys(), *held.values()]
            elif isinstance(held, range):
                self.take(1 + len(held))
            elif isinstance(held, Sequence | AbstractSet):
                self.take(1 + len(held))
                waiting += held
            elif isinstance(held, int):
                self.take(1 + held.bit_length() // 3)
            else:
                self.take(1)
                if isinstance(held, Namespace):  # written, it shows all it holds
                    waiting.append(held._Namespace__attrs)  # noqa: SLF001 - nothing else tells
        return before - self._left


class _Measure(Budget):
    """Counts what is used, without an end."""

    used = 0

    def take(self, units: int) -> None:
        self.used += units


class BoundedEnvironment(ImmutableSandboxedEnvironment):
    """The sandbox of model servers, with a budget for each rendering; `with_budget` gives it one."""

    intercepted_binops: frozenset[str] = frozenset({"*", "**", "%", "+"})

    def __init__(self, **options: Any) -> None:
        super().__init__(**options, optimized=False, finalize=_written)
        self.filters = {name: _counted(name, function) for name, function in self.filters.items()}
        self.tests = {name: _counted(name, function) for name, function in self.tests.items()}
        self.filters.update({_PASSES: _pass, _JOINED: _join})

    def add_filter(self, name: str, function: Callable[..., Any]) -> None:
        """Add a filter, counted as the others are."""
        self.filters[name] = _counted(name, function)

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        """Apply an operator once its result is known to be affordable."""
        budget = _of(context)
        if operator == "**":
            _refuse_long(_bits(left) * (abs(right) if isinstance(right, int) else 1))
        elif operator == "*":
            _take_product(budget, left, right)
        elif operator == "%" and isinstance(left, str | bytes):
            _take_format(budget, left, right)
        elif operator == "+" and not isinstance(left, int | float):
            budget.take(_length(left) + _length(right))
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
            _take_call(budget, name, (owner, *args), kwargs)
        elif name == "generate_lorem_ipsum":
            _take_call(budget, "lipsum", args, kwargs)
        return super().call(__context, __obj, *args, **kwargs)

    def _parse(self, source: str, name: str | None, filename: str | None) -> nodes.Template:
        tree: nodes.Template = _Counting().visit(super()._parse(source, name, filename))
        tree.set_environment(self)
        return tree


def with_budget(variables: Mapping[str, Any], units: int = BOUND) -> dict[str, Any]:
    """Return ``variables`` to render a template with, and a budget: ``units`` and what they are long."""
    size = _Measure(0)
    size.take_value(dict(variables))
    return {**variables, _BUDGET: Budget(units + _TIMES * size.used)}


class _Counting(NodeTransformer):
    """Puts a step into every body that can run more than once, and `~` through a filter."""

    def visit_Concat(self, node: nodes.Concat) -> nodes.Node:  # noqa: N802 - named by Jinja2
        self.generic_visit(node)
        return _filter(nodes.List(list(node.nodes), lineno=node.lineno), _JOINED)

    def visit_For(self, node: nodes.For) -> nodes.Node:  # noqa: N802 - named by Jinja2
        self.generic_visit(node)
        if node.test is not None:
            node.test = nodes.And(_filter(nodes.Const(_STEP, lineno=node.lineno), _PASSES), node.test)
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
    price = _STEP + sum(len(data.data) for data in node.find_all(nodes.TemplateData))
    step = nodes.ExprStmt(_filter(nodes.Const(price, lineno=node.lineno), _PASSES), lineno=node.lineno)
    node.body.insert(0, step)
    return node  # type: ignore[no-any-return]


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
    _of(context).take(price)
    return True


@pass_context
def _join(context: Context, values: list[Any]) -> str:
    _of(context).take_value(values)
    return "".join(map(str, values))


def _counted(name: str, function: Any) -> Callable[..., Any]:
    """Return a filter or test that counts what it is given; it is never run while a template is compiled."""
    kind = getattr(getattr(function, "jinja_pass_arg", None), "name", "")

    @pass_context
    def counted(context: Context, *args: Any, **kwargs: Any) -> Any:
        args = _whole(name, args)
        _take_call(_of(context), name, args, kwargs)
        passed = {
            "context": (context,),
            "eval_context": (context.eval_ctx,),
            "environment": (context.environment,),
        }
        return function(*passed.get(kind, ()), *args, **kwargs)

    return counted


def _take_call(budget: Budget, name: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
    """Use what a filter, a test or a method named ``name`` may take: its own value comes first."""
    given = (*args, *kwargs.values())
    if name in _WRITING:
        budget.take_value(given)
    budget.take(1 + sum(map(_length, given)))
    value, others = (given[0], given[1:]) if given else (None, ())
    numbers = sum(abs(other) for other in others if isinstance(other, int))
    texts = sum(map(_length, others))
    if name in _PADS:
        rows = 1 + (value.count("\n") + value.count("\t") if isinstance(value, str) else 0)
        budget.take(rows * (numbers + texts))
    elif name == "lipsum":
        budget.take(1000 * sum(abs(number) for number in given if isinstance(number, int)))
    elif name in {"format", "format_map"}:
        _take_format(budget, value, others)
    elif name == "round":
        _refuse_long(4 * numbers)  # a power of ten
    elif name == "translate":
        mapping = others[0] if others else None
        widest = max(map(_length, mapping.values()), default=0) if isinstance(mapping, Mapping) else 0
        budget.take(_length(value) * (1 + widest))
    elif name in _SPREADS:
        budget.take((1 + _length(value)) * (numbers + max(texts, _length(value) if name == "join" else 0)))


def _take_product(budget: Budget, left: Any, right: Any) -> None:
    if isinstance(left, int | float) and isinstance(right, int | float):
        _refuse_long(_bits(left) + _bits(right))
    for size, times in ((_length(left), right), (_length(right), left)):
        if isinstance(times, int):
            budget.take(size * max(times, 0))


def _take_format(budget: Budget, pattern: Any, values: Any) -> None:
    """Each field of a format makes what it is given, as wide as a number in it, or among the values, says."""
    size = budget.take_value((pattern, values))
    if isinstance(pattern, str | bytes):
        text = pattern if isinstance(pattern, str) else pattern.decode("latin-1")
        budget.take(max(0, text.count("%") + text.count("{") - 1) * (size - len(text)))
        budget.take(sum(int(number[:12]) for number in _NUMBERS.findall(text)))
        given = values if isinstance(values, tuple) else (values,)
        wide = "*" in text or "{" in text
        budget.take(sum(abs(value) for value in given if wide and isinstance(value, int)))


def _whole(name: str, args: tuple[Any, ...]) -> tuple[Any, ...]:
    """What comes item by item as a list, so that its length is known, where all of it will be asked for."""
    if name not in _GOES_THROUGH:
        return args
    return tuple(
        list(each) if isinstance(each, Iterator) and not isinstance(each, LoopContext) else each
        for each in args
    )


def _refuse_long(bits: int) -> None:
    if bits > _LONGEST_NUMBER:
        raise BoundExceededError


def _bits(value: Any) -> int:
    return value.bit_length() if isinstance(value, int) else 1


def _length(value: Any) -> int:
    return len(value) if isinstance(value, str | bytes | list | tuple | dict | range) else 0
