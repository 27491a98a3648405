"""Where the contexts of a step's sequences lie, in the form that every backend of the operations reads.

Both values live on the device and are made once a step, for all layers that share their pages. How a page
comes to belong to a sequence is the cache's business.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

LARGEST_HEAD = 256
"""Values of a head that the tiles of Triton's kernels hold."""


@dataclass(frozen=True, eq=False)
class PageTable:
    """The pages of B sequences.

    Args:
        pages: int32 [B, P]; ``pages[b, i]`` holds the tokens ``i * page_size`` and following of sequence b,
            in the slots ``pages[b, i] * page_size`` and following. Entries behind a context's end, and those
            that every row's window has passed, are never read. A row's values must lie side by side.
        contexts: int32 [B], the tokens of each context, this step's included; 0 makes an empty sequence,
            whose rows come out as zeros.
        page_size: tokens a page holds.
        longest: no context is longer. It bounds the launch and changes no result.
    """

    pages: Tensor
    contexts: Tensor
    page_size: int
    longest: int

    def __post_init__(self) -> None:
        count = self.contexts.shape[0]
        if self.pages.dim() != 2 or self.pages.shape[0] != count or self.contexts.dim() != 1:
            shapes = f"{tuple(self.pages.shape)} for {tuple(self.contexts.shape)} contexts"
            raise ValueError(f"pages must be [sequences, pages], not {shapes}")
        if self.pages.dtype != torch.int32 or self.contexts.dtype != torch.int32:
            raise ValueError(f"pages and contexts are int32, not {self.pages.dtype}, {self.contexts.dtype}")
        if self.pages.shape[1] > 1 and self.pages.stride(1) != 1:
            raise ValueError("the pages of a sequence must lie side by side")
        if self.page_size < 1 or not 0 <= self.longest <= self.pages.shape[1] * self.page_size:
            room = f"{self.pages.shape[1]} pages of {self.page_size}"
            raise ValueError(f"a context of {self.longest} tokens does not fit {room}")

    def slots(self, sequence: int) -> Tensor:
        """The slots of one context in order, int64; synchronises with the device."""
        context = int(self.contexts[sequence])
        within = torch.arange(self.page_size, device=self.pages.device)
        pages = self.pages[sequence, : -(-context // self.page_size)].long()
        return (pages.unsqueeze(-1) * self.page_size + within).flatten()[:context]


@dataclass(frozen=True, eq=False)
class Chunks:
    """Which rows of a step belong to which sequence: the last rows of its context.

    Args:
        starts: int32 [B + 1]; the rows of sequence b are ``starts[b]`` to ``starts[b + 1]``, which may be
            none, and are no more than its context has tokens.
        longest: no sequence has more rows. It bounds the launch and changes no result.
    """

    starts: Tensor
    longest: int

    def __post_init__(self) -> None:
        if self.starts.dim() != 1 or self.starts.shape[0] < 1 or self.starts.dtype != torch.int32:
            found = f"{self.starts.dtype} {tuple(self.starts.shape)}"
            raise ValueError(f"starts must be int32 [sequences + 1], not {found}")
        if self.longest < 0:
            raise ValueError(f"a chunk has no {self.longest} rows")
