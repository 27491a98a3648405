"""PC5: history that does not come back as it was sent."""

from __future__ import annotations

from promptcache.catalogue.cause import Cause

CAUSES = (
    Cause(
        "PC501",
        "history-trimmed-from-front",
        "The oldest messages were dropped",
        "A sliding window removes the first messages, so every later one moves. When each turn trims a "
        "little, no turn ever hits behind the system prompt.",
        "Trim rarely and in large steps: let the history grow to a high-water mark, then cut to a low one.",
    ),
    Cause(
        "PC502",
        "earlier-message-edited",
        "A message that had already been sent was changed",
        "An earlier turn comes back different: shortened, enriched, moved, replaced or with a block "
        "stripped. From there on the history is new to the cache.",
        "Store what was sent and replay it; shorten tool output once, before it is first sent, and append "
        "corrections.",
    ),
    Cause(
        "PC503",
        "model-switched",
        "The model changed between turns",
        "Each model has a cache of its own. The first turn at another model pays for the whole conversation.",
        "Stay with one model in a conversation; give side tasks to a separate, short conversation.",
    ),
    Cause(
        "PC504",
        "parameter-switched",
        "A parameter that shapes the prompt changed between turns",
        "Settings such as tool choice, thinking, reasoning effort, response format or service tier are "
        "rendered into the hidden part of the prompt, so toggling one is like editing it.",
        "Choose these settings when the conversation starts and keep them; use a separate conversation for "
        "the exception.",
    ),
    Cause(
        "PC505",
        "reasoning-dropped-on-replay",
        "Reasoning was dropped when the answer was replayed",
        "The model's answer was cached with its reasoning, and comes back without it, because the client or"
        " the chat template strips it. The replayed turn no longer matches.",
        "Send reasoning blocks and signatures back unchanged, or use a template that keeps them; where a "
        "model strips them by design, expect one miss for each turn of the user.",
    ),
    Cause(
        "PC506",
        "compaction-with-another-prefix",
        "The history was compacted under another prefix",
        "The summary was written by, or continues in, a request with another system prompt or other tools, "
        "so neither the summarizing call nor what follows can use the cached conversation.",
        "Ask for the summary in the same conversation (same tools, system prompt and history, the request "
        "appended), then continue with tools and system prompt intact.",
    ),
    Cause(
        "PC507",
        "tool-arguments-reserialized",
        "Tool-call arguments were parsed and written again",
        "The model's arguments come back with other spacing, key order or escapes than it wrote. The "
        "meaning is the same, the tokens are not.",
        "Keep the arguments as the string that arrived and replay it byte for byte "
        "(`chat.assistant(response)` does).",
    ),
    Cause(
        "PC508",
        "template-not-append-only",
        "The chat template rewrites earlier turns",
        "The model's own template renders old turns differently once new ones follow (another position, a "
        "generation prompt, special tokens), so even an untouched history changes as text.",
        "Use a template under which turn n is a prefix of turn n+1 (`promptcache serve --chat-template`), "
        "or accept reuse only up to the rewritten turn.",
    ),
    Cause(
        "PC509",
        "retokenized-differently",
        "The same text became other tokens",
        "Text that was generated token by token is split differently when it is tokenized again as one "
        "string. The characters are equal, the token ids are not.",
        "Nothing in the prompt is wrong: keep generated token ids beside the text where the server allows "
        "it, and expect a short recomputation at the seam.",
    ),
)
