"""Noise that decides draws: of a key and a token's id alone, the same on every device.

An integer hash (wrapping 32-bit sums and products, no state) gives 31 bits for each key and token; from them
comes standard Gumbel noise. The token of the greatest sum of logit and noise is a draw from the softmax
(Gumbel 1954; Maddison et al., A* Sampling, 2014). Devices differ in the last bits of a logarithm in float32,
so the noise is float64, where they would have to agree to one part in 10**15 to draw otherwise; a sieve in
float32 leaves few tokens to compute it for.
"""

import torch
from torch import Tensor

SIEVE = 0.5
"""The sums of noise in float32 and the exact ones order no two tokens otherwise that differ by more: float32
cannot tell the last 1.5 * 2**-24 of the range below 1, where the noise is up to log(22.2 / 16.6) too high."""

LARGEST_SHARE = 1 - 2**-24
"""The largest float32 below 1."""

# A mixing of 32 bits with little bias (Wellons, Hash Function Prospector, 2018); int32 wraps around.
SPREAD, FIRST, SECOND = 0x9E3779B9 - 2**32, 0x7FEB352D, 0x846CA68B - 2**32


def key_halves(key: int) -> tuple[int, int]:
    """Two int32 for ``key``, from 0 to 2**63 - 1; keys close to each other are far apart in both."""
    key = (key + 1) * 0xD6E8FEB86659FD93 % 2**64
    key = (key ^ key >> 32) * 0xD6E8FEB86659FD93 % 2**64
    return (key & 0xFFFFFFFF) - 2**31, (key >> 32) - 2**31


def hashed(halves: tuple[int, int], ids: Tensor) -> Tensor:
    """31 bits for each token: int32 [tokens], not negative, for ids int32 [tokens]."""
    low, high = halves
    mixed = (ids * SPREAD).add_(low)
    # Masked, for a shift repeats the sign.
    mixed.bitwise_xor_((mixed >> 16).bitwise_and_(0xFFFF)).mul_(FIRST)
    mixed.bitwise_xor_((mixed >> 15).bitwise_and_(0x1FFFF)).bitwise_xor_(high).mul_(SECOND)
    return mixed.bitwise_xor_((mixed >> 16).bitwise_and_(0xFFFF)).bitwise_and_(2**31 - 1)


def gumbel_noise(halves: tuple[int, int], ids: Tensor) -> Tensor:
    """Standard Gumbel noise for each token, float64 [tokens], finite."""
    return _exact(hashed(halves, ids))


def loudest(values: Tensor, ids: Tensor, halves: tuple[int, int]) -> Tensor:
    """The place of the greatest sum of value and noise, the first of several; int64, no dimension.

    Args:
        values: [tokens] float32, of which the largest is finite.
        ids: [tokens] int32, the tokens they belong to.
        halves: see ``key_halves``.
    """
    mixed = hashed(halves, ids)
    sums = _rough(mixed).add_(values)
    close = (sums >= sums.max() - SIEVE).nonzero().squeeze(-1)
    return close[(values[close].double() + _exact(mixed[close])).argmax()]


def _exact(mixed: Tensor) -> Tensor:
    # Above 0 and below 1; both it and what is missing to 1 are exact.
    share = mixed.to(torch.float64).add_(0.5).mul_(2.0**-31)
    return share.neg_().add_(1).log_().neg_().log_().neg_()


def _rough(mixed: Tensor) -> Tensor:
    # A float is finest close to 0, which is where the greatest noise comes from.
    share = mixed.to(torch.float32).add_(0.5).mul_(2.0**-31)
    return share.clamp_(max=LARGEST_SHARE).neg_().log1p_().neg_().log_().neg_()
