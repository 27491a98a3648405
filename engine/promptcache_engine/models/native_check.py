"""Gives a model its native decode step, once it has been seen to agree with the torch path.

What is tried: two sequences of different lengths in one step, in slots out of order, after a prompt that
torch computed. The native step rounds activations to 16 bits, so that the results are close and not equal.
"""

import torch
from torch import Tensor

from promptcache_engine.kernels.native import Library, NativeUnavailableError
from promptcache_engine.models.batch import ForwardBatch, SequenceSlice
from promptcache_engine.models.decoder import DecoderModel
from promptcache_engine.models.kv_pool import KVPool
from promptcache_engine.models.native_decode import NativeDecoder

PROMPT = 40
"""Tokens before the step that is compared."""

MAX_DIVERGENCE = 0.05
"""Mean Kullback-Leibler divergence, in nat, of the next-token distributions. A wrong slot, weight or angle
gives more than 1; weights rounded to 8 bits some thousandths, weights in their file's bits nearly none."""

_STRIDE = 7919  # between the token ids that are tried


def add_native_decode(model: DecoderModel, library: Library) -> None:
    """Set ``model.native``.

    Raises:
        NativeUnavailableError: the model cannot be served so, or the results differ too much.
    """
    if model.deterministic:
        raise NativeUnavailableError("a deterministic model has one numeric path for every token")
    native = NativeDecoder(model.config, model.weights, library)
    found = divergence(model, native)
    if not found <= MAX_DIVERGENCE:  # NaN, too
        raise NativeUnavailableError(
            f"its results differ from torch's by {found:.3g} nat, at most {MAX_DIVERGENCE} is allowed"
        )
    model.native = native


def divergence(model: DecoderModel, native: NativeDecoder) -> float:
    """Return how far the native step's next-token distributions are from torch's: mean divergence in nat."""
    tokens = (torch.arange(PROMPT + 2) + 1) * _STRIDE % model.config.vocab_size
    slots = torch.arange(PROMPT + 2).flip(0)
    pool = KVPool(model.config, PROMPT + 2, model.dtype, model.device)
    every = torch.arange(PROMPT)
    whole = SequenceSlice(0, PROMPT, slots[:PROMPT], _windowed(model, slots[:PROMPT]))
    model.forward_torch(_batch(model, tokens[:PROMPT], every, slots[:PROMPT], [whole]), pool)
    contexts = [slots[: PROMPT + 1], torch.cat((slots[: PROMPT // 4], slots[PROMPT + 1 :]))]
    step = _batch(
        model,
        tokens[PROMPT:],
        torch.tensor([len(context) - 1 for context in contexts]),
        slots[PROMPT:],
        [SequenceSlice(row, 1, slots, _windowed(model, slots)) for row, slots in enumerate(contexts)],
    )
    expected = torch.log_softmax(model.forward_torch(step, pool), dim=-1)
    found = torch.log_softmax(model.forward_native(native, step, pool), dim=-1)
    return float((expected.exp() * (expected - found)).sum(dim=-1).mean())


def _windowed(model: DecoderModel, slots: Tensor) -> tuple[Tensor, ...]:
    return tuple(slots for _ in model.config.windows)


def _batch(
    model: DecoderModel, tokens: Tensor, positions: Tensor, writes: Tensor, slices: list[SequenceSlice]
) -> ForwardBatch:
    """A step in which every sequence's last row gives logits."""
    last = torch.tensor([part.start + part.length - 1 for part in slices])
    return ForwardBatch(tokens, positions, writes, slices, last, _windowed(model, writes))
