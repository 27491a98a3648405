"""Values made by the hundred thousand: dataclasses that only the type checker keeps from being changed.

A frozen dataclass is made through ``object.__setattr__``, field by field, at five times the cost of a plain
one.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeVar, dataclass_transform

__all__ = ["quick_value"]

_Kind = TypeVar("_Kind")


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def quick_value(cls: type[_Kind]) -> type[_Kind]:
    """Make a dataclass with slots that compares and hashes by its fields; nobody may set them."""
    return dataclass(slots=True, unsafe_hash=True)(cls)
