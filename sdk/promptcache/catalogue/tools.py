"""PC3: tool definitions and results. Tools come first in the prompt, so a change here costs everything."""

from __future__ import annotations

from promptcache.catalogue.cause import Cause

CAUSES = (
    Cause(
        "PC301",
        "tools-reordered",
        "The same tools come in another order",
        "The set of tools is equal, the order is not; often it comes from a map, a set or the discovery "
        "order of servers. Tools precede the system prompt, so nothing behind the first moved one is "
        "reused.",
        "Sort tools by name (or pin the first order seen) at the one place where requests are built.",
    ),
    Cause(
        "PC302",
        "tools-changed",
        "The set of tools changed between requests",
        "A tool was added, removed or edited between two requests. The definitions stand before system "
        "prompt and history, so all of it is computed again.",
        "Declare all tools from the first turn and restrict them with tool_choice, an allow-list or a "
        "message; append late additions at the end, never remove.",
    ),
    Cause(
        "PC303",
        "dynamic-tool-definition",
        "A tool definition holds text that changes",
        "A description, enum or default is filled in at run time (a date, a user's name, a live list). One "
        "changed character in the first tool takes the whole prompt out of the cache.",
        "Keep definitions constant; hand the changing facts to the model in a message or let the tool "
        "return them.",
    ),
    Cause(
        "PC304",
        "results-in-completion-order",
        "Parallel tool results are stored in the order they finished",
        "Whichever call ends first is written first, so replaying or retrying the same turn gives another "
        "history.",
        "Store results in the order of the calls they answer (`Conversation.tool_result` does).",
    ),
    Cause(
        "PC305",
        "unpinned-tool-listing",
        "Tools are listed from a server without pinning",
        "An MCP or plug-in listing is fetched anew and sent as it comes; order and wording may change with "
        "each connection or server release.",
        "Take the listing once for a session, sort it by name, and keep it until the session ends.",
    ),
)
