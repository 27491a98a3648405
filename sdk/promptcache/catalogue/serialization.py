"""PC2: the same content, written in other bytes."""

from __future__ import annotations

from promptcache.catalogue.cause import Cause

CAUSES = (
    Cause(
        "PC201",
        "json-without-stable-key-order",
        "JSON is written without a stable key order",
        "The same data comes out with its keys in another order or with other spacing, depending on how the"
        " mapping was filled or on the language that wrote it. To the cache these are different texts.",
        "Write prompt data with `promptcache.canonical_json`, or at least with sort_keys=True and fixed "
        "separators, in one place only.",
    ),
    Cause(
        "PC202",
        "set-iteration",
        "A set is iterated into the prompt",
        "The order of a set of strings depends on a hash seed that is new in every process. Two workers, or"
        " the same one after a restart, list the same members differently.",
        "Sort before joining: `sorted(values)`, or keep a list or dict where the order means something.",
    ),
    Cause(
        "PC203",
        "unordered-listing",
        "A listing without a defined order feeds the prompt",
        "Directory listings, globs, completion order of parallel work and queries without ORDER BY return "
        "the same items in an order that is nobody's promise.",
        "Sort the result by a key you control (`sorted(path.glob(…))`, ORDER BY a unique column, results in"
        " the order of the calls).",
    ),
    Cause(
        "PC204",
        "unordered-template-loop",
        "A template loops over, or dumps, an unordered collection",
        "A `for` over a mapping or a `tojson` in the template writes the collection in whatever order it "
        "arrives. The template is constant; what it renders is not.",
        "Use `|dictsort` or `|sort` in the loop, and a `tojson` that sorts keys (the filter of "
        "`promptcache.Template` does).",
    ),
    Cause(
        "PC205",
        "unstable-number-or-repr",
        "A number or object is formatted in an unstable way",
        "repr(), str() of floats and locale-aware formatting change with the library version, the machine's"
        " locale or accumulated rounding, though the value is the same.",
        "Give numbers a fixed format (`f'{x:.2f}'`), avoid locale settings, and serialize structures with "
        "`canonical_json`.",
    ),
    Cause(
        "PC206",
        "whitespace-or-unicode-drift",
        "Only whitespace, newlines, Unicode form or message shape differ",
        "Both texts read the same, but one was trimmed, re-wrapped, normalized, saved with other line ends,"
        " or sent as a list of blocks where the other was a string. Caches compare bytes and tokens, not "
        "meaning.",
        "Normalize once, where the text enters the program, then store and replay exactly what was sent; "
        "keep each message in the shape it first had.",
    ),
    Cause(
        "PC207",
        "meaningful-order-sorted",
        "A schema whose order has meaning was sorted",
        "Sorting the properties of an output schema changes the order in which the model writes its answer;"
        " sorting the arguments of a recorded tool call changes history. A stable order was already there.",
        "Keep schemas and recorded arguments in the order they were first sent, and pin that; sort only "
        "data whose order means nothing.",
    ),
)
