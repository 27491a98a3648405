"""How old something is: a clock from which the time of a thing that was found is taken.

"Three days ago" is said of what the turn is about (a memory, a file), which is new in any case. How long the
program itself runs is another matter.
"""

from __future__ import annotations

import ast
import re
from dataclasses import replace
from typing import TYPE_CHECKING

from promptcache_lint.findings import Severity
from promptcache_lint.readers.python.values import Thing

if TYPE_CHECKING:
    from promptcache_lint.readers.python.values import Traits, Value

__all__ = ["as_age"]

_READ = re.compile(
    r"(?:^|\.)(?:fromisoformat|fromtimestamp|utcfromtimestamp|strptime|parse|isoparse|replace|astimezone)\Z"
)


def as_age(traits: Traits, taken: ast.expr, value: Value) -> Traits:
    """The traits of a difference from which ``taken`` is taken: information where it is an item's age."""
    if not traits or not _is_of_an_item(taken, value):
        return traits
    return tuple(replace(each, mark=replace(each.mark, severity=Severity.INFO)) for each in traits)


def _is_of_an_item(node: ast.expr, value: Value) -> bool:
    """Whether a time is that of a parameter or of a field of something, and not of the object itself."""
    if not isinstance(value, Thing) or value.traits or value.settled or value.constant is not None:
        return False
    owner = node
    while isinstance(owner, ast.Attribute | ast.Subscript):
        owner = owner.value
    read = not value.type or _READ.search(value.type) is not None  # its time, read from a text
    return isinstance(owner, ast.Name) and owner.id not in {"self", "cls"} and read
