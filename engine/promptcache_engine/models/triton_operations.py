"""The operations as Triton's kernels over page tables that are laid out once a step.

Importing this module imports Triton. What the kernels do is in ``kernels.triton``; here is what a step's
slots become: for each group of layers with pages of their own a table of pages, and for all of them the
lengths of contexts and the rows of each sequence.
"""

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional
from torch.nn.utils.rnn import pad_sequence

from promptcache_engine.kernels import triton as kernels
from promptcache_engine.kernels.tables import Chunks, PageTable
from promptcache_engine.models.batch import ForwardBatch
from promptcache_engine.models.operations import Angles, AttentionRules, Pools


@dataclass(frozen=True, eq=False)
class GroupTables:
    """Where one group of layers keeps a step's keys and values.

    ``writes`` int64 [T] are the slots of the step's rows. ``decoding`` are the pages of the first sequences,
    of one row each; ``extending`` those of the others. Either may be of no sequence.
    """

    writes: Tensor
    decoding: PageTable
    extending: PageTable


class TritonStep:
    """A step whose first rows are tokens of one-row sequences, and whose other rows are ``chunks``."""

    def __init__(self, groups: dict[int | None, GroupTables], chunks: Chunks) -> None:
        self._groups = groups
        self._chunks = chunks

    def attend(self, projected: Tensor, angles: Angles, pools: Pools, rules: AttentionRules) -> Tensor:
        """As ``operations.Step.attend``."""
        tables = self._groups[rules.group if rules.group in self._groups else None]
        query = kernels.rotary_write(
            projected,
            *angles,
            *pools,
            slots=tables.writes,
            heads=rules.heads,
            dim=rules.dim,
            query_norm=rules.query_norm,
            key_norm=rules.key_norm,
            eps=rules.eps,
        )
        mixed = query.new_empty(query.shape[0], rules.heads * rules.dim)
        first = tables.decoding.contexts.shape[0]
        if first:
            kernels.decode_attention(
                query[:first], *pools, tables.decoding, out=mixed[:first],
                scale=rules.scale, window=rules.window, softcap=rules.softcap,
                deterministic=rules.deterministic,
            )  # fmt: skip
        if tables.extending.contexts.shape[0]:
            kernels.extend_attention(
                query[first:], *pools, tables.extending, self._chunks, out=mixed[first:],
                scale=rules.scale, window=rules.window, softcap=rules.softcap,
                deterministic=rules.deterministic,
            )  # fmt: skip
        return mixed


class TritonOperations:
    """Runs on a GPU; on a CPU only where Triton interprets its kernels."""

    name = "triton"
    because = ""
    rms_norm = staticmethod(kernels.rms_norm)
    add_rms_norm = staticmethod(kernels.add_rms_norm)
    silu_mul = staticmethod(kernels.silu_mul)
    gelu_mul = staticmethod(kernels.gelu_mul)

    def begin(self, batch: ForwardBatch) -> TritonStep:
        """As ``operations.Operations.begin``; two small copies to the device, and no wait for it.

        One-row sequences at the step's beginning are decoded; any that stand behind a longer one are chunks.
        """
        lengths = [part.length for part in batch.sequences]
        first = next((at for at, length in enumerate(lengths) if length > 1), len(lengths))
        contexts = [part.context_slots.shape[0] for part in batch.sequences]
        starts = [part.start - first for part in batch.sequences[first:]]
        starts.append(batch.token_ids.shape[0] - first)
        parts = (slice(first), slice(first, None))
        *lasting, rows = _on_device([*(contexts[part] for part in parts), starts], batch.token_ids.device)
        groups: dict[int | None, GroupTables] = {}
        for group in (None, *range(len(batch.window_writes))):
            pages = _pages(batch, group)
            decoding, extending = (
                PageTable(pages[part], ends, batch.page_size, max(contexts[part], default=0))
                for part, ends in zip(parts, lasting, strict=True)
            )
            groups[group] = GroupTables(batch.writes(group), decoding, extending)
        return TritonStep(groups, Chunks(rows, max(lengths[first:], default=0)))

    def copy_slots(self, pool: Tensor, src: Tensor, dst: Tensor) -> None:
        """As ``reference.copy_slots``. A slot may be read for one copy and written by another, and programs
        run at once: so all are gathered first."""
        kernels.scatter_slots(pool, dst, kernels.gather_slots(pool, src))


def _on_device(lists: list[list[int]], device: torch.device) -> list[Tensor]:
    """Each list as int32, all in one copy; each begins on 16 bytes, as Triton would else compile again."""
    begins, values = [], list[int]()
    for each in lists:
        begins.append(len(values))
        values += [*each, *[0] * (-len(each) % _ALIGNED)]
    moved = torch.tensor(values, dtype=torch.int32).to(device)
    return [moved[begin : begin + len(each)] for begin, each in zip(begins, lists, strict=True)]


def _pages(batch: ForwardBatch, group: int | None) -> Tensor:
    """Pages int32 [B, P] of every sequence's context, one after the other; each begins on 16 bytes."""
    slots = [context[:: batch.page_size] for _, _, context in batch.slices(group)]
    pages = (pad_sequence(slots, batch_first=True) // batch.page_size).to(torch.int32)
    return functional.pad(pages, (0, -pages.shape[1] % _ALIGNED))


_ALIGNED = 4
"""Numbers of 32 bits in 16 bytes."""
