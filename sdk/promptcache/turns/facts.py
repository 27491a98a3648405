"""How facts of the moment are written into a turn. The form is frozen: changing it would move every prefix.

A user turn with facts is the text, an empty line, and one line a fact::

    Where is my order?

    [now: 2031-03-04T18:04:11]
    [basket: {"items":3}]

A note is one such line, named ``note``. A fact's value is its text when it is a string of one line, a date
or time in ISO 8601, and canonical JSON otherwise. Facts stand in the order they were given.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from promptcache.turns import given

if TYPE_CHECKING:
    from collections.abc import Mapping


def with_facts(text: str, facts: Mapping[str, Any]) -> str:
    """Return ``text`` with its facts behind it; just ``text`` when there are none."""
    lines = "\n".join(fact_line(name, value) for name, value in facts.items())
    return "\n\n".join(part for part in (text, lines) if part)


def fact_line(name: str, value: Any) -> str:
    """Return one fact as a line: ``[name: value]``."""
    return f"[{name}: {_value(name, value)}]"


def _value(name: str, value: Any) -> str:
    written = given.canonical(value, name)
    if written.startswith('"') and "\\" not in written:
        return written[1:-1]  # a string or date that needs no escape reads better bare
    return written
