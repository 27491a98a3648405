"""Rotary angles: cosines and sines by position, computed once in pieces of fixed size.

The rotation itself is an operation of ``kernels``; what a file says about frequencies is in
``rope_settings``.
"""

import math

import torch
from torch import Tensor

from promptcache_engine.models.rope_settings import (
    DivisorScaling,
    LinearScaling,
    Llama3Scaling,
    RopeSettings,
    YarnScaling,
)

PIECE = 4096
"""Positions computed at a time; fixed, so that an angle's bits do not depend on which came first."""


class RotaryTable:
    """Cosines and sines for a head size, growing with the positions asked for.

    Without scaling, the frequency of pair i is ``theta ** (-2i / head_dim)``.
    """

    def __init__(self, head_dim: int, settings: RopeSettings, *, device: torch.device | str = "cpu") -> None:
        self._frequencies = scaled_frequencies(head_dim, settings)
        self._magnitude = float(getattr(settings.scaling, "magnitude", 1.0))
        self._device = torch.device(device)
        self._cos = torch.empty(0, head_dim // 2, device=self._device)
        self._sin = torch.empty(0, head_dim // 2, device=self._device)

    def at(self, positions: Tensor, limit: int) -> tuple[Tensor, Tensor]:
        """Cosines and sines, float32 [T, head_dim / 2], for positions that are all below ``limit``."""
        cos, sin = self.upto(limit)
        return cos[positions], sin[positions]

    def upto(self, limit: int) -> tuple[Tensor, Tensor]:
        """Cosines and sines of all positions below ``limit``, and maybe more."""
        while self._cos.shape[0] < limit:
            self._grow()
        return self._cos, self._sin

    def _grow(self) -> None:
        begin = self._cos.shape[0]
        positions = torch.arange(begin, begin + PIECE, dtype=torch.float32)
        angles = torch.outer(positions, self._frequencies)
        cos, sin = angles.cos() * self._magnitude, angles.sin() * self._magnitude
        self._cos = torch.cat((self._cos, cos.to(self._device)))
        self._sin = torch.cat((self._sin, sin.to(self._device)))


def scaled_frequencies(head_dim: int, settings: RopeSettings) -> Tensor:
    """Return the angle a position adds to each of ``head_dim / 2`` pairs, float32.

    The formulas are those of the papers named in ``rope_settings``, in the order of operations that
    transformers uses, so that the bits are its.
    """
    exponents = torch.arange(0, head_dim, 2, dtype=torch.int64).float() / head_dim
    waves = settings.theta**exponents
    match settings.scaling:
        case None:
            return 1.0 / waves
        case LinearScaling(factor):
            return 1.0 / waves / factor
        case DivisorScaling(divisors):
            return 1.0 / (torch.tensor(divisors, dtype=torch.float32) * waves)
        case Llama3Scaling():
            return _llama_3(1.0 / waves, settings.scaling)
        case YarnScaling():
            return _yarn(waves, settings.theta, settings.scaling)


def _llama_3(frequencies: Tensor, scaling: Llama3Scaling) -> Tensor:
    turns = scaling.original_context / (2 * math.pi / frequencies)
    low, high = scaling.low_freq_factor, scaling.high_freq_factor
    kept = ((turns - low) / (high - low)).clamp(0, 1)
    return (1 - kept) * frequencies / scaling.factor + kept * frequencies


def _yarn(waves: Tensor, theta: float, scaling: YarnScaling) -> Tensor:
    pairs = waves.shape[0]

    def pair_that_turns(times: float) -> float:
        return pairs * math.log(scaling.original_context / (times * 2 * math.pi)) / math.log(theta)

    low, high = pair_that_turns(scaling.beta_fast), pair_that_turns(scaling.beta_slow)
    if scaling.truncate:
        low, high = math.floor(low), math.ceil(high)
    low, high = max(low, 0), min(high, 2 * pairs - 1)
    span = high - low if high != low else 0.001
    stretched = ((torch.arange(pairs, dtype=torch.float32) - low) / span).clamp(0, 1)
    return 1.0 / (scaling.factor * waves) * stretched + 1.0 / waves * (1 - stretched)
