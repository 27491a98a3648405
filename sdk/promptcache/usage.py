"""One record of what a request cost in tokens, from every provider's usage figures.

Providers count in three ways: the prompt count contains the cached tokens (``inclusive``), it leaves them
out (``exclusive``), or three numbers stand side by side under other names (``disjoint``). The record is the
same for all: ``uncached + cache_read + cache_write == total_input``. What was not reported is None, never 0.
The shapes themselves are read in `promptcache.usage_shapes`; prices are `promptcache.prices`.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

from promptcache.quick_values import quick
from promptcache.usage_shapes import Counts, merge, plain, read_counts, usage_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["Convention", "Usage"]

Convention = Literal["inclusive", "exclusive", "disjoint"]

_PLAIN_DETAILS = frozenset({"cached_tokens", "audio_tokens", "text_tokens", "image_tokens"})
_PLAIN = frozenset(
    {
        *("prompt_tokens", "completion_tokens", "total_tokens"),
        *("prompt_tokens_details", "completion_tokens_details"),
    }
)


@quick
@dataclass(frozen=True, slots=True)
class Usage:
    """Token counts of one request.

    ``total_input`` is everything the model was given; ``uncached``, ``cache_read`` and ``cache_write`` add up
    to it. ``cache_write_5m`` … ``cache_write_12h`` split the writes by lifetime where the provider does.
    ``reported`` tells whether the provider said how much was read from a cache; if not, the cache counts are
    None. ``raw`` is the provider's own record, untouched.
    """

    total_input: int | None = None
    uncached: int | None = None
    cache_read: int | None = None
    cache_write: int | None = None
    cache_write_5m: int | None = None
    cache_write_1h: int | None = None
    cache_write_30m: int | None = None
    cache_write_12h: int | None = None
    output: int | None = None
    reported: bool = False
    convention: Convention | None = None
    raw: Mapping[str, Any] = field(default_factory=dict, compare=False, repr=False)

    @classmethod
    def from_response(cls, response: object, *, convention: Convention | None = None) -> Usage:
        """Read a response, or its usage object: a mapping, or any provider SDK's object.

        ``convention`` settles figures that fit two readings, for an upstream already known (`convention` of
        one of its earlier records). Figures that contradict it, or their own sum, are not reported: a guess
        must not make them plausible. A response without usage gives `Usage.unreported`.
        """
        raw = usage_of(plain(response))
        return cls._from_raw(raw, convention)

    @classmethod
    def from_stream(cls, events: Iterable[object], *, convention: Convention | None = None) -> Usage:
        """Read the events of a stream, decoded or as SSE lines, in order.

        Usage may come on any event and in parts: for each figure the last one that is not null counts, and
        an explicit 0 counts as a figure.
        """
        raw: dict[str, Any] = {}
        for event in events:
            raw = merge(raw, usage_of(plain(event)))
        return cls._from_raw(raw, convention)

    @classmethod
    def unreported(cls) -> Usage:
        """Return the record of a request about which nothing is known."""
        return cls()

    def within(self, most: int) -> Usage:
        """Return the record where its input is at most ``most`` tokens, else what of it can be true.

        For whoever knows the prompt: counts that are more than it holds say nothing about the cache. The
        prompt's own count stays where it fits by itself.

        >>> usage = {"prompt_tokens": 10, "prompt_tokens_details": {"cached_tokens": 99_999}}
        >>> Usage.from_response(usage).within(500).total_input
        10
        """
        if self.total_input is None or self.total_input <= most:
            return self
        prompt = self.total_input if self.convention == "inclusive" else self.uncached
        fits = prompt is not None and prompt <= most
        return Usage(total_input=prompt if fits else None, output=self.output, raw=self.raw)

    @property
    def hit_rate(self) -> float | None:
        """Share of the input that was read from a cache, 0..1; None when it was not reported."""
        if self.cache_read is None or not self.total_input:
            return None
        return self.cache_read / self.total_input

    @classmethod
    def _from_raw(cls, raw: Mapping[str, Any], convention: Convention | None) -> Usage:
        if convention in {None, "inclusive"} and (figures := _plain_openai(raw)) is not None:
            total, cached, output = figures
            untold = (None, None, None, None)  # writes by lifetime
            return cls(total, total - cached, cached, 0, *untold, output, True, "inclusive", raw)  # noqa: FBT003
        counts = _reads_alone(read_counts(raw))
        if _contradicts_itself(counts, convention):
            return cls(total_input=counts.prompt, output=counts.output, raw=raw)
        chosen = _convention(counts, convention)
        read, write = counts.read, counts.write
        reported = read is not None
        if reported and write is None:
            write = 0  # a provider that counts reads and not writes has no writes to charge for
        return cls(
            total_input=_total(counts, read or 0, write or 0, chosen),
            uncached=_uncached(counts, read, write or 0, chosen),
            cache_read=read,
            cache_write=write,
            cache_write_5m=counts.writes.get("5m"),
            cache_write_1h=counts.writes.get("1h"),
            cache_write_30m=counts.writes.get("30m"),
            cache_write_12h=counts.writes.get("12h"),
            output=counts.output,
            reported=reported,
            convention=chosen,
            raw=raw,
        )


def _plain_openai(raw: Mapping[str, Any]) -> tuple[int, int, int] | None:
    """Prompt, read and output of OpenAI's ordinary object, whose figures add up; None for any other.

    It is by far the most frequent one, and nothing in it needs to be judged.
    """
    details = raw.get("prompt_tokens_details")
    if type(details) is not dict or not raw.keys() <= _PLAIN or not details.keys() <= _PLAIN_DETAILS:
        return None
    prompt, output, total = raw.get("prompt_tokens"), raw.get("completion_tokens"), raw.get("total_tokens")
    read = details.get("cached_tokens")
    if type(prompt) is not int or type(read) is not int or type(output) is not int:
        return None
    if total is not None and (type(total) is not int or total != prompt + output):
        return None
    return (prompt, read, output) if 0 <= read <= prompt and output >= 0 else None


def _reads_alone(counts: Counts) -> Counts:
    """Take writes out of a cached count that holds both.

    Some gateways report reads and writes together as cached, and the writes again on their own. It shows
    when cached fits into the prompt, and cached and writes together do not.
    """
    prompt, read, write = counts.prompt, counts.read, counts.write
    if counts.disjoint or prompt is None or read is None or write is None:
        return counts
    return replace(counts, read=read - write) if write <= read <= prompt < read + write else counts


def _contradicts_itself(counts: Counts, known: Convention | None) -> bool:
    """Whether more was read and written than the prompt holds, and nothing makes that an exclusive count."""
    prompt, output = counts.prompt, counts.output or 0
    if prompt is None or counts.disjoint:
        return False
    cached = (counts.read or 0) + (counts.write or 0)
    if cached <= prompt:
        return False
    if known == "inclusive":
        return True
    return counts.total is not None and counts.total not in {prompt + output, prompt + cached + output}


def _convention(counts: Counts, known: Convention | None) -> Convention | None:
    """Say how ``counts.prompt`` is meant: by its shape, by what is known of the upstream, by arithmetic.

    Figures that contradict themselves do not come here.
    """
    if counts.prompt is None or counts.disjoint:
        return "disjoint" if counts.disjoint else None
    cached = (counts.read or 0) + (counts.write or 0)
    if cached > counts.prompt:
        return "exclusive"
    if known is not None or counts.read is None:
        return known
    if cached and counts.total == counts.prompt + cached + (counts.output or 0):
        return "exclusive"  # the provider's own sum counts the cached tokens beside the prompt
    return "inclusive"


def _total(counts: Counts, read: int, write: int, convention: Convention | None) -> int | None:
    if counts.prompt is None:
        return None
    return counts.prompt if convention == "inclusive" else counts.prompt + read + write


def _uncached(counts: Counts, read: int | None, write: int, convention: Convention | None) -> int | None:
    if counts.prompt is None or read is None:
        return None
    return counts.prompt - read - write if convention == "inclusive" else counts.prompt
