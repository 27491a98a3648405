"""What the template of one request is called."""

from __future__ import annotations

import re
from dataclasses import dataclass

from promptcache.quick_values import quick

_MAX_NAME = 128
_OWN_PREFIX = re.compile(r"(?:named-)*learned-")


@quick
@dataclass(frozen=True, slots=True)
class TemplateName:
    """The template of one request.

    Attributes:
        name: what it is called.
        learned: False where the caller named it.
        family: requests are compared within a family: one template, or all that have no instructions.
    """

    name: str
    learned: bool
    family: str


NAMELESS = TemplateName("learned-unstructured", learned=True, family="learned-unstructured")
"""That of all requests in which no structure is seen."""


def clean_name(given: str | None) -> str | None:
    """A caller's name fit for a header and a page: printable and short; None where nothing is left.

    Learned names begin with ``learned-``; a caller's that does too is told apart by ``named-`` in front.

    >>> clean_name(" support "), clean_name("learned-0b24")
    ('support', 'named-learned-0b24')
    """
    if given is None:
        return None
    printable = "".join(character for character in given[: 4 * _MAX_NAME] if character.isprintable())
    name = printable.strip()
    if _OWN_PREFIX.match(name):
        name = f"named-{name}"
    return name[:_MAX_NAME].rstrip() or None
