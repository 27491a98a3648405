"""Values that are made quickly are the same values."""

from __future__ import annotations

import copy
import inspect
import pickle
from dataclasses import FrozenInstanceError, asdict, dataclass, field, replace
from functools import cached_property

import pytest

from promptcache.quick_values import changed, quick


@dataclass(frozen=True, slots=True)
class Plain:
    a: int
    b: str = "b"
    c: list[int] = field(default_factory=list, compare=False)


@quick
@dataclass(frozen=True, slots=True)
class Quick:
    a: int
    b: str = "b"
    c: list[int] = field(default_factory=list, compare=False)


@quick
@dataclass(frozen=True)
class Open:
    a: int
    b: str = "b"

    @cached_property
    def both(self) -> str:
        return f"{self.a}{self.b}"


def test_they_are_made_shown_and_compared_alike() -> None:
    for arguments, named in (((1,), {}), ((1, "x"), {}), ((), {"a": 1, "c": [2]}), ((1,), {"b": "y"})):
        one, other = Plain(*arguments, **named), Quick(*arguments, **named)
        assert asdict(one) == asdict(other)
        assert repr(one).replace("Plain", "Quick") == repr(other)
        assert type(other) is Quick
        assert other == Quick(*arguments, **named)
        assert hash(other) == hash(Quick(*arguments, **named))
    assert Quick(1).c is not Quick(1).c
    assert inspect.signature(Quick) == inspect.signature(Plain)
    assert replace(Quick(1), b="z") == Quick(1, "z")
    assert pickle.loads(pickle.dumps(Quick(1, "p"))) == Quick(1, "p") == copy.deepcopy(Quick(1, "p"))


def test_they_cannot_be_changed() -> None:
    for value in (Quick(1), Open(1)):
        with pytest.raises(FrozenInstanceError):
            value.a = 2  # type: ignore[misc]
        with pytest.raises(FrozenInstanceError):
            del value.b
    assert Open(1).both == "1b"


@pytest.mark.parametrize("arguments", [(), (1, 2, 3, 4), (1,)])
def test_wrong_arguments_are_refused(arguments: tuple[int, ...]) -> None:
    with pytest.raises(TypeError, match=r"Quick\.__new__"):
        Quick(*arguments, unknown=1)  # type: ignore[call-arg]


def test_other_classes_are_refused() -> None:
    @dataclass(slots=True)
    class Mutable:
        a: int

    @dataclass(frozen=True, slots=True)
    class Checked:
        a: int

        def __post_init__(self) -> None:
            assert self.a

    @dataclass(frozen=True)
    class Derived(Open):
        c: int = 0

    for other in (int, Mutable, Checked, Derived):
        with pytest.raises(TypeError):
            quick(other)


@pytest.mark.parametrize("fields", [{}, {"a": 7}, {"b": "c", "c": [1]}, {"c": None}])
def test_what_is_changed_is_what_the_standard_library_replaces(fields: dict[str, object]) -> None:
    value = Quick(1, "x", [2])
    assert asdict(changed(value, **fields)) == asdict(replace(value, **fields))
    assert type(changed(value, **fields)) is Quick
    assert (value.a, value.b, value.c) == (1, "x", [2])


def test_a_field_that_a_value_has_not_is_named() -> None:
    with pytest.raises(TypeError, match="Quick has no field 'd'"):
        changed(Quick(1), d=2)
