"""Computing a step whatever goes wrong: it is tried whole, then in parts, until the fault stands alone.

A step that memory does not suffice for is halved, down to one token. After any other error each sequence is
tried by itself. What becomes of a sequence that is lost is the core's business.
"""

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import torch
from torch import Tensor

from promptcache_engine.errors import GenerationError
from promptcache_engine.runner import ModelRunner
from promptcache_engine.scheduler import Chunk
from promptcache_engine.scheduler import Sequence as TokenSequence

logger = logging.getLogger(__name__)

Chunks: TypeAlias = Sequence[Chunk]

_MEMORY_WORDS = ("out of memory", "not enough memory", "can't allocate memory", "cannot allocate memory")


@dataclass(frozen=True, slots=True)
class Computed:
    """Chunks that were computed, with the logits of those that sample."""

    chunks: Chunks
    logits: Tensor


@dataclass(frozen=True, slots=True)
class Lost:
    """A sequence that cannot be computed, and why."""

    sequence: TokenSequence
    error: GenerationError


def attempt(runner: ModelRunner, chunks: Chunks) -> Iterator[Computed | Lost]:
    """Compute ``chunks``; yield what was computed and what was lost.

    A chunk may come in pieces. The caller settles each before it asks for the next, and takes the pages of
    lost sequences: their later pieces are left out.
    """
    chunks = [chunk for chunk in chunks if chunk.sequence.lease is not None]
    if not chunks:
        return
    logits, error = _try(runner, chunks)
    if logits is not None:
        yield Computed(chunks, logits)
        return
    assert error is not None
    for part in _parts(chunks, error):
        yield from attempt(runner, part)
    if len(chunks) == 1 and (chunks[0].length == 1 or not _is_memory(error)):
        yield Lost(chunks[0].sequence, describe(error))


def describe(error: Exception) -> GenerationError:
    """An unexpected error as the caller sees it: the first line of what may be pages."""
    text = str(error).partition("\n")[0].rstrip(". ")
    reason = f"{type(error).__name__}: {text}" if text else type(error).__name__
    if _is_memory(error):
        return GenerationError(reason, "Free memory, or use smaller kv_cache_tokens and max_batch_tokens")
    return GenerationError(reason)


def _try(runner: ModelRunner, chunks: Chunks) -> tuple[Tensor | None, Exception | None]:
    try:
        return runner.compute(chunks), None
    except Exception as error:  # noqa: BLE001 - whatever a kernel raises, the other sequences go on
        # The frames of a failed step hold its tensors, which the next try may need the room of.
        return None, error.with_traceback(None)


def _parts(chunks: Chunks, error: Exception) -> list[Chunks]:
    """What to try instead; nothing for a sequence that stands alone."""
    if not _is_memory(error):
        return [[chunk] for chunk in chunks] if len(chunks) > 1 else []
    tokens = sum(chunk.length for chunk in chunks)
    logger.warning("no memory for a step of %d sequences and %d tokens: it is halved", len(chunks), tokens)
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
    if len(chunks) > 1:
        middle = len(chunks) // 2
        return [chunks[:middle], chunks[middle:]]
    chunk = chunks[0]
    if chunk.length == 1:
        return []
    first = chunk.length // 2
    rest = Chunk(chunk.sequence, chunk.start + first, chunk.length - first)
    return [[Chunk(chunk.sequence, chunk.start, first)], [rest]]


def _is_memory(error: Exception) -> bool:
    if isinstance(error, MemoryError | torch.OutOfMemoryError):
        return True
    return isinstance(error, RuntimeError) and any(word in str(error).lower() for word in _MEMORY_WORDS)
