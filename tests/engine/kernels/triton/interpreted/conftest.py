"""These tests run in a process of their own, in which Triton interprets kernels: see
``test_in_interpreter``."""

import os
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

INTERPRETED = os.environ.get("TRITON_INTERPRET") == "1"

collect_ignore_glob = [] if INTERPRETED else ["test_*.py"]


@pytest.fixture
def short_splits(monkeypatch: pytest.MonkeyPatch) -> int:
    """Splits of 32 keys, so that short contexts have several."""
    from promptcache_engine.kernels.triton import tiles

    monkeypatch.setattr(tiles, "SPLIT", 32)
    return 32


@pytest.fixture(scope="module")
def even_products() -> Iterator[None]:
    """Matrix products whose rows do not depend on their place, as a GPU's do; NumPy's BLAS has other ones."""
    from triton.runtime import interpreter

    handle: Any = interpreter.TensorHandle

    def create_dot(self: Any, a: Any, b: Any, d: Any, *_: Any) -> Any:
        wide = a.data.astype(np.float32)[:, :, None] * b.data.astype(np.float32)[None]
        return handle(wide.sum(1, dtype=np.float32) + d.data, d.dtype.scalar)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(interpreter.InterpreterBuilder, "create_dot", create_dot)
        yield
