"""PC8: what only traffic can show. Most of these blame nobody."""

from __future__ import annotations

from promptcache.catalogue.cause import Cause

CAUSES = (
    Cause(
        "PC801",
        "first-request",
        "Nothing like this request had been seen before",
        "No earlier request of this template and tenant shares its beginning, so there was nothing to reuse.",
        "Nothing is wrong. Where the first answer's delay matters, warm the cache before traffic arrives.",
    ),
    Cause(
        "PC802",
        "expired",
        "The entry had outlived its lifetime",
        "The prefix is unchanged, but the last use is longer ago than the cache keeps entries.",
        "Use a longer lifetime, or keep the entry alive with a cheap request, if the saved tokens pay for "
        "it.",
    ),
    Cause(
        "PC803",
        "evicted",
        "The entry was evicted to make room",
        "The prefix is unchanged and had been cached; other prompts needed the space.",
        "Give the cache more memory, send requests with equal prefixes close together, or lower the number "
        "of prompts in rotation.",
    ),
    Cause(
        "PC804",
        "served-elsewhere",
        "Another replica or account served the request",
        "Each replica and account has its own cache, and this request went to one that had not seen the "
        "prefix.",
        "Route by prefix or session so that a conversation stays where its cache is.",
    ),
    Cause(
        "PC807",
        "granularity",
        "The end of the match falls inside a page",
        "Caches match in whole pages or steps; the tokens between the last full one and the first "
        "difference are computed again. At least one token always is.",
        "Nothing is wrong. A smaller page size or partial pages win the rest where the server offers them.",
    ),
    Cause(
        "PC808",
        "isolated",
        "Isolation kept the request away from a matching entry",
        "The prefix exists in the cache under another tenant, salt or adapter, and must not be shared with "
        "this one.",
        "Nothing is wrong if isolation is intended; otherwise give requests that may share the same salt or"
        " tenant.",
    ),
    Cause(
        "PC809",
        "upstream-miss",
        "The upstream missed although the prefix was identical",
        "The request extends an earlier one byte for byte, within lifetime and above the minimum, and the "
        "upstream still reports fewer cached tokens. Caches are best effort.",
        "Nothing to change in the prompt. Watch the rate; if it stays high, check routing and cache keys, "
        "or ask the provider.",
    ),
    Cause(
        "PC810",
        "not-reported",
        "The upstream does not report cached tokens",
        "The answer carries no cache counters. That is not zero: the cache may work, but it cannot be seen.",
        "Ask for usage (include_usage in streams, the server's flag for prompt token details), or judge by "
        "the time to first token.",
    ),
    Cause(
        "PC811",
        "reuse-off",
        "Reuse is switched off or unsupported at the upstream",
        "The server runs without prefix caching, the model does not support it, or the caller opted out for"
        " this request.",
        "Switch prefix caching on where the prompts allow it.",
    ),
)
