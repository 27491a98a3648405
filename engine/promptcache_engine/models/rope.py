"""Rotary angles: cosines and sines by position, computed once in pieces of fixed size.

The rotation itself is an operation of ``kernels``; what a file says about frequencies is read in ``loading``.
"""

import torch
from torch import Tensor

PIECE = 4096
"""Positions computed at a time; fixed, so that an angle's bits do not depend on which came first."""


class RotaryTable:
    """Cosines and sines for a head size, growing with the positions asked for.

    The frequency of pair i is ``theta ** (-2i / head_dim) / (scale * factors[i])``.
    """

    def __init__(
        self,
        head_dim: int,
        theta: float,
        *,
        scale: float = 1.0,
        factors: Tensor | None = None,
        device: torch.device | str = "cpu",
    ) -> None:
        exponents = torch.arange(0, head_dim, 2, dtype=torch.int64).float() / head_dim
        frequencies = 1.0 / (theta**exponents)
        if factors is not None:
            frequencies = frequencies / factors
        self._frequencies = frequencies / scale
        self._device = torch.device(device)
        self._cos = torch.empty(0, head_dim // 2, device=self._device)
        self._sin = torch.empty(0, head_dim // 2, device=self._device)

    def at(self, positions: Tensor, limit: int) -> tuple[Tensor, Tensor]:
        """Cosines and sines, float32 [T, head_dim / 2], for positions that are all below ``limit``."""
        while self._cos.shape[0] < limit:
            self._grow()
        return self._cos[positions], self._sin[positions]

    def _grow(self) -> None:
        begin = self._cos.shape[0]
        positions = torch.arange(begin, begin + PIECE, dtype=torch.float32)
        angles = torch.outer(positions, self._frequencies)
        self._cos = torch.cat((self._cos, angles.cos().to(self._device)))
        self._sin = torch.cat((self._sin, angles.sin().to(self._device)))
