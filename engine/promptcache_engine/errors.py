"""The engine's errors, as one tree; each carries its data and says what the caller can do.

    EngineError
    ├── ConfigError            a field of EngineConfig or SamplingParams has a value that cannot be served
    ├── GrammarError           what an answer is to be constrained to cannot be enforced
    ├── EmptyPromptError       a request without a single token
    ├── InvalidTokenError      a token id outside the model's vocabulary
    ├── ContextLengthError     the prompt leaves no room for an answer
    ├── QueueFullError         too many requests wait already
    ├── EngineStoppedError     the engine was not started, was closed, or its worker thread died
    ├── DeadlineError          the request's time was over before its answer was complete
    ├── ModelBrokenError       nothing can be computed any more; the worker ends with it
    ├── GenerationError        this one sequence could not be computed; the others go on
    │   └── DeadEndError       its grammar, or schema, lets it go no further
    ├── ModelUnavailableError  the hub cannot provide the model's file (``hub.errors``)
    └── ModelError             a file, tokenizer or chat template at fault: the tree of ``models.errors``

The cache has errors of its own.
"""


class EngineError(Exception):
    """Root of the engine's errors.

    Attributes:
        remedy: what the caller can do about it, one sentence.
    """

    def __init__(self, problem: str, remedy: str) -> None:
        super().__init__(f"{problem}. {remedy}")
        self.problem = problem
        self.remedy = remedy


class ConfigError(EngineError, ValueError):
    """A configuration field has a value the engine cannot work with.

    Attributes:
        field: the field's name.
        value: the value given.
    """

    def __init__(self, field: str, value: object, remedy: str) -> None:
        super().__init__(f"{field}={value!r} is not possible", remedy)
        self.field = field
        self.value = value


class GrammarError(EngineError, ValueError):
    """A schema, pattern or grammar that cannot be enforced.

    Attributes:
        place: where in a JSON schema the fault is, as a JSON pointer (``/properties/age``); empty for the
            whole, or where it is no schema.
    """

    def __init__(self, reason: str, place: str = "", remedy: str = "Correct it, or leave it out") -> None:
        where = f" at {place}" if place else ""
        super().__init__(f"the constraint cannot be enforced{where}: {reason}", remedy)
        self.place = place


class EmptyPromptError(EngineError, ValueError):
    """A request came without a token to compute."""

    def __init__(self) -> None:
        super().__init__("the prompt has no tokens", "Send at least one token")


class InvalidTokenError(EngineError, ValueError):
    """A token id the model does not know.

    Attributes:
        token: the id.
        position: where it stands in the prompt.
        vocab_size: ids run from 0 to one below this.
    """

    def __init__(self, token: int, position: int, vocab_size: int) -> None:
        remedy = "Encode the prompt with this engine's own tokenizer"
        super().__init__(
            f"token id {token} at position {position} is outside the vocabulary (0 to {vocab_size - 1})",
            remedy,
        )
        self.token = token
        self.position = position
        self.vocab_size = vocab_size


class ContextLengthError(EngineError):
    """The prompt and at least one token of answer do not fit the context.

    Attributes:
        prompt_tokens: tokens of the prompt.
        limit: tokens of prompt and answer together the engine can hold.
        at_least: whether it may have more; it was refused by its length, before it was tokenized.
    """

    def __init__(self, prompt_tokens: int, limit: int, *, at_least: bool = False) -> None:
        remedy = "Shorten the prompt, or serve a model with a longer context"
        counted = f"at least {prompt_tokens}" if at_least else str(prompt_tokens)
        super().__init__(
            f"the prompt has {counted} tokens and the context holds {limit}, answer included", remedy
        )
        self.prompt_tokens = prompt_tokens
        self.limit = limit
        self.at_least = at_least


class QueueFullError(EngineError):
    """As many requests wait as the engine lets wait.

    Attributes:
        waiting: requests in the queue.
        limit: ``EngineConfig.max_waiting``.
    """

    def __init__(self, waiting: int, limit: int) -> None:
        super().__init__(f"{waiting} requests wait already (max_waiting={limit})", "Retry after a moment")
        self.waiting = waiting
        self.limit = limit


class EngineStoppedError(EngineError):
    """No worker thread is there to take the request.

    Attributes:
        reason: why, in words.
    """

    def __init__(self, reason: str, remedy: str = "Start the engine again") -> None:
        super().__init__(f"the engine is stopped: {reason}", remedy)
        self.reason = reason


class GenerationError(EngineError):
    """One sequence could not be computed; its pages are released and other sequences go on.

    Attributes:
        reason: what went wrong, in words.
    """

    def __init__(
        self, reason: str, remedy: str = "Send the request again; report it if it fails again"
    ) -> None:
        super().__init__(f"generation failed: {reason}", remedy)
        self.reason = reason


class DeadEndError(GenerationError):
    """An answer that the grammar it is kept to lets go no further: the grammar's fault, not the engine's."""


class DeadlineError(EngineError):
    """The time a request was given was over before its answer was complete; its pages are released.

    Attributes:
        output_tokens: tokens sampled by then.
    """

    def __init__(self, output_tokens: int) -> None:
        super().__init__(
            f"the request's time was over after {output_tokens} tokens of answer",
            "Give it more time, or ask for fewer tokens",
        )
        self.output_tokens = output_tokens


class ModelBrokenError(EngineError):
    """Sequence after sequence was lost, and the model does not compute a single token by itself either.

    Attributes:
        lost: sequences lost in a row.
        reason: what trying the model led to.
    """

    def __init__(self, lost: int, reason: str) -> None:
        super().__init__(
            f"the model computes nothing any more ({lost} requests lost in a row; {reason})",
            "Start the engine again; check memory and device if it comes back",
        )
        self.lost = lost
        self.reason = reason
