"""The engine's one loop body: plan, compute, sample, settle the books, then tell the callers.

It knows no thread; ``worker`` calls it from one. A sequence that cannot be computed fails alone
(``attempts``), and a row of logits that is not finite concerns its sequence only. When all are lost, the
model itself is tried: if it does not compute a single token, the core gives up.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from torch import Tensor

from promptcache_engine.attempts import Lost, attempt, describe
from promptcache_engine.choosing import Choice, Draw, choose, draw_on_host
from promptcache_engine.errors import (
    DeadEndError,
    DeadlineError,
    EngineError,
    GenerationError,
    ModelBrokenError,
)
from promptcache_engine.events import Admitted, Failed, Finished, FinishReason, GenerationEvent
from promptcache_engine.generation import Generation
from promptcache_engine.info import EngineStats
from promptcache_engine.runner import ModelRunner
from promptcache_engine.scheduler import Chunk, Scheduler
from promptcache_engine.scheduler import Sequence as TokenSequence

# After this many sequences in a row were lost without a token sampled in between, the model is tried.
LOST_IN_A_ROW = 8


@dataclass(slots=True)
class _Counters:
    prefill_tokens: int = 0
    generated_tokens: int = 0
    steps: int = 0
    finished: int = 0
    cancelled: int = 0
    failed: int = 0


class EngineCore:
    """Computes the requests it was given, one step at a time.

    Args:
        scheduler: decides what a step computes.
        runner: computes it.
        eos_token_ids: tokens that end an answer.
        draw: chooses tokens from logits.
        clock: seconds; deadlines are times on it.
    """

    def __init__(
        self,
        scheduler: Scheduler,
        runner: ModelRunner,
        *,
        eos_token_ids: Sequence[int],
        draw: Draw = draw_on_host,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._scheduler = scheduler
        self._runner = runner
        self._eos = frozenset(eos_token_ids)
        self._generations: dict[str, Generation] = {}
        self._outbox: list[tuple[Generation, GenerationEvent]] = []
        self._counters = _Counters()
        self._draw = draw
        self._clock = clock
        self._lost_in_a_row = 0

    @property
    def busy(self) -> bool:
        """Whether a request is left that has not ended."""
        return bool(self._generations)

    def add(self, generation: Generation) -> None:
        """Queue a request."""
        self._generations[generation.id] = generation
        self._scheduler.add(generation.sequence)

    def step(self) -> list[tuple[Generation, GenerationEvent]]:
        """Compute one step.

        Returns:
            The events it led to, in order; pages of ended requests are released already.

        Raises:
            ModelBrokenError: nothing can be computed any more.
        """
        for sequence in self._scheduler.drop_cancelled():
            self._end(self._generations[sequence.id], "cancelled")
        for sequence in self._scheduler.drop_expired(self._clock()):
            generation = self._generations[sequence.id]
            self._send_rest(generation)
            self._fail(generation, DeadlineError(sequence.output_tokens))
        plan = self._scheduler.plan()
        for sequence in plan.rejected:
            self._fail(
                self._generations[sequence.id], GenerationError("it needs more pages than the pool has")
            )
        for sequence in plan.admitted:
            if sequence.preemptions == 0:
                self._report_admission(self._generations[sequence.id])
        if plan.chunks:
            self._copy(plan.admitted)
            self._compute(plan.chunks)
            self._doubt_the_model()
        elif self.busy and not self._outbox:
            raise RuntimeError(f"nothing to compute for {len(self._generations)} requests")
        events, self._outbox = self._outbox, []
        return events

    def abandon(self, error: EngineError) -> list[tuple[Generation, GenerationEvent]]:
        """Give up every request; touches neither scheduler nor cache, which may be broken.

        Returns:
            What is left to tell: events of a step that did not come to its end, then ``error`` for the rest.
        """
        events, self._outbox = self._outbox, []
        events += [(generation, Failed(error)) for generation in self._generations.values()]
        self._generations.clear()
        return events

    def reset_cache(self) -> bool:
        """Forget all cached prefixes; False, and nothing changes, while a sequence runs."""
        return self._scheduler.reset_cache()

    def cached_prefixes(self, prompts: Sequence[tuple[Sequence[int], str]]) -> list[int]:
        """How many tokens of each prompt, in its namespace, could be reused now."""
        return [self._scheduler.cached_prefix(tokens, namespace) for tokens, namespace in prompts]

    def stats(self) -> EngineStats:
        """The counters and the pool at this moment."""
        counters = self._counters
        return self._scheduler.stats(
            prefill_tokens=counters.prefill_tokens,
            generated_tokens=counters.generated_tokens,
            steps=counters.steps,
            finished=counters.finished,
            cancelled=counters.cancelled,
            failed=counters.failed,
        )

    def _copy(self, admitted: Sequence[TokenSequence]) -> None:
        """Make the copies of the sequences just admitted: all at once, or one by one if that fails."""
        try:
            self._runner.copy_pages(copy for each in admitted for copy in each.copies)
        except Exception as error:  # noqa: BLE001 - memory for one sequence's copies may still be there
            if len(admitted) > 1:
                for each in admitted:
                    self._copy((each,))
            else:
                self._lose(self._generations[admitted[0].id], describe(error))
            return
        self._scheduler.copied(admitted)

    def _compute(self, chunks: Sequence[Chunk]) -> None:
        for outcome in attempt(self._runner, chunks):
            if isinstance(outcome, Lost):
                self._lose(self._generations[outcome.sequence.id], outcome.error)
            else:
                self._counters.steps += 1
                self._settle(outcome.chunks, outcome.logits)

    def _doubt_the_model(self) -> None:
        """Where only losses are left, find out whether the requests are at fault or the model."""
        if self._lost_in_a_row < LOST_IN_A_ROW:
            return
        problem = self._runner.probe()
        if problem is not None:
            raise ModelBrokenError(self._lost_in_a_row, problem)
        self._lost_in_a_row = 0

    def _settle(self, chunks: Sequence[Chunk], logits: Tensor) -> None:
        """Note what is computed and choose the next tokens."""
        sampling = [chunk for chunk in chunks if chunk.samples]
        generations = [self._generations[chunk.sequence.id] for chunk in sampling]
        choices = choose(logits, generations, self._draw)
        failed = {
            generation.id
            for generation, choice in zip(generations, choices, strict=True)
            if isinstance(choice, GenerationError)
        }
        for chunk in chunks:
            if not chunk.sequence.decoding:
                self._counters.prefill_tokens += chunk.length
            if chunk.sequence.id not in failed:
                self._scheduler.advance(chunk)
        for generation, choice in zip(generations, choices, strict=True):
            if isinstance(choice, GenerationError):
                self._lose(generation, choice)
                continue
            self._lost_in_a_row = 0
            if len(generation.sequence.tokens) >= generation.sequence.max_length:
                self._end(generation, "length")  # max_tokens=0: the prompt was all that was wanted
            else:
                self._take(generation, choice)

    def _take(self, generation: Generation, choice: Choice) -> None:
        self._scheduler.extend(generation.sequence, choice.token)
        self._counters.generated_tokens += 1
        try:
            delta, finish_reason = generation.take(
                choice.token,
                is_end=self._is_end(generation, choice),
                logprob=choice.logprob,
                complete=choice.complete,
            )
        except Exception as error:  # noqa: BLE001 - a token without text concerns its own request only
            self._fail(generation, describe(error))
            return
        if delta is not None:
            self._outbox.append((generation, delta))
        if finish_reason is not None:
            self._end(generation, finish_reason)

    def _is_end(self, generation: Generation, choice: Choice) -> bool:
        """Whether the token ends the answer; after a grammar's end only an end token may come."""
        params = generation.params
        if choice.token in params.stop_token_ids:
            return True
        return choice.token in self._eos and (choice.complete or not params.ignore_eos)

    def _report_admission(self, generation: Generation) -> None:
        sequence = generation.sequence
        assert sequence.lease is not None
        cached = sequence.cached_tokens or 0
        self._outbox.append((generation, Admitted(sequence.prompt_tokens, cached, sequence.lease.reason)))

    def _end(self, generation: Generation, finish_reason: FinishReason) -> None:
        sequence = generation.sequence
        self._release(generation, keep=True)
        if finish_reason == "cancelled":
            self._counters.cancelled += 1
            self._send_rest(generation)
        else:
            self._counters.finished += 1
        cached = sequence.cached_tokens or 0
        counts = (sequence.prompt_tokens, cached, sequence.output_tokens)
        finished = Finished(finish_reason, *counts, stop=generation.stop)
        self._outbox.append((generation, finished))

    def _send_rest(self, generation: Generation) -> None:
        """Send the text and tokens held back of an answer that ends early."""
        rest = generation.rest()
        if rest is not None:
            self._outbox.append((generation, rest))

    def _lose(self, generation: Generation, error: GenerationError) -> None:
        """Fail a sequence that the model could not compute."""
        self._lost_in_a_row += not isinstance(error, DeadEndError)
        self._fail(generation, error)

    def _fail(self, generation: Generation, error: EngineError) -> None:
        self._release(generation, keep=False)
        self._counters.failed += 1
        self._outbox.append((generation, Failed(error)))

    def _release(self, generation: Generation, *, keep: bool) -> None:
        self._scheduler.release(generation.sequence, keep=keep)
        self._runner.forget(generation.id)
        del self._generations[generation.id]
