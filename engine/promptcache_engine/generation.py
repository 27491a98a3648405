"""One request on its way: the scheduler's sequence with its text, its draws and the caller's callback.

``Generation`` is also the handle the caller gets; only ``id`` and ``cancel`` are meant for other threads.
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from promptcache_engine.config import SamplingParams
from promptcache_engine.detokenizer import TextStream
from promptcache_engine.events import FinishReason, GenerationEvent, TokenDelta, TokenLogprob
from promptcache_engine.sampling import Draws
from promptcache_engine.scheduler import Sequence
from promptcache_engine.shaping import Shaper

logger = logging.getLogger(__name__)

OnEvent = Callable[[GenerationEvent], None]


@dataclass(frozen=True, slots=True)
class _Unsent:
    """A token that waits for its text, and at which character of the answer it begins."""

    token: int
    logprob: TokenLogprob | None
    begins: int


@dataclass(slots=True, eq=False)
class Generation:
    """A submitted request.

    Attributes:
        sequence: what the scheduler knows of it.
        params: how its tokens are chosen.
        shaper: what changes its logits before that; None where nothing does.
        stop: the stop string that has ended its text.
    """

    sequence: Sequence
    params: SamplingParams
    _text: TextStream
    _draws: Draws
    _on_event: OnEvent | None
    shaper: Shaper | None = None
    stop: str | None = None
    _unsent: list[_Unsent] = field(default_factory=list)
    _sent_characters: int = 0

    @property
    def id(self) -> str:
        """The request's name, unique in its engine."""
        return self.sequence.id

    @property
    def draws(self) -> Draws:
        """The random numbers of this answer."""
        return self._draws

    def cancel(self) -> None:
        """End the request before the next step, from any thread; without effect once it has ended."""
        self.sequence.cancelled = True

    def emit(self, event: GenerationEvent) -> None:
        """Tell the caller. A callback that raises is not called again and its request is cancelled."""
        if self._on_event is None:
            return
        try:
            self._on_event(event)
        except BaseException as error:  # noqa: BLE001 - the caller's code, SystemExit too, must not stop others
            logger.warning("request %s: its event callback raised %s", self.id, type(error).__name__)
            self._on_event = None
            self.sequence.cancelled = True

    def take(
        self, token: int, *, is_end: bool, logprob: TokenLogprob | None = None, complete: bool = False
    ) -> tuple[TokenDelta | None, FinishReason | None]:
        """Take the sampled token, already part of the sequence.

        Args:
            token: its id.
            is_end: whether it is an end token, to be obeyed.
            logprob: how likely it was, where that was asked for.
            complete: whether no further token may come.

        Returns:
            What can be sent now, and how the answer ended if it did.
        """
        self._unsent.append(_Unsent(token, None if is_end else logprob, self._text.characters))
        if is_end:
            return self._delta(self._text.flush(), last=True), "stop"
        result = self._text.push(token)
        if result.stop is not None:
            self.stop = result.stop
            self._cut(self._sent_characters + len(result.text))
            return self._delta(result.text, last=True), "stop"
        if complete or len(self.sequence.tokens) >= self.sequence.max_length:
            rest = result.text + self._text.flush()
            return self._delta(rest, last=True), "stop" if complete else "length"
        return self._delta(result.text, last=False), None

    def rest(self) -> TokenDelta | None:
        """What was held back, when the request is cancelled."""
        return self._delta(self._text.flush(), last=True)

    def _cut(self, end: int) -> None:
        """Tokens that begin where the text has ended already are no part of it."""
        self._unsent = [each if each.begins < end else replace(each, logprob=None) for each in self._unsent]

    def _delta(self, text: str, *, last: bool) -> TokenDelta | None:
        """Send text as soon as there is some, and tokens with the text they led to.

        A token whose text is all held back waits with it: it may yet turn out to lie in a stop string.
        """
        if not (text or (last and self._unsent)):
            return None
        self._sent_characters += len(text)
        sent = self._sent_characters
        count = len(self._unsent) if last else sum(each.begins < sent for each in self._unsent)
        unsent, self._unsent = self._unsent[:count], self._unsent[count:]
        logprobs = tuple(each.logprob for each in unsent if each.logprob is not None)
        return TokenDelta(text, tuple(each.token for each in unsent), logprobs)
