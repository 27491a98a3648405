"""The key-value part of a GGUF file, read by type: a missing or ill-typed key is an error that names it."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from promptcache_engine.models.errors import ModelFileError

LARGEST_SIZE = 2**40
"""More than any size of a model, and far from what 64 bits hold."""
_SHOWN = 40


class Metadata(Mapping[str, Any]):
    """Keys and values of one file. Arrays of numbers are numpy arrays, other arrays are lists."""

    def __init__(self, path: str, values: Mapping[str, Any]) -> None:
        self._path = path
        self._values = dict(values)

    def __getitem__(self, key: str) -> Any:
        return self._values[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def integer(self, key: str, default: int | None = None) -> int:
        """Return a whole number; ``default`` where the key is missing and a default is given."""
        value = self._lookup(key, default)
        if isinstance(value, bool) or not isinstance(value, int):
            raise self._wrong(key, "a whole number", value)
        return value

    def size(self, key: str, default: int | None = None, *, least: int = 1, most: int = LARGEST_SIZE) -> int:
        """Return a whole number from ``least`` to ``most``, both included.

        What is computed, or made, from a file's own sizes before its tensors are seen stays small that way.
        """
        value = self.integer(key, default)
        if not least <= value <= most:
            raise self._wrong(key, f"at least {least}" if value < least else f"at most {most}", value)
        return value

    def number(self, key: str, default: float | None = None) -> float:
        """Return a number as a float."""
        value = self._lookup(key, default)
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise self._wrong(key, "a number", value)
        try:
            return float(value)
        except OverflowError:
            raise self._wrong(key, "a number that a float can hold", value) from None

    def flag(self, key: str, default: bool | None = None) -> bool:  # noqa: FBT001 - a default, as its siblings have
        """Return true or false."""
        value = self._lookup(key, default)
        if not isinstance(value, bool):
            raise self._wrong(key, "true or false", value)
        return value

    def text(self, key: str, default: str | None = None) -> str:
        """Return a string."""
        value = self._lookup(key, default)
        if not isinstance(value, str):
            raise self._wrong(key, "a string", value)
        return value

    def texts(self, key: str) -> list[str]:
        """Return an array of strings."""
        value = self._lookup(key, None)
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise self._wrong(key, "an array of strings", value)
        return value

    def numbers(self, key: str) -> np.ndarray[Any, np.dtype[Any]]:
        """Return an array of numbers."""
        value = self._lookup(key, None)
        if not isinstance(value, np.ndarray):
            raise self._wrong(key, "an array of numbers", value)
        return value

    def _lookup(self, key: str, default: Any) -> Any:
        value = self._values.get(key, default)
        if value is None:
            raise ModelFileError(self._path, "a metadata key is missing", where=f"key {key}")
        return value

    def _wrong(self, key: str, expected: str, value: object) -> ModelFileError:
        shown = repr(value) if isinstance(value, (int, float, bool)) else f"a {type(value).__name__}"
        shown = shown if len(shown) <= _SHOWN else f"a number of {len(shown)} characters"
        return ModelFileError(self._path, f"expected {expected}, found {shown}", where=f"key {key}")
