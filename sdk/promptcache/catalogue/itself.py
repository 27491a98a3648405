"""PC9: what the tool has to say about its own work."""

from __future__ import annotations

from promptcache.catalogue.cause import Cause

CAUSES = (
    Cause(
        "PC900",
        "cannot-parse",
        "The input could not be parsed",
        "The file is not valid in the language its name promises, so nothing in it was checked.",
        "Correct the syntax at the reported place, or exclude the file.",
    ),
    Cause(
        "PC901",
        "unused-suppression",
        "A suppression suppresses nothing",
        "The comment names a cause that is not found there any more. It would hide a later fault.",
        "Remove the comment or the code it names.",
    ),
    Cause(
        "PC902",
        "bad-configuration",
        "The configuration cannot be used as written",
        "A setting is unknown, of the wrong type, or names a cause that does not exist, so it was not "
        "applied.",
        "Correct the named setting; `promptcache rule` lists the causes.",
    ),
)
