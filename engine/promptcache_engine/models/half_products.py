"""A model's matrices in 16 bits for torch alone: what decoding waits for is reading weights from memory.

Rows stay float32 and so do sums; only weights are rounded to float16, once, when the model is loaded. The
products are FBGEMM's, which torch brings on x86-64. A matrix that float16 cannot hold stays as it is.
"""

import ctypes
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from promptcache_engine.models.decoder import DecoderModel
from promptcache_engine.models.products import Dense, WideHead
from promptcache_engine.models.weights import LayerWeights, Linear

SMALLEST = torch.finfo(torch.float16).smallest_normal
"""A row whose largest weight is smaller would lose digits that float16's other rows keep."""

_TOLERANCE = 1e-2


class Half:
    """The product of float32 rows with ``weight`` [out, in], kept in float16, plus ``bias`` [out].

    Raises:
        RuntimeError: torch has no such product on this machine.
    """

    def __init__(self, weight: Tensor, bias: Tensor | None = None) -> None:
        self._packed: Any = torch.ops.quantized.linear_prepack_fp16(weight, bias)
        self._multiply: Any = torch.ops.quantized.linear_dynamic_fp16.default

    def __call__(self, rows: Tensor) -> Tensor:
        """Float32 rows [T, in] to rows [T, out]."""
        product: Tensor = self._multiply(rows, self._packed)
        return product


def is_available() -> bool:
    """Whether torch has the product here and it is right, which is tried."""
    weight, rows = torch.linspace(-1, 1, 48 * 40).view(48, 40).sin(), torch.eye(5, 40)
    try:
        found = Half(weight)(rows)
    except (RuntimeError, AttributeError, NotImplementedError):
        return False
    return bool(torch.allclose(found, rows @ weight.t(), atol=_TOLERANCE))


def halve(model: DecoderModel) -> bool:
    """Replace a float32 model's matrices on the CPU, one after another; say whether that was done.

    A deterministic model is left alone: its rules were found by trying the products that it has.
    """
    if model.deterministic or model.device.type != "cpu" or model.dtype != torch.float32:
        return False
    if not is_available():
        return False
    layers, head = list(model.weights.layers), _halved(model.weights.head)
    model.weights = replace(model.weights, layers=(), head=head)  # what is replaced is freed at once

    def replaced(index: int) -> None:
        layers[index] = _halved_layer(layers[index])

    try:
        with ThreadPoolExecutor(torch.get_num_threads()) as pool:
            list(pool.map(replaced, range(len(layers))))
    finally:
        model.weights = replace(model.weights, layers=tuple(layers))
    _give_back()
    return True


def _give_back() -> None:
    """Have glibc return freed memory to the system: matrices are too small for it to do so by itself."""
    if sys.platform == "linux" and (trim := getattr(ctypes.CDLL(None), "malloc_trim", None)) is not None:
        trim(0)


def _halved_layer(layer: LayerWeights) -> LayerWeights:
    return replace(
        layer,
        qkv=_halved(layer.qkv),
        output=_halved(layer.output),
        gate_up=_halved(layer.gate_up),
        down=_halved(layer.down),
    )


def _halved(product: Linear) -> Linear:
    if not isinstance(product, Dense | WideHead) or not _fits(product.weight):
        return product
    return Half(product.weight, product.bias if isinstance(product, Dense) else None)


def _fits(weight: Tensor) -> bool:
    """Whether float16 rounds every weight by 2**-11 of its row's largest at most."""
    largest = torch.linalg.vector_norm(weight, float("inf"), dim=1)
    small = (largest < SMALLEST) & (largest > 0)
    return bool(largest.max() <= torch.finfo(torch.float16).max) and not bool(small.any())
