"""The examples in docstrings are true."""

from __future__ import annotations

import doctest
from importlib import import_module

import pytest

MODULES = (
    "batches",
    "cache_keys",
    "canonical",
    "detectors.clock",
    "detectors.identity",
    "numerals",
    "quick_values",
    "template",
)


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings(name: str) -> None:
    result = doctest.testmod(import_module(f"promptcache.{name}"))
    assert result.attempted
    assert not result.failed
