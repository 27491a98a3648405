"""Holds what was met last, and no more of it than fits: logs are larger than memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections import OrderedDict

Key = TypeVar("Key")
Value = TypeVar("Value")


def keep(held: OrderedDict[Key, Value], key: Key, value: Value, most: int) -> None:
    """Hold a value as the newest; where they are more than ``most`` then, the oldest is let go of."""
    held[key] = value
    held.move_to_end(key)
    if len(held) > most:
        held.popitem(last=False)
