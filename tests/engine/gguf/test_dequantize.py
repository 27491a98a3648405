"""Unpacked values against the gguf package's, bit for bit, and against hand-made groups."""

import struct

import numpy as np
import pytest

from promptcache_engine.gguf import SUPPORTED, TensorType, dequantize
from promptcache_engine.gguf.layout import BLOCKS

SCALE, MINIMUM = 0.5, -1.25


def half(value: float) -> bytes:
    return struct.pack("<e", value)


def unpack(raw: bytes, kind: TensorType) -> list[float]:
    return dequantize(np.frombuffer(raw, np.uint8), kind).tolist()


@pytest.mark.parametrize("kind", sorted(SUPPORTED), ids=lambda kind: kind.name)
def test_equals_the_gguf_package_bit_for_bit(kind: TensorType) -> None:
    gguf = pytest.importorskip("gguf", reason="the gguf package is only for this comparison")
    raw = np.random.default_rng(kind).integers(0, 256, (3000, BLOCKS[kind][1]), dtype=np.uint8)
    with np.errstate(all="ignore"):  # random bytes hold infinite scales
        found = dequantize(raw.reshape(-1), kind)
        expected = gguf.quants.dequantize(raw, gguf.GGMLQuantizationType(int(kind))).reshape(-1)
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, expected.astype(np.float32))


def test_every_supported_type_has_a_layout() -> None:
    assert set(BLOCKS) == SUPPORTED


def test_q4_1_low_halves_come_first() -> None:
    raw = half(SCALE) + half(MINIMUM) + bytes(low | (15 - low) << 4 for low in range(16))
    low = [SCALE * quant + MINIMUM for quant in range(16)]
    assert unpack(raw, TensorType.Q4_1) == low + low[::-1]


def test_q4_0_is_centred_at_eight() -> None:
    raw = half(SCALE) + bytes(16)
    assert unpack(raw, TensorType.Q4_0) == [-8 * SCALE] * 32


def test_q5_0_takes_its_fifth_bit_from_the_word() -> None:
    raw = half(SCALE) + struct.pack("<I", 1 << 31 | 1) + bytes(16)
    expected = [-16 * SCALE] * 32
    expected[0] = expected[31] = 0.0
    assert unpack(raw, TensorType.Q5_0) == expected


def test_q8_0_is_signed() -> None:
    raw = half(SCALE) + struct.pack("32b", *range(-16, 16))
    assert unpack(raw, TensorType.Q8_0) == [SCALE * quant for quant in range(-16, 16)]


def test_q4_k_uses_split_scales() -> None:
    scales = bytearray(12)
    scales[4 + 3] = 2 << 6 | 7  # minimum 3 is 7; its upper bits extend minimum 7
    scales[8 + 3] = 3 << 4 | 9  # scale 7 is 9, minimum 7 is 3 + (2 << 4)
    raw = half(SCALE) + half(1.0) + bytes(scales) + bytes(96) + bytes([0x50] * 32)
    values = unpack(raw, TensorType.Q4_K)
    assert values[96:128] == [-7.0] * 32
    assert values[224:] == [SCALE * 9 * 5 - 35.0] * 32
    assert values[:96] == [0.0] * 96


def test_q6_k_joins_low_and_high_bits() -> None:
    scales = struct.pack("16b", *range(16))
    raw = bytes([0x21] * 128) + bytes([0b11_10_01_00] * 64) + scales + half(SCALE)
    values = np.array(unpack(raw, TensorType.Q6_K)).reshape(2, 4, 2, 16)
    for part in range(2):
        for quarter, quant in enumerate((1, 1 | 1 << 4, 2 | 2 << 4, 2 | 3 << 4)):
            for half_of in range(2):
                scale = part * 8 + quarter * 2 + half_of
                assert set(values[part, quarter, half_of]) == {SCALE * scale * (quant - 32)}


def test_bf16_is_the_upper_half_of_float32() -> None:
    assert unpack(struct.pack("<HH", 0x3FC0, 0xC000), TensorType.BF16) == [1.5, -2.0]


def test_values_beyond_one_slab_are_in_order() -> None:
    values = np.arange(200_000, dtype=np.float32)
    np.testing.assert_array_equal(dequantize(values.view(np.uint8), TensorType.F32), values)
