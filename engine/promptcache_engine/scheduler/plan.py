"""What one step computes: the scheduler writes it, the runner reads it."""

from dataclasses import dataclass

from promptcache_engine.scheduler.sequence import Sequence


@dataclass(frozen=True, slots=True)
class Chunk:
    """A run of one sequence's tokens to compute in one step.

    Attributes:
        sequence: whose tokens.
        start: position of the first.
        length: how many; 1 when decoding.
    """

    sequence: Sequence
    start: int
    length: int

    @property
    def end(self) -> int:
        """Position after the last token."""
        return self.start + self.length

    @property
    def samples(self) -> bool:
        """Whether it reaches the last known token, so that the next one can be chosen."""
        return self.end == len(self.sequence.tokens)


@dataclass(frozen=True, slots=True)
class StepPlan:
    """One step of the engine.

    Attributes:
        chunks: what to compute: sequences that decode first, then prompts.
        admitted: the sequences that got their pages in this step; their leases' copies come before computing.
        rejected: sequences that cannot be computed even with the whole pool; they hold nothing.
    """

    chunks: tuple[Chunk, ...]
    admitted: tuple[Sequence, ...]
    rejected: tuple[Sequence, ...]
