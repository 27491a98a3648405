"""What one rendering of a chat template may use: steps, characters and items, counted in units.

A template comes with a model's file, so nobody vouches for it: `{{ "x".center(10**9) }}`, a loop in a loop,
or a text doubled forty times would take the machine's time and memory. Here is what an operation may cost at
most, told from its arguments before it is done. Where these costs are asked for is ``template_sandbox``'s
business.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from sys import getsizeof
from typing import Any, Final

from jinja2 import TemplateRuntimeError
from jinja2.utils import Namespace

PASS: Final = 20
"""Units of one pass through a body of a loop, macro or block, whatever it does."""
_LEAST: Final = 4_000_000
"""Units of any rendering: a second or two of passes, or megabytes of text. A real one takes thousands."""
_ITEM: Final = 4
"""Units of an item of a list that is gone through."""
_TIMES: Final = 50
"""A template may handle what it is given so many times over."""
_AMONG: Final = 2 * PASS
"""Units for each pair of messages: some templates look for each at all that follow."""
_WIDEST_NUMBER: Final = 4096
"""Bits of the largest whole number that is made."""
_LISTED: Final = 16
"""Units of an item of a list that a text is cut into."""
_SEARCHED: Final = 64
"""Characters that are compared or searched for the price of one that is made."""
_COPIED: Final = 64
"""Bytes of a text that is kept and only gets longer, copied for the price of a character that is new.

Templates that build their prompt in a variable copy it with each ``+``; a copy is a few nanoseconds.
"""

_AT_ONCE: Final = frozenset({"attr", "count", "d", "default", "first", "last", "length"})
"""Filters that take as long for a long text as for a short one."""
_PASSED_ON: Final = _AT_ONCE | {
    *("batch", "items", "list", "map", "reject", "rejectattr", "reverse", "select", "selectattr", "slice")
}
"""Filters that look at their items' number, not at all they hold."""
_ENDS: Final = frozenset({"endswith", "startswith"})
"""What looks at a text only as far as its arguments are long."""
_CUTS: Final = frozenset({"lstrip", "removeprefix", "removesuffix", "rstrip", "strip", "trim"})
"""What copies a text but for its ends."""
_PADS: Final = frozenset({"batch", "center", "ljust", "rjust", "slice", "to_bytes", "zfill"})
"""What makes as much as a number among its arguments says."""
_EACH_LINE: Final = frozenset({"expandtabs", "indent"})
"""What adds to each line or tab as much as a number or a text among its arguments says."""
_WIDTHS: Final = re.compile(r"%(?:\([^)]*\))?([-+ #.\d]*)|\{([^{}]*)")
_NESTED: Final = re.compile(r"%[^a-zA-Z%]*\*|\{[^{}]+\{")
"""A pattern's field whose width is among the values."""


class BudgetExceededError(TemplateRuntimeError):
    """A template that asks for more than it may use: it computes without end, or makes something huge."""

    def __init__(self) -> None:
        super().__init__("it takes more steps or memory than any prompt needs")


class Budget:
    """What one rendering may still use.

    Args:
        units: how much.
    """

    def __init__(self, units: int) -> None:
        self._left = units

    @classmethod
    def for_names(cls, names: Mapping[str, Any]) -> "Budget":
        """A budget to render ``names`` with: a fixed part, and as much as they are long, many times over."""
        given, messages = _Meter(), names.get("messages")
        given.weigh(names)
        pairs = len(messages) ** 2 if isinstance(messages, Sequence) else 0
        return cls(_LEAST + _TIMES * given.used + _AMONG * pairs)

    def take(self, units: int) -> None:
        """Use ``units``; raise BudgetExceededError where that many are not left."""
        self._left -= units
        if self._left < 0:
            raise BudgetExceededError

    def weigh(self, value: Any, share: int = 1) -> int:
        """Use, and return, what writing ``value`` takes: all it holds, each as often as it is held.

        A text counts its characters divided by ``share``.
        """
        if type(value) is str:
            units = 1 + len(value) // share
            self.take(units)
            return units
        total, waiting = 0, [value]
        while waiting:
            held = waiting.pop()
            kind = type(held)
            if kind is str or isinstance(held, str | bytes | bytearray):
                units = 1 + len(held) // share
            elif kind is dict or isinstance(held, Mapping):
                units = 1 + 2 * _ITEM * len(held)
                waiting += held.keys()
                waiting += held.values()
            elif kind is list or (isinstance(held, Collection) and kind is not range):
                units = 1 + _ITEM * len(held)
                waiting += held
            elif isinstance(held, Namespace):
                units = 1
                waiting.append(held._Namespace__attrs)  # noqa: SLF001 - what it shows when written
            elif kind is range:
                units = 1 + len(held)
            else:
                units = 1 + (held.bit_length() // 3 if isinstance(held, int) else 0)
            self.take(units)
            total += units
        return total

    def compare(self, value: Any) -> None:
        """Use what comparing ``value`` takes."""
        self.weigh(value, _SEARCHED)

    def take_operator(self, operator: str, left: Any, right: Any) -> None:
        """Use what ``*``, ``**``, ``%`` or ``+`` makes: of a text and a longer one, the longer is copied."""
        if operator == "**":
            _refuse_wide(_bits(left) * (abs(right) if isinstance(right, int) else 1))
        elif operator == "*" and isinstance(left, int | float) and isinstance(right, int | float):
            _refuse_wide(_bits(left) + _bits(right))
        elif operator == "*":
            for copied, times in ((left, right), (right, left)):
                self.take(length(copied) * max(0, times) if isinstance(times, int) else 0)
        elif operator == "%" and isinstance(left, str | bytes):
            self._take_format(left, right)
        elif type(left) is str and type(right) is str:  # markup escapes what it is added to
            self.take_joined((left, right))
        else:
            self.take(length(left) + length(right))

    def take_joined(self, values: Sequence[Any]) -> None:
        """Use what putting values behind one another takes: the longest text is copied, the others are new.

        So a text that grows by its own length is paid for as new, and one that is added to is not.
        """
        longest = max((each for each in values if isinstance(each, str)), key=len, default=None)
        self.take(0 if longest is None else 1 + getsizeof(longest) // _COPIED)
        is_met = False
        for each in values:
            if each is longest and not is_met:
                is_met = True
            else:
                self.weigh(each)

    def take_held(self, values: Iterable[Any]) -> None:
        """Use what a list or mapping holds on to: copies that are cheap to make take memory all the same."""
        self.take(sum(map(length, values)))

    def take_call(self, name: str, args: Sequence[Any], named: Mapping[str, Any]) -> None:
        """Use what a filter or method may take; its own value comes first in ``args``."""
        value, others = (args[0] if args else None), [*args[1:], *named.values()]
        weight, more = self._take_given(name, value, others)
        numbers = sum(abs(each) for each in others if isinstance(each, int))
        texts = sum(len(each) for each in others if isinstance(each, str | bytes))
        if name in _PADS:
            self.take(numbers)
        elif name in _EACH_LINE:
            self.take(weight * (numbers + texts))
        elif name == "replace":
            self._take_replaced(args, named)
        elif name == "join":
            self._take_separators(args, named)
        elif name in {"format", "format_map"}:
            self._take_format(value, others)
        elif name == "tojson":
            self.take(weight * more)
            if numbers + texts:
                self.take((numbers + texts) * _depths(value))
        elif name in {"sum", "translate", "wordwrap"}:
            self.take(weight * more)
        elif name == "round":
            _refuse_wide(4 * numbers)  # a power of ten

    def _take_given(self, name: str, value: Any, others: Sequence[Any]) -> tuple[int, int]:
        """Use what a filter or method looks at; return what its value and its arguments weigh."""
        if name in _PASSED_ON and not (name == "count" and others):  # a text's own count searches it
            is_text = name in _AT_ONCE and isinstance(value, str)
            self.take(1 if is_text else 1 + sum(map(length, (value, *others))))
        elif name in _ENDS:
            return 1, self.weigh(others, _SEARCHED)
        elif name in _CUTS and isinstance(value, str):
            self.take(1 + getsizeof(value) // _COPIED * (1 + sum(map(length, others))))
            return 1, self.weigh(others)
        else:
            return self.weigh(value), self.weigh(others)
        return 1, 1

    def _take_replaced(self, args: Sequence[Any], named: Mapping[str, Any]) -> None:
        """Use what a text's replacements make, told from how often the old text is found."""
        value, old, new, count = _arguments(args, named, "s", "old", "new", "count")
        if any(
            isinstance(each, bytes | bytearray) or hasattr(each, "__html__") for each in (value, old, new)
        ):
            # Escaped before it is searched, or searched by bytes: no more often than it fits.
            longer = 6 if hasattr(old, "__html__") or hasattr(new, "__html__") else 1
            found = longer * length(value) // max(1, length(old)) + 1
            self.take(found * longer * length(new))
            return
        found = str(value).count(str(old))
        if isinstance(count, int) and count >= 0:
            found = min(found, count)
        self.take(found * len(str(new)))

    def _take_separators(self, args: Sequence[Any], named: Mapping[str, Any]) -> None:
        """Use what stands between the items that a filter, or a separator's own method, joins."""
        first, second = _arguments(args, named, "value", "d")
        for items, between in ((first, second), (second, first)):
            if isinstance(between, str | bytes) and isinstance(items, Collection):
                self.take((1 + len(between)) * (1 + len(items)) if items is not between else 0)

    def take_result(self, value: Any) -> None:
        """Use what a text was cut into."""
        if isinstance(value, list):
            self.take(_LISTED * len(value))

    def _take_format(self, pattern: Any, values: Any) -> None:
        """Use what a pattern makes: each field as much as all the values, and as wide as it says."""
        text = pattern.decode("latin-1") if isinstance(pattern, bytes) else str(pattern)
        fields = text.count("%") + text.count("{")
        self.take(len(text) + fields * self.weigh(values))
        widths = (number for found in _WIDTHS.findall(text) for part in found for number in _numbers(part))
        self.take(sum(widths))
        if _NESTED.search(text):
            self.take(fields * sum(abs(each) for each in _leaves(values) if isinstance(each, int)))


class _Meter(Budget):
    """Counts what is used, without an end."""

    def __init__(self) -> None:
        super().__init__(0)
        self.used = 0

    def take(self, units: int) -> None:
        self.used += units


def _arguments(args: Sequence[Any], named: Mapping[str, Any], *names: str) -> Iterator[Any]:
    """Arguments by their place or name; None where one is left out."""
    for at, name in enumerate(names):
        yield args[at] if at < len(args) else named.get(name)


def length(value: Any) -> int:
    """How long a text or list is; 0 for anything else."""
    return len(value) if isinstance(value, str | bytes | list | tuple | dict | range) else 0


def _bits(value: Any) -> int:
    return value.bit_length() if isinstance(value, int) else 1


def _refuse_wide(bits: int) -> None:
    if bits > _WIDEST_NUMBER:
        raise BudgetExceededError


def _numbers(text: str) -> Iterator[int]:
    return (int(found[:12]) for found in re.findall(r"\d+", text))


def _leaves(values: Any) -> Iterator[Any]:
    """The values themselves, and those a list or mapping of them holds."""
    for each in values.values() if isinstance(values, Mapping) else _listed(values):
        yield from each.values() if isinstance(each, Mapping) else _listed(each)


def _listed(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list | tuple) else (value,)


def _depths(value: Any) -> int:
    """How deeply each item stands in lists and mappings, summed up; the caller has weighed them."""
    total, waiting = 0, [(value, 1)]
    while waiting:
        held, depth = waiting.pop()
        total += depth
        inner = held.values() if isinstance(held, Mapping) else held if isinstance(held, list | tuple) else ()
        waiting += [(each, depth + 1) for each in inner]
    return total
