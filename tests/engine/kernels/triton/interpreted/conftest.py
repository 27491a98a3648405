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
    """Splits of 32 keys, of 48 of divided chunks: short contexts have several, which are merged in pairs."""
    from promptcache_engine.kernels.triton import tiles

    monkeypatch.setattr(tiles, "SPLIT", 32)
    monkeypatch.setattr(tiles, "CHUNK_SPLIT", 48)
    monkeypatch.setattr(tiles, "GATHERED", 2)
    return 32


@pytest.fixture(scope="session", autouse=True)
def mended_index() -> Iterator[None]:
    """Triton 3.6 makes integers of arrays with one value in a way that NumPy has refused since 2.4."""
    from triton import __version__
    from triton.runtime import interpreter

    if not __version__.startswith("3.6."):
        yield
        return
    plain = interpreter._patch_lang_tensor

    def mended(tensor: Any, scope: Any) -> None:
        plain(tensor, scope)
        scope.set_attr(tensor, "__index__", lambda self: int(self.handle.data.squeeze()))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(interpreter, "_patch_lang_tensor", mended)
        yield


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
