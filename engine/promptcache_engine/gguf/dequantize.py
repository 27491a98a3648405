"""Unpacks ggml's packed weights to float32, exactly as ggml's own reference does.

One function a type; each takes groups as rows of bytes and returns rows of values. The layouts are those of
ggml-common.h; in each formula d is the group's scale and m its minimum.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from promptcache_engine.gguf.layout import BLOCKS, TensorType

Bytes = np.ndarray[Any, np.dtype[np.uint8]]
Floats = np.ndarray[Any, np.dtype[np.float32]]
_SLAB = 65_536  # values unpacked at a time: what a step makes stays in the processor's cache


def dequantize(raw: Bytes, kind: TensorType) -> Floats:
    """Return the values packed in ``raw`` (uint8, whole groups) as a new flat float32 array."""
    values, size = BLOCKS[kind]
    groups, unpack = raw.reshape(-1, size), _UNPACK[kind]
    slab = max(1, _SLAB // values)
    out = np.empty((len(groups), values), np.float32)
    for at in range(0, len(groups), slab):
        part = groups[at : at + slab]
        out[at : at + slab] = unpack(part).reshape(len(part), values)
    return out.reshape(-1)


def _f32(groups: Bytes) -> Floats:
    return groups.view("<f4").astype(np.float32)


def _f16(groups: Bytes) -> Floats:
    return groups.view("<f2").astype(np.float32)


def _bf16(groups: Bytes) -> Floats:
    return (groups.view("<u2").astype(np.uint32) << 16).view(np.float32)


def _q4_0(groups: Bytes) -> Floats:
    """Value = d * (q - 8)."""
    return _half(groups, 0) * (_nibbles(groups[:, 2:]).astype(np.int8) - np.int8(8)).astype(np.float32)


def _q4_1(groups: Bytes) -> Floats:
    """Value = d * q + m."""
    return _half(groups, 0) * _nibbles(groups[:, 4:]).astype(np.float32) + _half(groups, 2)


def _q5_0(groups: Bytes) -> Floats:
    """Value = d * (q - 16); the fifth bits of the 32 values form one 32-bit word."""
    quants = _nibbles(groups[:, 6:]) | _fifth_bits(groups[:, 2:6])
    return _half(groups, 0) * (quants.astype(np.int8) - np.int8(16)).astype(np.float32)


def _q5_1(groups: Bytes) -> Floats:
    """Value = d * q + m."""
    quants = _nibbles(groups[:, 8:]) | _fifth_bits(groups[:, 4:8])
    return _half(groups, 0) * quants.astype(np.float32) + _half(groups, 2)


def _q8_0(groups: Bytes) -> Floats:
    """Value = d * q."""
    values: Floats = groups[:, 2:].view(np.int8) * _half(groups, 0)  # converted in the product
    return values


def _q4_k(groups: Bytes) -> Floats:
    """256 values in 8 subgroups, each with a 6-bit scale and a 6-bit minimum: d * s * q - m * n."""
    return _scale_subgroups(groups, _nibbles_by(groups[:, 16:], 32))


def _q5_k(groups: Bytes) -> Floats:
    """As Q4_K, with the fifth bit of value i of subgroup j in bit j of byte i."""
    bits = np.unpackbits(groups[:, 16:48, None], axis=2, bitorder="little").transpose(0, 2, 1)
    return _scale_subgroups(groups, _nibbles_by(groups[:, 48:], 32) | bits << np.uint8(4))


def _q6_k(groups: Bytes) -> Floats:
    """256 values in 16 subgroups, each with an 8-bit scale: d * s * (q - 32)."""
    low = _nibbles_by(groups[:, :128], 64).reshape(-1, 2, 128)
    pairs = groups[:, 128:192].reshape(-1, 2, 1, 32) >> np.array([0, 2, 4, 6], np.uint8)[:, None] & 3
    quants = (low | pairs.reshape(-1, 2, 128) << 4).astype(np.int8) - np.int8(32)
    scales = _half(groups, 208) * groups[:, 192:208].view(np.int8).astype(np.float32)
    values: Floats = scales[:, :, None] * quants.reshape(-1, 16, 16).astype(np.float32)
    return values


def _half(groups: Bytes, at: int) -> Floats:
    """The float16 at byte ``at`` of each group, as a column."""
    return groups[:, at : at + 2].copy().view("<f2").astype(np.float32)


def _nibbles(packed: Bytes) -> Bytes:
    """All low halves of a group's bytes, then all high halves."""
    return np.concatenate((packed & 15, packed >> 4), axis=1)


def _nibbles_by(packed: Bytes, run: int) -> Bytes:
    """As ``_nibbles``, for each run of ``run`` bytes by itself: [groups, runs * 2, run]."""
    runs = packed.reshape(packed.shape[0], -1, 1, run)
    return np.concatenate((runs & 15, runs >> 4), axis=2).reshape(packed.shape[0], -1, run)


def _fifth_bits(packed: Bytes) -> Bytes:
    return np.unpackbits(packed, axis=1, bitorder="little") << np.uint8(4)


def _scale_subgroups(groups: Bytes, quants: Bytes) -> Floats:
    """Apply scales and minima of Q4_K and Q5_K; four of each are whole in a byte, four are split over two."""
    first, second, third = groups[:, 4:8], groups[:, 8:12], groups[:, 12:16]
    scales = np.concatenate((first & 63, (third & 15) | (first >> 6 << 4)), axis=1)
    minima = np.concatenate((second & 63, (third >> 4) | (second >> 6 << 4)), axis=1)
    factor = (_half(groups, 0) * scales.astype(np.float32))[:, :, None]
    shift = (_half(groups, 2) * minima.astype(np.float32))[:, :, None]
    values: Floats = factor * quants.astype(np.float32) - shift
    return values


_UNPACK: dict[TensorType, Callable[[Bytes], Floats]] = {
    TensorType.F32: _f32,
    TensorType.F16: _f16,
    TensorType.BF16: _bf16,
    TensorType.Q4_0: _q4_0,
    TensorType.Q4_1: _q4_1,
    TensorType.Q5_0: _q5_0,
    TensorType.Q5_1: _q5_1,
    TensorType.Q8_0: _q8_0,
    TensorType.Q4_K: _q4_k,
    TensorType.Q5_K: _q5_k,
    TensorType.Q6_K: _q6_k,
}

SUPPORTED = frozenset(_UNPACK)
"""Types that ``dequantize`` can unpack."""
