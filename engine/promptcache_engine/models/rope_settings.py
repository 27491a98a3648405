"""What turns positions into rotary angles: a base and, for longer contexts, one way of stretching it.

Numbers only; ``rope`` computes frequencies and angles from them, and the readers of configurations fill them
in. Dynamic NTK scaling is left out on purpose: there a token's angle depends on how long its sequence is by
now, so cached keys would not be those that a cold run computes.
"""

import math
from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class LinearScaling:
    """All frequencies are divided by ``factor``."""

    factor: float


@dataclass(frozen=True, slots=True)
class Llama3Scaling:
    """Llama 3.1's: waves longer than ``original_context / low_freq_factor`` tokens are stretched by
    ``factor``, those shorter than ``original_context / high_freq_factor`` are kept, and between the two it is
    interpolated."""

    factor: float
    low_freq_factor: float
    high_freq_factor: float
    original_context: int


@dataclass(frozen=True, slots=True)
class YarnScaling:
    """YaRN (arXiv 2309.00071): pairs that turn more than ``beta_fast`` times within ``original_context`` keep
    their frequency, those below ``beta_slow`` are stretched by ``factor``. Cosines and sines are multiplied
    by ``magnitude``."""

    factor: float
    original_context: int
    magnitude: float
    beta_fast: float = 32.0
    beta_slow: float = 1.0
    truncate: bool = True


@dataclass(frozen=True, slots=True)
class DivisorScaling:
    """Each pair's frequency has a divisor of its own, as in LongRoPE and in llama.cpp's ``rope_freqs``.

    Cosines and sines are multiplied by ``magnitude``.
    """

    divisors: tuple[float, ...]
    magnitude: float = 1.0


RopeScaling: TypeAlias = LinearScaling | Llama3Scaling | YarnScaling | DivisorScaling


@dataclass(frozen=True, slots=True)
class RopeSettings:
    """The base ``theta`` of the frequencies, and how they are stretched (None: not at all)."""

    theta: float = 10_000.0
    scaling: RopeScaling | None = None

    def __post_init__(self) -> None:
        if not 0 < self.theta < math.inf:
            raise ValueError(f"rope_theta is {self.theta}, not a positive number")
        if isinstance(self.scaling, YarnScaling) and self.theta == 1:
            raise ValueError("YaRN needs a rope_theta other than 1")
        if isinstance(self.scaling, Llama3Scaling) and (
            self.scaling.low_freq_factor == self.scaling.high_freq_factor
        ):
            raise ValueError("rotary scaling's low_freq_factor and high_freq_factor are equal")
        for name in getattr(type(self.scaling), "__slots__", ()):
            value = getattr(self.scaling, name)
            for number in value if isinstance(value, tuple) else (value,):
                if not isinstance(number, bool) and not 0 < number < math.inf:
                    raise ValueError(f"rotary scaling's {name} is {number}, not a positive number")


def yarn_magnitude(factor: float, weight: float = 1.0) -> float:
    """How much YaRN strengthens attention when a context is stretched by ``factor``."""
    return 1.0 if factor <= 1 else 0.1 * weight * math.log(factor) + 1.0


def longrope_magnitude(factor: float, original_context: int) -> float:
    """How much LongRoPE (arXiv 2402.13753) does; raises ValueError for a context that holds no two tokens."""
    if original_context < 2:
        raise ValueError(f"LongRoPE stretches no context of {original_context} tokens")
    return 1.0 if factor <= 1 else math.sqrt(1 + math.log(factor) / math.log(original_context))
