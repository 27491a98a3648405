"""Finds how many rows a matrix product must have at least so that each row's result is always the same.

Libraries choose other routines, with another order of summation, for products of few rows; how many are few
depends on library, processor and threads. So it is tried, with the model's own weights, when a model is made
deterministic. What the model does with the answer is its business.
"""

from collections.abc import Callable, Iterable

import torch
from torch import Tensor

from promptcache_engine.models.errors import DeterminismError

CANDIDATES = (8, 16, 32, 64)
"""Multiples tried, smallest first."""

_TRIED = (1, 2, 3, 5)
"""How many times a multiple's rows are computed alone, to be compared with a larger product's rows."""


def find_row_multiple(
    products: Iterable[tuple[Callable[[Tensor], Tensor], int]], dtype: torch.dtype, device: torch.device
) -> int:
    """Return the smallest multiple for which all ``products`` (each with its rows' width) are stable.

    Raises:
        DeterminismError: none of CANDIDATES is enough.
    """
    distinct = list(products)
    for multiple in CANDIDATES:
        if all(_is_stable(product, width, multiple, dtype, device) for product, width in distinct):
            return multiple
    raise DeterminismError(
        f"matrix products here depend on the number of rows, even in multiples of {CANDIDATES[-1]}",
        "Run without --deterministic, or with another number of threads",
    )


def _is_stable(
    product: Callable[[Tensor], Tensor], width: int, multiple: int, dtype: torch.dtype, device: torch.device
) -> bool:
    generator = torch.Generator().manual_seed(multiple)
    rows = torch.randn(8 * multiple, width, generator=generator).to(device=device, dtype=dtype)
    whole = product(rows)
    for times in _TRIED:
        for first in (0, multiple - 1):  # a row's place in the product must not matter either
            part = slice(first, first + times * multiple)
            if not torch.equal(product(rows[part].clone()), whole[part]):
                return False
    return True
