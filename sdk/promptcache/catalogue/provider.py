"""PC6: the rules of a provider's cache: breakpoints, minimums, lifetimes, keys."""

from __future__ import annotations

from promptcache.catalogue.cause import Cause

CAUSES = (
    Cause(
        "PC601",
        "breakpoint-on-dynamic-content",
        "A breakpoint stands on or behind content that changes",
        "The cache entry ends in text that will be different next time. It is written, at a surcharge, and "
        "can never be read.",
        "Move the breakpoint to the last block that is identical in the next request.",
    ),
    Cause(
        "PC602",
        "breakpoint-missing",
        "The stable prefix carries no breakpoint",
        "This provider caches only up to an explicit mark, and the mark is missing or was lost on the way "
        "(a translation, a rebuilt message). Nothing is stored.",
        "Mark the end of tools, system prompt and stable history; check that marks survive the layers in "
        "between.",
    ),
    Cause(
        "PC603",
        "breakpoints-invalid",
        "Too many breakpoints, or lifetimes in the wrong order",
        "The provider allows only a few marks and wants longer lifetimes before shorter ones. A request "
        "that breaks the rule is refused, or loses marks without notice.",
        "Keep at most the provider's number of marks and put one-hour marks before five-minute ones.",
    ),
    Cause(
        "PC604",
        "below-minimum-length",
        "The prefix is shorter than the provider's minimum",
        "Below a minimum number of tokens, which depends on the model, the mark is ignored without an "
        "error: both cache counters stay at zero.",
        "Gather more static text before the mark if it is really shared, or leave it out; caching would not"
        " pay here.",
    ),
    Cause(
        "PC605",
        "lookback-exceeded",
        "The last breakpoint is too many blocks away",
        "The provider looks back only a limited number of blocks from a mark for an earlier entry. A turn "
        "with many tool calls jumps over the old entry, though the text is unchanged.",
        "Leave an intermediate breakpoint inside long turns, at least every fifteen or so blocks.",
    ),
    Cause(
        "PC606",
        "no-explicit-boundary",
        "The automatic boundary falls on changing text",
        "This model puts its automatic boundary at the latest message and charges for the write. With a "
        "fixed prefix and a changing tail, each request writes an entry nobody reads.",
        "Set an explicit breakpoint at the end of the static prefix.",
    ),
    Cause(
        "PC607",
        "cache-key-misused",
        "The cache key or salt is too fine or too broad",
        "A key per request or per user splits equal prefixes into separate caches; one key for all traffic "
        "overloads the machine it routes to. Either way requests miss entries that exist.",
        "Use one key for each template (and tenant, where isolation is wanted), split into a few shards "
        "when traffic is high.",
    ),
    Cause(
        "PC608",
        "fan-out-before-first-answer",
        "Parallel requests started before the first could be reused",
        "An entry becomes readable only when the first answer begins. Requests sent together all compute "
        "the shared prefix themselves.",
        "Send one request first, wait for its first token, then start the others.",
    ),
    Cause(
        "PC609",
        "lifetime-shorter-than-gap",
        "The cache lives shorter than the time between requests",
        "Requests of this template come further apart than the entry's lifetime, so each one writes and "
        "none reads.",
        "Ask for a longer lifetime where the provider offers one and two reads pay for it, warm the cache "
        "in time, or stop paying for writes.",
    ),
    Cause(
        "PC610",
        "breakpoint-never-moves",
        "The breakpoint stays where it was while the history grows",
        "The mark was set once, at the start. Reads stay at that length and every later turn is charged in "
        "full.",
        "Move the last breakpoint to the end of the history on every turn and keep the earlier one as a "
        "foothold.",
    ),
)
