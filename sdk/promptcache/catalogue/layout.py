"""PC4: what stands where. A cache matches from the front, so what changes least must come first."""

from __future__ import annotations

from promptcache.catalogue.cause import Cause

CAUSES = (
    Cause(
        "PC401",
        "static-behind-dynamic",
        "Static text stands behind dynamic text",
        "Text that never changes comes after text that does. It could be cached and never is: the tokens "
        "behind the first changing character are stranded.",
        "Order by volatility: what never changes, then what changes by deployment, by user, by session, and"
        " last what changes by turn.",
    ),
    Cause(
        "PC402",
        "retrieval-before-instructions",
        "Retrieved documents or chosen examples come before the instructions",
        "Documents and few-shot examples picked for the question stand in front of, or inside, the fixed "
        "instructions, so each question starts a new prefix.",
        "Put instructions first, then the documents in a stable order, then the question.",
    ),
    Cause(
        "PC403",
        "system-prompt-edited",
        "The system prompt is edited where something could be appended",
        "News for the model (a mode, a setting, a memory) is written into the system prompt in "
        "mid-conversation. The edit is small; the whole history behind it is lost.",
        "Append the news as a message (`chat.note(…)`) and leave the system prompt as it was first sent.",
    ),
    Cause(
        "PC404",
        "conditional-section",
        "A section of the prefix is there only sometimes",
        "An `if` adds or drops a paragraph before static text. Each combination of conditions is a prompt "
        "of its own, cached separately.",
        "Always include the section, or move conditional parts to the end; split into templates where the "
        "variants are really different prompts.",
    ),
)
