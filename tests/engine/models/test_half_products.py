"""Matrices in 16 bits: close to the whole ones, left alone where they do not fit or must not be replaced."""

import pytest
import torch

from promptcache_engine.models import half_products
from promptcache_engine.models.half_products import Half, halve, is_available
from promptcache_engine.models.products import Dense
from promptcache_engine.models.testing import FAMILY_NAMES, tiny_model
from tests.engine.models.steps import logits_of

pytestmark = pytest.mark.skipif(not is_available(), reason="torch has no such product on this machine")

TOKENS = [3, 1, 4, 1, 5, 9, 2, 6]
ROUNDING = 2**-11


def randoms(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("rows", [0, 1, 2, 7, 65])
@pytest.mark.parametrize("biased", [False, True])
@pytest.mark.parametrize("shape", [(7, 33), (96, 64), (17, 8)])
def test_weights_are_rounded_and_nothing_else(rows: int, biased: bool, shape: tuple[int, int]) -> None:
    weight, bias = randoms(*shape), randoms(shape[0], seed=1) if biased else None
    given = randoms(rows, shape[1] + 3, seed=2)[:, 3:]  # rows need not lie side by side
    found = Half(weight, bias)(given)
    exact = torch.nn.functional.linear(given, weight.half().float(), bias)
    assert found.dtype == torch.float32
    assert torch.allclose(found, exact, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("family", FAMILY_NAMES)
def test_every_family_stays_close(family: str) -> None:
    loaded = tiny_model(family=family)
    whole = logits_of(loaded, TOKENS)
    assert halve(loaded.model)
    assert isinstance(loaded.model.weights.layers[-1].down, Half)
    assert isinstance(loaded.model.weights.head, Half)
    assert 0 < (logits_of(loaded, TOKENS) - whole).abs().max() < 100 * ROUNDING


@pytest.mark.parametrize(("value", "kept"), [(7e4, True), (6e4, False), (1e-6, True), (0.0, False)])
def test_a_matrix_that_float16_cannot_hold_stays(value: float, kept: bool) -> None:
    """Too large a weight, or a row all of whose weights are too small; a row of zeros is no loss."""
    loaded = tiny_model()
    down = loaded.model.weights.layers[0].down
    assert isinstance(down, Dense)
    down.weight[1] = value
    halve(loaded.model)
    first, second = (layer.down for layer in loaded.model.weights.layers[:2])
    assert (isinstance(first, Dense), isinstance(second, Half)) == (kept, True)


@pytest.mark.parametrize("fields", [{"deterministic": True}, {"dtype": torch.bfloat16}])
def test_models_that_are_left_alone(fields: dict[str, object]) -> None:
    model = tiny_model(**fields).model  # type: ignore[arg-type]
    before = model.weights
    assert not halve(model)
    assert model.weights is before


def test_a_machine_without_the_product(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_arguments: object) -> None:
        raise RuntimeError("Didn't find engine for operation quantized::linear_prepack_fp16")

    loaded = tiny_model()
    monkeypatch.setattr(half_products, "Half", refuse)
    assert not halve(loaded.model)
    monkeypatch.setattr(half_products, "Half", lambda weight: lambda rows: rows @ weight.t() + 1)
    assert not halve(loaded.model)  # there, but wrong
    assert isinstance(loaded.model.weights.head, half_products.WideHead)
