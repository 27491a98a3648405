"""How GGUF stores tensors: the types' names, their packing, and where a tensor's bytes lie.

Sources: the GGUF specification (ggml repository, docs/gguf.md) and the block structures of ggml-common.h.
"""

from dataclasses import dataclass
from enum import IntEnum
from math import prod


class TensorType(IntEnum):
    """The ggml types by number; many can be named here that cannot be computed."""

    F32 = 0
    F16 = 1
    Q4_0 = 2
    Q4_1 = 3
    Q5_0 = 6
    Q5_1 = 7
    Q8_0 = 8
    Q8_1 = 9
    Q2_K = 10
    Q3_K = 11
    Q4_K = 12
    Q5_K = 13
    Q6_K = 14
    Q8_K = 15
    IQ2_XXS = 16
    IQ2_XS = 17
    IQ3_XXS = 18
    IQ1_S = 19
    IQ4_NL = 20
    IQ3_S = 21
    IQ2_S = 22
    IQ4_XS = 23
    I8 = 24
    I16 = 25
    I32 = 26
    I64 = 27
    F64 = 28
    IQ1_M = 29
    BF16 = 30
    TQ1_0 = 34
    TQ2_0 = 35
    MXFP4 = 39


BLOCKS: dict[TensorType, tuple[int, int]] = {
    TensorType.F32: (1, 4),
    TensorType.F16: (1, 2),
    TensorType.BF16: (1, 2),
    TensorType.Q4_0: (32, 18),
    TensorType.Q4_1: (32, 20),
    TensorType.Q5_0: (32, 22),
    TensorType.Q5_1: (32, 24),
    TensorType.Q8_0: (32, 34),
    TensorType.Q4_K: (256, 144),
    TensorType.Q5_K: (256, 176),
    TensorType.Q6_K: (256, 210),
}
"""(values, bytes) of one packed group, for each type whose values can be computed."""


def type_name(number: int) -> str:
    """``3`` -> ``"Q4_1"``; a number that is none of ggml's -> ``"type 99"``."""
    try:
        return TensorType(number).name
    except ValueError:
        return f"type {number}"


@dataclass(frozen=True, slots=True)
class TensorInfo:
    """One tensor of a file.

    Attributes:
        name: as in the file, for example ``blk.0.attn_q.weight``.
        shape: outermost dimension first, as numpy has it (the file lists the innermost first).
        type_number: ggml's number of the type, known or not.
        offset: of its first byte, from the start of the file.
        nbytes: its length in the file, 0 where the type's packing is not known.
    """

    name: str
    shape: tuple[int, ...]
    type_number: int
    offset: int
    nbytes: int

    @property
    def type_name(self) -> str:
        """The type as people write it."""
        return type_name(self.type_number)


def packed_size(shape: tuple[int, ...], type_number: int) -> int | None:
    """Bytes of a tensor; None where its rows are not whole groups, 0 for a type not in BLOCKS."""
    if type_number not in BLOCKS:
        return 0
    values, size = BLOCKS[TensorType(type_number)]
    return prod(shape) // values * size if shape[-1] % values == 0 else None
