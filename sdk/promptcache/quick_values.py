"""Frozen dataclasses that are made as fast as open ones.

A frozen dataclass sets each field through ``object.__setattr__``, which costs several times a plain
assignment; a value of thirty fields made for every request is felt. `quick` gives such a class a ``__new__``
in the place of its ``__init__``: the new object is one of an open class of the same layout while its fields
are assigned, and of its own frozen class from then on; one without slots is filled through its ``__dict__``.
Nothing else of the class changes: who has a value cannot change it.
"""

from __future__ import annotations

import inspect
from dataclasses import MISSING, Field, fields
from functools import cache
from operator import attrgetter
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

Value = TypeVar("Value")

_ABSENT: Any = object()


def quick(cls: type[Value]) -> type[Value]:
    """Have a ``@dataclass(frozen=True)`` made faster, with the same parameters.

    >>> from dataclasses import dataclass
    >>> @quick
    ... @dataclass(frozen=True, slots=True)
    ... class Point:
    ...     x: int
    ...     y: int = 0
    >>> Point(1)
    Point(x=1, y=0)
    >>> Point(1).x = 2
    Traceback (most recent call last):
    dataclasses.FrozenInstanceError: cannot assign to field 'x'

    Raises:
        TypeError: the class is none of these, has bases, or a ``__post_init__``.
    """
    options = getattr(cls, "__dataclass_params__", None)
    if options is None or not options.frozen or cls.__bases__ != (object,):
        raise TypeError(f"{cls.__name__} is no frozen dataclass without bases.")
    known: tuple[Field[Any], ...] = fields(cls)  # type: ignore[arg-type]
    if hasattr(cls, "__post_init__") or not all(field.init and not field.kw_only for field in known):
        raise TypeError(f"{cls.__name__} has fields that are not simply taken.")
    slots = vars(cls).get("__slots__")
    names: dict[str, Any] = {"_cls": cls, "_new": object.__new__, "_ABSENT": _ABSENT}
    if slots is not None:
        names["_open"] = type(f"_Open{cls.__name__}", (), {"__slots__": slots})
    exec(_source(known, names, slotted=slots is not None), names)  # noqa: S102 - of names that the class has been written with
    made: Any = names["__new__"]
    made.__qualname__ = f"{cls.__qualname__}.__new__"
    made.__module__ = cls.__module__
    signature = inspect.signature(cls)
    type.__delattr__(cls, "__init__")
    type.__setattr__(cls, "__new__", staticmethod(made))
    type.__setattr__(cls, "__reduce__", _reduced)
    type.__setattr__(cls, "__signature__", signature)
    return cls


def _reduced(value: Any) -> tuple[Any, tuple[Any, ...]]:
    """How a value is copied and pickled."""
    return type(value), tuple([getattr(value, field.name) for field in fields(value)])


def changed(value: Value, **others: Any) -> Value:
    """What `dataclasses.replace` makes of a `quick` value, several times as fast.

    >>> from dataclasses import dataclass
    >>> @quick
    ... @dataclass(frozen=True, slots=True)
    ... class Point:
    ...     x: int
    ...     y: int
    >>> changed(Point(1, 2), y=3)
    Point(x=1, y=3)

    Raises:
        TypeError: the value has no such field.
    """
    cls: Any = type(value)
    read, places = _layout(cls)
    values = list(read(value))
    for name, other in others.items():
        if name not in places:
            raise TypeError(f"{cls.__name__} has no field {name!r}.")
        values[places[name]] = other
    made: Value = cls(*values)
    return made


@cache
def _layout(cls: Any) -> tuple[Callable[[Any], tuple[Any, ...]], dict[str, int]]:
    """What reads all fields of a value, which has two or more, and their places."""
    names = [field.name for field in fields(cls)]
    return attrgetter(*names), {name: at for at, name in enumerate(names)}


def _source(known: tuple[Field[Any], ...], names: dict[str, Any], *, slotted: bool) -> str:
    """The text of ``__new__``; the defaults it names are put into ``names``."""
    parameters = ["cls"]
    lines = ["self = _new(_open)"] if slotted else ["self = _new(_cls)", "_fields = self.__dict__"]
    for field in known:
        name = field.name
        value = name
        if field.default_factory is not MISSING:
            names[f"_make_{name}"] = field.default_factory
            parameters.append(f"{name}=_ABSENT")
            value = f"_make_{name}() if {name} is _ABSENT else {name}"
        elif field.default is not MISSING:
            names[f"_default_{name}"] = field.default
            parameters.append(f"{name}=_default_{name}")
        else:
            parameters.append(name)
        lines.append(f"self.{name} = {value}" if slotted else f"_fields[{name!r}] = {value}")
    if slotted:
        lines.append("self.__class__ = _cls")
    lines.append("return self")
    body = "\n    ".join(lines)
    return f"def __new__({', '.join(parameters)}):\n    {body}\n"
