"""The compiled decode step as Python calls it: what the processor can do, packing, products, the step.

It knows matrices and structures; which weights belong where is the model's business.
"""

import ctypes
from collections.abc import Mapping, Sequence
from ctypes import POINTER, byref, c_int, c_int64, c_void_p
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from promptcache_engine.kernels.native.compiler import compiled_library
from promptcache_engine.kernels.native.errors import NativeUnavailableError
from promptcache_engine.kernels.native.structures import CModel, CProduct, CStep

Bytes = np.ndarray[Any, np.dtype[np.uint8]]
STRIP = 16
"""Output rows that are packed together."""
RUN = 32
"""Columns that share a scale; a matrix must have whole runs."""
ISAS = {1: "AVX2", 2: "AVX-512 VNNI"}
_FOUR_BITS, _EIGHT_BITS = 0, 1
_RUN_BYTES = {_FOUR_BITS: 320, _EIGHT_BITS: 544}  # of a strip
_SOURCES = {"Q4_0": 0, "Q4_1": 1, "Q8_0": 2, "F32": 3}
PACKABLE = frozenset(("Q4_0", "Q4_1", "Q8_0"))
"""GGUF types that keep their exact values when packed; others are rounded to 8 bits."""


@dataclass(frozen=True, eq=False)
class PackedRows:
    """Rows of one GGUF tensor in the file's own bits: ``raw`` is uint8 [rows, bytes of a row]."""

    kind: str
    raw: Bytes


@dataclass(frozen=True, eq=False)
class PackedMatrix:
    """A matrix [rows, columns] in the layout of ``decode.c``, 4 or 8 bits a weight."""

    bits: int
    rows: int
    columns: int
    data: Bytes

    def product(self, bias: Tensor | None) -> CProduct:
        """Return the C structure; it points into this matrix and ``bias`` (float32 [rows])."""
        address = None if bias is None else bias.data_ptr()
        code = _FOUR_BITS if self.bits == 4 else _EIGHT_BITS
        return CProduct(code, self.rows, self.columns, 0, self.data.ctypes.data, address)


class Library:
    """The loaded library.

    Raises:
        NativeUnavailableError: it cannot be loaded, or this processor lacks AVX2.
    """

    def __init__(self, path: Path) -> None:
        try:
            self._library = ctypes.CDLL(str(path))
        except OSError as error:
            raise NativeUnavailableError(f"{path} cannot be loaded ({error})") from error
        self._library.promptcache_pack.argtypes = [c_int, c_void_p, c_int64, c_int64, c_int64, c_void_p]
        self._library.promptcache_pack.restype = None
        self._library.promptcache_decode.argtypes = [POINTER(CModel), POINTER(CStep)]
        self._library.promptcache_multiply.argtypes = [POINTER(CProduct), c_int, c_void_p, c_int, c_void_p]
        self.isa: int = self._library.promptcache_isa()
        if self.isa not in ISAS:
            raise NativeUnavailableError("this processor has no AVX2")

    @property
    def isa_name(self) -> str:
        """The instructions in use."""
        return ISAS[self.isa]

    def pack(self, parts: Sequence[PackedRows], columns: int) -> PackedMatrix:
        """Stack rows of tensors of one kind of PACKABLE, each of ``columns`` values; no value changes."""
        kinds = {part.kind for part in parts}
        if len(kinds) != 1 or not kinds <= PACKABLE:
            raise ValueError(f"rows of the types {sorted(kinds)} cannot be packed together")
        return self._packed(kinds.pop(), [part.raw for part in parts], columns)

    def pack_floats(self, weight: Tensor) -> PackedMatrix:
        """Round a matrix [rows, columns] to 8 bits a weight, with a scale for every run of 32."""
        rows = np.ascontiguousarray(weight.detach().float().cpu().numpy())
        return self._packed("F32", [rows.view(np.uint8)], weight.shape[1])

    def multiply(self, matrix: PackedMatrix, rows: Tensor, bias: Tensor | None = None) -> Tensor:
        """Return rows [T, columns] times ``matrix``, float32 [T, rows of the matrix]."""
        rows = rows.float().contiguous()
        out = torch.empty(rows.shape[0], matrix.rows)
        product = matrix.product(bias)
        status = self._library.promptcache_multiply(
            byref(product), self.isa, rows.data_ptr(), rows.shape[0], out.data_ptr()
        )
        if status:
            raise MemoryError("no memory for a product's rows")
        return out

    def decode(self, model: CModel, step: CStep) -> None:
        """Compute a step: fills its logits, and the keys and values of its rows; raises MemoryError."""
        if self._library.promptcache_decode(byref(model), byref(step)):
            raise MemoryError("no memory for a decode step")

    def _packed(self, kind: str, parts: Sequence[Bytes], columns: int) -> PackedMatrix:
        if columns % RUN:
            raise ValueError(f"rows of {columns} values are no whole runs of {RUN}")
        form = _FOUR_BITS if kind in ("Q4_0", "Q4_1") else _EIGHT_BITS
        total = sum(len(part) for part in parts)
        data = np.zeros(-(-total // STRIP) * (columns // RUN) * _RUN_BYTES[form], np.uint8)
        first = 0
        for part in parts:
            whole = np.ascontiguousarray(part)
            arguments = (_SOURCES[kind], whole.ctypes.data, len(whole), columns, first, data.ctypes.data)
            self._library.promptcache_pack(*arguments)
            first += len(whole)
        return PackedMatrix(4 if form == _FOUR_BITS else 8, total, columns, data)


def load_library(*, folder: Path | None = None, environment: Mapping[str, str] | None = None) -> Library:
    """Compile the library where need be, and load it.

    Raises:
        NativeUnavailableError: it cannot be compiled or loaded here.
    """
    if environment is None:
        return Library(compiled_library(folder=folder))
    return Library(compiled_library(folder=folder, environment=environment))
