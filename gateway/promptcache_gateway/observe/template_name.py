"""What the template of one request is called."""

from __future__ import annotations

from dataclasses import dataclass

from promptcache.quick_values import quick


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
