"""What one replica has to do, and how fast it is: learned from what it answered.

The model is the one a prefill queue obeys: prompts are computed one after another, and the first output of
one comes when all before it and its own missing tokens are computed. Decoding slows with every sequence that
is decoded beside it. Times are seconds on a clock of the caller's.
"""

from __future__ import annotations

from dataclasses import dataclass

PREFILL_PRIOR = 8_000.0
"""Prompt tokens a replica computes in a second until it has shown its own rate."""

DECODE_PRIOR = 50.0
"""Tokens a second one sequence gets until a replica has shown its own rate."""

SLOWDOWN_S = 0.0002
"""Seconds that one more sequence adds to each step of decoding, until a replica has shown its own."""

OUTPUT_PRIOR = 256.0
"""Tokens of an answer until some have been seen."""

_LEAST_TOKENS = 256
_FADING = 0.9  # of what was learned, for every second of computing
_DAMPING = 0.2
_MOST_SLOWDOWN_S = 0.005


@dataclass(slots=True)
class Job:
    """A request that a replica works on. ``missing``: prompt tokens it must compute."""

    missing: float
    sent_at: float
    first_at: float | None = None
    prefill_s: float = 0.0
    beside: int = 0


class Load:
    """The work of one replica.

    Args:
        weight: how fast it is expected to be beside others, until it has shown it.
        prefill_rate: tokens a second expected of weight 1.

    Attributes:
        decoding: requests whose answer has begun.
        decode_rate: tokens a second that one answer gets.
        output_tokens: length of its answers.
        slowdown_s: seconds that one more answer adds to each step of decoding.
    """

    def __init__(self, weight: float = 1.0, prefill_rate: float = PREFILL_PRIOR) -> None:
        self._jobs: dict[int, Job] = {}
        self._tickets = 0
        self._pending = 0.0
        self._free_at = 0.0
        self._last_first = float("-inf")
        self._computed, self._busy = prefill_rate * weight, 1.0  # tokens and seconds, both fading
        self.decoding = 0
        self.decode_rate = DECODE_PRIOR
        self.output_tokens = OUTPUT_PRIOR
        self.slowdown_s = SLOWDOWN_S / weight

    def learn_from(self, earlier: Load) -> None:
        """Go on with the rates that were learned of the same server."""
        self._computed, self._busy = earlier._computed, earlier._busy
        self.decode_rate, self.slowdown_s = earlier.decode_rate, earlier.slowdown_s
        self.output_tokens = earlier.output_tokens

    @property
    def running(self) -> int:
        """Requests it has."""
        return len(self._jobs)

    @property
    def prefill_rate(self) -> float:
        """Prompt tokens it computes in a second."""
        return self._computed / self._busy

    @property
    def evidence(self) -> tuple[float, float]:
        """Prompt tokens it computed, and the seconds that took; the older, the less they count."""
        return self._computed, self._busy

    @property
    def pending_tokens(self) -> float:
        """Prompt tokens of requests that have shown no output yet."""
        return self._pending

    def backlog_s(self, now: float) -> float:
        """Seconds until it can begin another prompt.

        Where it is later than was predicted, it is taken to need as long again as it is late.
        """
        if self.decoding == len(self._jobs):
            return 0.0
        left = self._free_at - now
        return left if left >= 0 else min(-left, self._pending / self.prefill_rate)

    def crowd_s(self) -> float:
        """Seconds that one more answer costs, it and those beside it, for being decoded together."""
        return 2 * self.output_tokens * self.slowdown_s * self.decoding

    def sent(self, missing: float, now: float) -> int:
        """Note a request; returns the ticket that the other notes want."""
        self._tickets += 1
        self._jobs[self._tickets] = Job(missing, now)
        self._free_at = now + self.backlog_s(now) + missing / self.prefill_rate
        self._pending += missing
        return self._tickets

    def first_output(self, ticket: int, now: float) -> None:
        """Note a request's first output: its prompt is computed."""
        job = self._jobs.get(ticket)
        if job is None or job.first_at is not None:
            return
        job.first_at, job.beside = now, self.decoding
        job.prefill_s = max(0.0, now - max(job.sent_at, self._last_first))
        self._last_first = now
        self.decoding += 1
        self._settle(job, now)

    def ended(
        self, ticket: int, now: float, *, computed: float | None = None, output_tokens: int | None = None
    ) -> None:
        """Note a request's end, whether it was answered or not.

        ``computed``: prompt tokens that were not cached, and ``output_tokens``, where the replica told them.
        """
        job = self._jobs.pop(ticket, None)
        if job is None:
            return
        if job.first_at is None:
            self._settle(job, now)
            return
        self.decoding -= 1
        self._learn_prefill(job.prefill_s, job.missing if computed is None else computed)
        if output_tokens is not None and output_tokens > 1 and now > job.first_at:
            self._learn_decode(job, (now - job.first_at) / (output_tokens - 1), output_tokens)

    def _settle(self, job: Job, now: float) -> None:
        waiting = len(self._jobs) - self.decoding
        self._pending = max(0.0, self._pending - job.missing) if waiting else 0.0
        self._free_at = now + self._pending / self.prefill_rate

    def _learn_prefill(self, seconds: float, computed: float) -> None:
        """``seconds``: since it came, or since the one before it had its first output."""
        if computed < _LEAST_TOKENS:
            return
        fading = _FADING**seconds
        self._computed = self._computed * fading + computed
        self._busy = self._busy * fading + seconds

    def _learn_decode(self, job: Job, step_s: float, tokens: int) -> None:
        """A step slower than the rate learned so far is laid to the neighbours."""
        excess = step_s - 1 / self.decode_rate
        self.decode_rate += _DAMPING * (1 / step_s - self.decode_rate)
        self.output_tokens += _DAMPING * (tokens - self.output_tokens)
        if job.beside:
            share = min(max(0.0, self.slowdown_s + excess / job.beside), _MOST_SLOWDOWN_S)
            self.slowdown_s += _DAMPING * (share - self.slowdown_s)
