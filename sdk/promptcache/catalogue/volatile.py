"""PC1: values that change from call to call, standing where the prompt should not change."""

from __future__ import annotations

from promptcache.catalogue.cause import Cause

CAUSES = (
    Cause(
        "PC101",
        "clock-in-prefix",
        "The current time stands in the prefix",
        "A clock reading is written into the part of the prompt that should stay the same. Every call "
        "carries another value, so everything from that character on is computed, and paid for, again.",
        "Pass the time in the newest user turn (`chat.user(text, now=…)`), behind all static text, or give "
        "the model a clock tool.",
    ),
    Cause(
        "PC102",
        "unique-id-in-prefix",
        "An identifier that is new on every call stands in the prefix",
        "A request id, trace id, UUID, session token or signed link is part of the prompt. It is different "
        "each time by design, so no two calls share what follows it.",
        "Keep the identifier out of the prompt (send it as a header or as metadata); if the model must see "
        "it, put it into the newest user turn.",
    ),
    Cause(
        "PC103",
        "randomness-in-prefix",
        "Random choice shapes the prefix",
        "Examples are sampled, shuffled, or a nonce is drawn while the prompt is built. Another draw gives "
        "another prompt, and the cache can match only up to the first difference.",
        "Choose the examples once and keep their order, or draw with a fixed seed that belongs to the "
        "template; move a necessary nonce behind the static text.",
    ),
    Cause(
        "PC104",
        "user-data-before-static-text",
        "User or tenant data stands before static text",
        "A name, address, account or tenant id comes before instructions that are the same for everybody. "
        "Each user gets a private copy of the whole prompt in the cache, and nothing is shared between "
        "users.",
        "Put the instructions first and the user's data after them, best in the first user message; add a "
        "breakpoint where the shared part ends.",
    ),
    Cause(
        "PC105",
        "environment-in-prefix",
        "Host, path or environment details stand in the prefix",
        "The working directory, host name, address, process id or an environment variable is written into "
        "the prompt. Calls from another machine, container or folder share nothing behind it.",
        "Say only what the model needs, in words that are the same everywhere, and append the rest to the "
        "first user message.",
    ),
    Cause(
        "PC106",
        "object-identity-in-prefix",
        "hash(), id() or a default repr stands in the prefix",
        "An object without its own text form was formatted into the prompt, so its memory address or its "
        "hash (salted anew in each process) became part of it.",
        "Write the fields you mean (`canonical_json(obj)` for data classes and models), never the object "
        "itself; use hashlib where a stable digest is needed.",
    ),
    Cause(
        "PC107",
        "counter-in-prefix",
        "A counter or usage figure stands in the prefix",
        "A step number, message count, token budget or percentage used is written into the prompt. It moves"
        " with every turn, and takes everything behind it out of the cache.",
        "Append the figure to the newest turn (`chat.note(…)` or a tool result) and leave earlier ones as "
        "they were sent.",
    ),
    Cause(
        "PC108",
        "volatile-looking-literal",
        "A literal looks like a value that changes",
        "The text holds a full timestamp, identifier or counter as if one rendering had been pasted in. If "
        "a program rewrites it, each rewrite is a new prompt.",
        "If it is part of the wording, mark it as static or suppress the finding with a reason; if a "
        "program fills it in, move it behind the static text.",
    ),
    Cause(
        "PC109",
        "date-in-prefix",
        "The current date stands in the prefix",
        "Today's date is written into the prompt. All day the prefix is stable; at midnight every "
        "conversation and every template misses once, and long conversations lose their whole history.",
        "Fix the date when the session starts and append a note when the day changes (`chat.note(…)`), or "
        "put the date into the newest user turn.",
    ),
    Cause(
        "PC110",
        "per-process-constant",
        "A value fixed at process start stands in the prefix",
        "A value computed once when the module loads is stable inside one process, but each worker and each"
        " deployment has its own, so caches split along them.",
        "Compute it at build time or take it from configuration, so that all workers of a deployment share "
        "it.",
    ),
)
