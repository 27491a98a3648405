"""One sequence: the tokens of a request and how far they are computed.

It holds no text, no random numbers and no callback; those belong to the worker's ``Generation``.
"""

from dataclasses import dataclass, field

from promptcache_engine.cache import Hints, Lease, PageCopy


@dataclass(slots=True, eq=False, kw_only=True)
class Sequence:
    """A request as the scheduler sees it. Changed only by the worker thread, except ``cancelled``.

    Attributes:
        id: the request's name, unique in the engine.
        tokens: the prompt, then what was sampled.
        prompt_tokens: length of the prompt.
        max_length: tokens of prompt and answer at which it must end.
        namespace: only sequences of one namespace share prefixes.
        use_cache: False neither reads the cache nor leaves anything in it.
        hints: what the eviction policy may want to know of it.
        priority: lower comes first and is preempted last.
        deadline: when it must have ended, on the engine's clock; None: never.
        parent: the sequence with the same prompt that computes it for both; None for one that stands alone.
        arrival: its place in the order of arrival; of one priority the highest is preempted first.
        arrival_work: what the engine had computed when it arrived, in tokens.
        missing: tokens the cache did not have when it was last asked; None before that.
        missing_as_of: the scheduler's step at which it was asked.
        refused: whether it was its turn and there were no pages.
        lease: the pages it holds; None while it waits.
        copies: page copies to make before it is computed for the first time on this lease.
        computed: tokens at the front whose KV lies in those pages.
        stored: tokens at the front that others can already reuse.
        cached_tokens: tokens it found in the cache when it was first admitted; None before that.
        preemptions: how often it had to give its pages back.
        ended: whether it was taken out for good.
        cancelled: set by any thread; obeyed before the next step.
        leader: the running sequence it is held back for.
        shared_with: tokens at the front that it shares with running sequences, by their ids.
    """

    id: str
    tokens: list[int]
    prompt_tokens: int
    max_length: int
    namespace: str = ""
    use_cache: bool = True
    hints: Hints | None = None
    priority: int = 0
    deadline: float | None = None
    parent: "Sequence | None" = None
    arrival: int = 0
    arrival_work: int = 0
    missing: int | None = None
    missing_as_of: int = 0
    refused: bool = False
    lease: Lease | None = None
    copies: list[PageCopy] = field(default_factory=list)
    computed: int = 0
    stored: int = 0
    cached_tokens: int | None = None
    preemptions: int = 0
    ended: bool = False
    cancelled: bool = False
    leader: "Sequence | None" = None
    shared_with: dict[str, int] = field(default_factory=dict)

    @property
    def remaining(self) -> int:
        """Tokens known but not yet computed; at least one while the sequence runs."""
        return len(self.tokens) - self.computed

    @property
    def decoding(self) -> bool:
        """Whether the next step computes only the token sampled last."""
        return self.computed >= self.prompt_tokens and self.remaining == 1

    @property
    def output_tokens(self) -> int:
        """Tokens sampled so far."""
        return len(self.tokens) - self.prompt_tokens

    @property
    def awaits_prompt(self) -> bool:
        """Whether its prompt is still to be computed for the first time."""
        return not self.ended and self.output_tokens == 0 and self.computed < self.prompt_tokens
