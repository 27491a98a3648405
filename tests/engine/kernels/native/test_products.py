"""Packed matrices times rounded rows, against the same numbers in float64."""

from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from promptcache_engine.gguf.dequantize import dequantize
from promptcache_engine.gguf.layout import BLOCKS, TensorType
from promptcache_engine.kernels.native import Library, PackedRows

RUN = 32


def packed_rows(kind: str, rows: int, columns: int, seed: int) -> tuple[PackedRows, Tensor]:
    """Random bits of a type with scales of a sane size, and the values they stand for."""
    generator = np.random.default_rng(seed)
    values, size = BLOCKS[TensorType[kind]]
    raw = generator.integers(0, 256, (rows, columns // values, size), dtype=np.uint8)
    halves = 2 if kind == "Q4_1" else 1
    scales = generator.normal(0, 0.1, (*raw.shape[:2], halves)).astype(np.float16)
    raw[..., : 2 * halves] = scales.view(np.uint8).reshape(*raw.shape[:2], -1)
    if kind == "Q8_0":
        raw[..., 2:] = np.where(raw[..., 2:] == 128, 127, raw[..., 2:])  # files have no -128
    raw = raw.reshape(rows, -1)
    exact = dequantize(raw.reshape(-1), TensorType[kind]).reshape(rows, columns)
    return PackedRows(kind, raw), torch.from_numpy(exact)


def rounded(rows: Tensor) -> Tensor:
    """Rows as the library rounds them: 16 bits, with a scale for every 32 values."""
    runs = rows.view(rows.shape[0], -1, RUN)
    scale = runs.abs().amax(dim=-1, keepdim=True) / 32767
    levels = torch.where(scale > 0, torch.round(runs * (1 / scale)), torch.zeros(()))
    return (levels.double() * scale.double()).view(rows.shape)


def assert_is_product(found: Tensor, rows: Tensor, weight: Tensor, bias: Tensor | None = None) -> None:
    expected = rounded(rows) @ weight.double().T
    expected = expected if bias is None else expected + bias.double()
    room = (rows.abs().double() @ weight.abs().double().T).max() * 2e-6
    assert (found.double() - expected).abs().max() <= room


@pytest.fixture(scope="session", params=["library", "wide_library"], ids=["avx2", "avx512"])
def either(request: pytest.FixtureRequest) -> Library:
    """Both paths; where the processor has AVX-512, the first is its own."""
    library: Library = request.getfixturevalue(request.param)
    return library


@pytest.mark.parametrize("kind", ["Q4_0", "Q4_1", "Q8_0"])
@settings(max_examples=25)
@given(
    rows=st.integers(1, 70),
    runs=st.integers(1, 6),
    batch=st.integers(1, 11),
    seed=st.integers(0, 2**16),
)
def test_products_of_every_shape(
    either: Library, kind: str, rows: int, runs: int, batch: int, seed: int
) -> None:
    part, weight = packed_rows(kind, rows, runs * 32, seed)
    x = torch.randn(batch, runs * 32, generator=torch.Generator().manual_seed(seed))
    assert_is_product(either.multiply(either.pack([part], runs * 32), x), x, weight)


def test_stacked_parts_and_a_bias(library: Library) -> None:
    parts = [packed_rows("Q4_1", rows, 64, seed=rows) for rows in (5, 16, 30)]
    matrix = library.pack([part for part, _ in parts], 64)
    x, bias = torch.randn(3, 64), torch.randn(51)
    weight = torch.cat([values for _, values in parts])
    assert_is_product(library.multiply(matrix, x, bias), x, weight, bias)


def test_floats_keep_255_levels(library: Library) -> None:
    weight = torch.randn(33, 96)
    weight[4] = 0
    x = torch.randn(2, 96)
    found = library.multiply(library.pack_floats(weight), x)
    assert torch.equal(found[:, 4], torch.zeros(2))
    error = (found - x @ weight.T).abs().max()
    assert error <= 0.02 * (x.abs() @ weight.abs().T).max()
    assert error > 0  # it is rounded: were it not, this would test another path


def test_a_row_does_not_depend_on_its_neighbours(either: Library) -> None:
    matrices = [either.pack([packed_rows(kind, 40, 64, 3)[0]], 64) for kind in ("Q4_1", "Q8_0")]
    x = torch.randn(9, 64)
    for matrix in matrices:
        whole = either.multiply(matrix, x)
        for row in range(9):
            assert torch.equal(either.multiply(matrix, x[row : row + 1])[0], whole[row])


def test_zero_and_extreme_rows(either: Library) -> None:
    """Sums of pairs stay within 16 bits also where every weight and every value is the largest."""
    raw = np.full((16, 20), 255, np.uint8)
    raw[:, :4] = np.array([1.0, 0.0], np.float16).view(np.uint8)
    matrix = either.pack([PackedRows("Q4_1", raw)], 32)
    x = torch.stack((torch.zeros(32), torch.ones(32), -torch.ones(32)))
    assert either.multiply(matrix, x)[:, 0].tolist() == pytest.approx([0, 480, -480])
    raw = np.full((16, 34), 129, np.uint8)  # -127
    raw[:, :2] = np.array([1.0], np.float16).view(np.uint8)
    matrix = either.pack([PackedRows("Q8_0", raw)], 32)
    assert either.multiply(matrix, x)[:, 0].tolist() == pytest.approx([0, -127 * 32, 127 * 32])


def test_what_cannot_be_packed_is_refused(library: Library) -> None:
    first, second = packed_rows("Q4_1", 2, 32, 0)[0], packed_rows("Q8_0", 2, 32, 0)[0]
    with pytest.raises(ValueError, match=r"Q4_1.*Q8_0"):
        library.pack([first, second], 32)
    with pytest.raises(ValueError, match="no whole runs of 32"):
        library.pack_floats(torch.ones(2, 40))


def test_the_source_is_part_of_the_package() -> None:
    from promptcache_engine.kernels.native import compiler

    assert compiler.SOURCE.is_file()
    assert compiler.SOURCE.parent == Path(compiler.__file__).parent
