"""These tests run in a process of their own, in which Triton interprets kernels: see
``test_attention_backend``."""

import os

from tests.engine.kernels.triton.interpreted.conftest import even_products, mended_index

__all__ = ["even_products", "mended_index"]

collect_ignore_glob = [] if os.environ.get("TRITON_INTERPRET") == "1" else ["test_*.py"]
