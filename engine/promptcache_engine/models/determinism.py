"""Finds how rows must be given to matrix products so that each row's result is always the same.

Libraries choose other routines, with another order of summation, by the number of rows: on a CPU for products
of few rows, on a GPU at any number. So it is tried, with the model's own weights, when a model is made
deterministic: on a CPU rows are padded to a multiple, on a GPU they are also multiplied in blocks of one
size, so that there is one routine for each matrix. What the model does with the answer is its business.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from promptcache_engine.models.errors import DeterminismError

MULTIPLES = (8, 16, 32, 64)
"""Multiples tried on a CPU, smallest first."""

BLOCKS = (128, 64, 32, 16)
"""Sizes of blocks tried on a GPU: the first reads a matrix least often and pads a step the most."""

_TRIED = (1, 2, 3, 5)
"""How many times a multiple's rows are computed alone, to be compared with a larger product's rows."""

_Product = Callable[[Tensor], Tensor]


@dataclass(frozen=True)
class RowRule:
    """How rows are given to products.

    Attributes:
        multiple: rows are padded to a multiple of it.
        blocked: whether a product takes ``multiple`` rows at a time, never more.
    """

    multiple: int = 1
    blocked: bool = False

    def pad(self, rows: Tensor) -> Tensor:
        """Rows [T, E] and as many zeros behind them as the multiple asks for."""
        missing = -rows.shape[0] % self.multiple
        return functional.pad(rows, (0, 0, 0, missing)) if missing else rows

    def multiply(self, product: _Product, rows: Tensor) -> Tensor:
        """The product of padded rows."""
        if not self.blocked or rows.shape[0] <= self.multiple:
            return product(rows)
        return torch.cat([product(part) for part in torch.split(rows, self.multiple)])


def find_row_rule(
    products: Iterable[tuple[_Product, int]], dtype: torch.dtype, device: torch.device
) -> RowRule:
    """Return the first rule for which all ``products`` (each with its rows' width) are stable.

    Raises:
        DeterminismError: none of MULTIPLES on a CPU, of BLOCKS on a GPU is enough.
    """
    distinct, blocked = list(products), device.type != "cpu"
    rules = [RowRule(size, blocked) for size in (BLOCKS if blocked else MULTIPLES)]
    for rule in rules:
        if all(_is_stable(product, width, rule, dtype, device) for product, width in distinct):
            return rule
    raise DeterminismError(
        "matrix products here depend on the number of rows or a row's place, "
        f"{'in blocks' if blocked else 'even in multiples'} of {rules[-1].multiple}",
        "Run without --deterministic, or with another number of threads",
    )


def _is_stable(
    product: _Product, width: int, rule: RowRule, dtype: torch.dtype, device: torch.device
) -> bool:
    multiple = rule.multiple
    generator = torch.Generator().manual_seed(multiple)
    rows = torch.randn(8 * multiple, width, generator=generator).to(device=device, dtype=dtype)
    whole = rule.multiply(product, rows)
    for times in _TRIED:
        for first in (0, multiple - 1):  # a row's place in the product must not matter either
            part = slice(first, first + times * multiple)
            if not torch.equal(rule.multiply(product, rows[part].clone()), whole[part]):
                return False
    return True
