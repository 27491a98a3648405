"""What a rendering of a template that nobody has vouched for costs, and what it may cost.

Costs are told from an operation's arguments before it is done. Where they are asked for is the business of
`bounded_jinja`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from collections.abc import Set as AbstractSet
from sys import getsizeof
from typing import TYPE_CHECKING, Any, Final

from jinja2.exceptions import TemplateRuntimeError
from jinja2.utils import Namespace

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = [
    "BOUND",
    "SEARCHED",
    "STEP",
    "BoundExceededError",
    "Budget",
    "budget_of",
    "length",
    "take_call",
    "take_held",
    "take_joined",
    "take_operator",
]

BOUND: Final = 2_000_000
"""Units a rendering may use: about as many steps, characters or items. A real one takes a few thousand
and what its messages are long, a few times over."""
_TIMES: Final = 100
"""A template may handle what its caller gave it so many times over."""
STEP: Final = 10
"""Units that one pass through a body takes, whatever it does."""
_PASSES: Final = 200_000
"""Passes through bodies in any rendering: a second or two of them."""
_PASSES_EACH: Final = 20
"""Passes for each value, and each name, that is given."""
_ITEM: Final = 4
"""Units of an item of a list that is gone through."""
SEARCHED: Final = 64
"""Characters or items that are compared or searched for the price of a character that is made."""
COPIED: Final = 64
"""Bytes of a text that is copied for the price of a character that is made."""
_LONGEST_NUMBER: Final = 4096
"""Bits of the largest whole number that an operator may make."""
_NUMBERS: Final = re.compile(r"\d+")
_PADS: Final = frozenset({"center", "ljust", "rjust", "zfill", "expandtabs", "to_bytes", "indent"})
"""Functions that add to each line as much as a number, or a text, among their arguments says."""
_SPREADS: Final = frozenset({"tojson", "pprint", "batch", "slice", "wordwrap"})
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
_AT_ONCE: Final = frozenset({"attr", "count", "d", "default", "first", "last", "length"})
"""Filters that take as long for a long text as for a short one."""
_ENDS: Final = frozenset({"endswith", "startswith"})
"""Methods that look at a text only as far as their arguments are long."""
_CUTS: Final = frozenset({"lstrip", "removeprefix", "removesuffix", "rstrip", "strip", "trim"})
"""What copies a text but for its ends."""


class BoundExceededError(TemplateRuntimeError):
    """A template that asks for more than its budget: it computes without end, or something huge."""

    def __init__(self) -> None:
        super().__init__("it takes more steps or memory than any prompt needs")


class Budget:
    """What one rendering may still use.

    Args:
        units: about as many steps, characters or items.
        passes: through the bodies of loops, macros and blocks, which take microseconds each.
    """

    def __init__(self, units: int = BOUND, passes: int = _PASSES) -> None:
        self._left = units
        self._passes = passes

    def take(self, units: int) -> None:
        """Use ``units``. Raises `BoundExceededError` where that many are not left."""
        self._left -= units
        if self._left < 0:
            raise BoundExceededError

    def step(self, price: int) -> None:
        """Begin a pass through a body, which takes ``price`` units. Raises `BoundExceededError`."""
        self._passes -= 1
        self.take(price if self._passes >= 0 else self._left + 1)

    def take_value(self, value: Any) -> int:
        """Use, and return, what writing ``value`` takes, with all it holds, each as often as it is held."""
        before, waiting = self._left, [value]
        while waiting:
            held = waiting.pop()
            if isinstance(held, str | bytes | bytearray):
                self.take(1 + len(held))
            elif isinstance(held, Mapping):
                self.take(1 + 2 * _ITEM * len(held))
                waiting += [*held.keys(), *held.values()]
            elif isinstance(held, range):
                self.take(1 + len(held))
            elif isinstance(held, Sequence | AbstractSet):
                self.take(1 + _ITEM * len(held))
                waiting += held
            elif isinstance(held, int):
                self.take(1 + held.bit_length() // 3)
            else:
                self.take(1)
                if isinstance(held, Namespace):  # written, it shows all it holds
                    waiting.append(held._Namespace__attrs)  # noqa: SLF001 - nothing else tells
        return before - self._left


class _Measure(Budget):
    """Counts what is used, and how often, without an end."""

    used = 0
    times = 0

    def take(self, units: int) -> None:
        self.used += units
        self.times += 1


def budget_of(variables: Mapping[str, Any], units: int = BOUND) -> Budget:
    """A budget to render ``variables`` with: ``units``, and more for how much is given."""
    given = _Measure(0)
    given.take_value(dict(variables))
    return Budget(units + _TIMES * given.used, _PASSES + _PASSES_EACH * given.times)


def take_operator(budget: Budget, operator: str, left: Any, right: Any) -> None:
    """Use what `*`, `**`, `%` or `+` makes."""
    if operator == "**":
        _refuse_long(_bits(left) * (abs(right) if isinstance(right, int) else 1))
    elif operator == "*":
        _take_product(budget, left, right)
    elif operator == "%" and isinstance(left, str | bytes):
        _take_format(budget, left, right)
    elif operator == "+" and type(left) is str and type(right) is str:  # markup escapes the other side
        take_joined(budget, (left, right))
    elif operator == "+" and not isinstance(left, int | float):
        budget.take(length(left) + length(right))


def take_joined(budget: Budget, values: Sequence[Any]) -> None:
    """Use what putting values behind one another takes: the longest text is copied, the others are new.

    A text that grows by its own length is paid for as new, one that is added to is not: templates build
    their prompt in a variable, and a copy takes nanoseconds.
    """
    longest = max((each for each in values if isinstance(each, str)), key=len, default="")
    budget.take(1 + getsizeof(longest) // COPIED)
    is_met = False
    for each in values:
        if each is longest and not is_met:
            is_met = True
        else:
            budget.take_value(each)


def take_held(budget: Budget, values: Iterable[Any]) -> None:
    """Use what a list, a mapping or a call holds on to: copies are cheap to make and take memory."""
    budget.take(sum(map(length, values)))


def take_call(budget: Budget, name: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
    """Use what a filter, a test or a method named ``name`` may take: its own value comes first."""
    given = (*args, *kwargs.values())
    value, others = (given[0], given[1:]) if given else (None, ())
    if isinstance(value, str) and _take_glance(budget, name, value, others):
        return
    if name in _WRITING:
        budget.take_value(given)
    budget.take(1 + sum(map(length, given)))
    numbers = sum(abs(other) for other in others if isinstance(other, int))
    texts = sum(map(length, others))
    if name == "replace":
        _take_replaced(budget, args, kwargs)
    elif name == "join":
        _take_separators(budget, args, kwargs)
    elif name in _PADS:
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
        widest = max(map(length, mapping.values()), default=0) if isinstance(mapping, Mapping) else 0
        budget.take(length(value) * (1 + widest))
    elif name in _SPREADS:
        budget.take((1 + length(value)) * (numbers + texts))


def _take_glance(budget: Budget, name: str, value: str, others: Sequence[Any]) -> bool:
    """Use what looks at little of a text, or copies it but for its ends; False where it is neither."""
    if name in _AT_ONCE and not (name == "count" and others):  # a text's own count searches it
        budget.take(1)
    elif name in _ENDS:
        budget.take_value(others)
    elif name in _CUTS:
        budget.take(1 + getsizeof(value) // COPIED * (1 + sum(map(length, others))))
    else:
        return False
    return True


def _take_replaced(budget: Budget, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
    """Use what a text's replacements make, told from how often the old text is found."""
    value, old, new, count = _arguments(args, kwargs, "s", "old", "new", "count")
    if any(isinstance(each, bytes) or hasattr(each, "__html__") for each in (value, old, new)):
        # Escaped before it is searched, or searched by bytes: no more often than it fits.
        longer = 6 if hasattr(old, "__html__") or hasattr(new, "__html__") else 1
        budget.take((longer * length(value) // max(1, length(old)) + 1) * longer * length(new))
        return
    found = str(value).count(str(old))
    if isinstance(count, int) and count >= 0:
        found = min(found, count)
    budget.take(found * len(str(new)))


def _take_separators(budget: Budget, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
    """Use what stands between the items that a filter, or a separator's own method, joins."""
    first, second = _arguments(args, kwargs, "value", "d")
    for items, between in ((first, second), (second, first)):
        if isinstance(between, str | bytes) and isinstance(items, Collection) and items is not between:
            budget.take((1 + len(between)) * (1 + len(items)))


def _arguments(args: Sequence[Any], kwargs: Mapping[str, Any], *names: str) -> Iterator[Any]:
    """Arguments by their place or name; None where one is left out."""
    for at, name in enumerate(names):
        yield args[at] if at < len(args) else kwargs.get(name)


def _take_product(budget: Budget, left: Any, right: Any) -> None:
    if isinstance(left, int | float) and isinstance(right, int | float):
        _refuse_long(_bits(left) + _bits(right))
    for size, times in ((length(left), right), (length(right), left)):
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


def _refuse_long(bits: int) -> None:
    if bits > _LONGEST_NUMBER:
        raise BoundExceededError


def _bits(value: Any) -> int:
    return value.bit_length() if isinstance(value, int) else 1


def length(value: Any) -> int:
    """How long a text or list is; 0 for anything else."""
    return len(value) if isinstance(value, str | bytes | list | tuple | dict | range) else 0
