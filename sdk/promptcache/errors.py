"""The SDK's errors, in one tree.

    PromptCacheError
    ├── UnknownCauseError          a code the catalogue does not hold
    ├── CanonicalJSONError         a value that has no faithful canonical form
    ├── ConversationError          a step that would move a conversation's prefix, or is out of order
    │   ├── ReplayError            an answer that cannot be replayed byte for byte
    │   ├── PrefixMoveError        a step that would move the prefix of a strict conversation
    │   └── ConversationBusyError  a second request of a conversation while its first is on its way
    ├── StoredConversationError    a saved conversation that cannot be read back
    ├── ProviderDataError          a file of facts about providers that cannot be used
    ├── PriceListError             a price list with a value that is no price
    ├── TemplateError              a template that cannot be rendered as declared
    │   └── TemplateBoundError     a chat template that would take more steps or memory than it may
    ├── VolatileContentError       a value that changes between calls, found in the static part (strict mode)
    ├── MissingExtraError          a command or function whose optional packages are not installed
    └── MalformedRequestError      a request body that is not one of the shapes the SDK can cut

Every error carries the data it speaks of and a ``remedy``: what to do about it, in one sentence.
`PromptCacheWarning` is the one warning category; it carries a cause's code.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from promptcache.turns.prefix_move import PrefixMove

__all__ = [
    "CanonicalJSONError",
    "ConversationBusyError",
    "ConversationError",
    "MalformedRequestError",
    "MissingExtraError",
    "PrefixMoveError",
    "PriceListError",
    "PromptCacheError",
    "PromptCacheWarning",
    "ProviderDataError",
    "ReplayError",
    "StoredConversationError",
    "TemplateBoundError",
    "TemplateError",
    "UnknownCauseError",
    "VolatileContentError",
]


class PromptCacheError(Exception):
    """Root of everything the SDK raises on purpose; ``remedy`` says what to do next."""

    def __init__(self, message: str, *, remedy: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy

    def __str__(self) -> str:
        return f"{self.message} {self.remedy}".rstrip()


class UnknownCauseError(PromptCacheError, KeyError):
    """No cause has this code; ``code`` is what was asked for."""

    def __init__(self, code: str) -> None:
        super().__init__(
            f"There is no cause {code!r}.", remedy="List the causes that exist with `promptcache rule`."
        )
        self.code = code


class CanonicalJSONError(PromptCacheError, ValueError):
    """A value without a faithful canonical form; ``path`` is where it stands, as ``$.key[0]``."""

    def __init__(self, path: str, problem: str, *, remedy: str = "") -> None:
        super().__init__(f"Cannot write {path} as canonical JSON: {problem}.", remedy=remedy)
        self.path = path
        self.problem = problem


class ConversationError(PromptCacheError):
    """A step that would move the prefix, or that does not fit the conversation's state."""


class ReplayError(ConversationError):
    """An answer from which the bytes to replay cannot be taken."""


class PrefixMoveError(ConversationError):
    """A step that would move the prefix of a strict conversation; ``move`` says what it would cost."""

    def __init__(self, move: PrefixMove, *, remedy: str = "") -> None:
        super().__init__(
            f"{move.code}: this would move the prefix, and {move.lost} tokens would be computed anew.",
            remedy=remedy,
        )
        self.move = move


class ConversationBusyError(ConversationError):
    """A conversation waits for an answer and cannot ask a second question; a fork can."""


class StoredConversationError(PromptCacheError):
    """A saved conversation that cannot be read back, or not be written; ``path`` is the file."""

    def __init__(self, path: str, problem: str, *, remedy: str = "", step: str = "load") -> None:
        super().__init__(f"Cannot {step} the conversation in {path}: {problem}.", remedy=remedy)
        self.path = path
        self.problem = problem


class ProviderDataError(PromptCacheError):
    """A file of facts about providers that cannot be used; ``path`` is the file."""

    def __init__(self, path: str, problem: str) -> None:
        super().__init__(
            f"Cannot use the provider facts in {path}: {problem}.",
            remedy="Give it the form of promptcache/data/providers.json, or unset PROMPTCACHE_PROVIDERS.",
        )
        self.path = path
        self.problem = problem


class PriceListError(PromptCacheError, ValueError):
    """A price list that cannot be used; ``key`` names the culprit, as ``tiers[0].input``."""

    def __init__(self, key: str, problem: str) -> None:
        super().__init__(
            f"Cannot use the price list: {key!r} {problem}.",
            remedy="Prices are numbers from 0, in USD per million tokens; leave out what is not known.",
        )
        self.key = key
        self.problem = problem


class TemplateError(PromptCacheError):
    """A template that cannot be rendered as declared; ``template`` is its name."""

    def __init__(self, template: str, problem: str, *, remedy: str = "") -> None:
        super().__init__(f"Template {template!r}: {problem}.", remedy=remedy)
        self.template = template
        self.problem = problem


class TemplateBoundError(TemplateError):
    """A chat template that was stopped: it computes without end, or makes something huge."""


class VolatileContentError(PromptCacheError):
    """Static text holds a value that will change; ``code`` is the cause, ``where`` names the part."""

    def __init__(self, code: str, where: str, excerpt: str, *, remedy: str = "") -> None:
        super().__init__(f"{code}: {where} holds {excerpt!r}, which will change.", remedy=remedy)
        self.code = code
        self.where = where
        self.excerpt = excerpt


class MissingExtraError(PromptCacheError):
    """Optional packages are absent; ``extra`` names the extra that brings them."""

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(f"{what} needs the {extra}:", remedy=f"pip install 'promptcache[{extra}]'")
        self.what = what
        self.extra = extra


class MalformedRequestError(PromptCacheError, ValueError):
    """A body that is not a request the SDK knows; ``path`` is the offending place, ``problem`` says why."""

    def __init__(self, path: str, problem: str, *, remedy: str = "") -> None:
        super().__init__(f"Malformed request at {path}: {problem}.", remedy=remedy)
        self.path = path
        self.problem = problem


class PromptCacheWarning(UserWarning):
    """Something will cost cache hits; ``code`` is the cause, ``remedy`` what to do."""

    def __init__(self, message: str, *, code: str, remedy: str = "") -> None:
        super().__init__(f"{code}: {message} {remedy}".rstrip())
        self.code = code
        self.remedy = remedy
