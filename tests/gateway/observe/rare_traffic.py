"""A busy program and a rare one that asks under other settings or another cache key: labelled.

Both send the same instructions. The rare one's own entry has expired whenever it comes again, for what the
busy one keeps alive is another; or it has not, and all of it is read.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from tests.gateway.observe.marked_traffic import Scene
from tests.gateway.observe.scenes import Provider, chat

if TYPE_CHECKING:
    from collections.abc import Callable

    from promptcache.usage import Usage
    from tests.gateway.observe.traffic import Author

Body = dict[str, Any]

_SCHEMA = {"name": "verdict", "schema": {"type": "object", "properties": {"kind": {"type": "string"}}}}
SETTINGS: tuple[tuple[Body, Body], ...] = (
    ({}, {"response_format": {"type": "json_object"}}),
    ({}, {"response_format": {"type": "json_schema", "json_schema": _SCHEMA}}),
    ({"reasoning_effort": "low"}, {"reasoning_effort": "high"}),
    ({}, {"verbosity": "low"}),
    ({"prompt_cache_key": "shop"}, {"prompt_cache_key": "reports"}),
)
"""What the busy program asks with, and the rare one."""


class SettledProvider(Provider):
    """A provider whose prompt begins with the request's settings, and which keeps a cache for each key."""

    def serve(self, body: Body, now: float) -> Usage:
        """As it is served elsewhere; what is no text stands in front of it."""
        settings = {name: value for name, value in body.items() if name != "messages"}
        return super().serve({"model": json.dumps(settings), "messages": body["messages"]}, now)


def _in_turn(author: Author, busy: int) -> tuple[list[Body], tuple[float, ...]]:
    """A rare request, ``busy`` others a minute apart, and the rare program's next; the pauses before them."""
    rules = author.instructions()
    often, seldom = author.random.choice(SETTINGS)
    asked = [often, seldom, *[often] * busy, seldom]
    bodies = [chat(rules, author.question(), **settings) for settings in asked]
    return bodies, (5.0, 5.0, *(author.random.uniform(55, 70) for _ in range(busy)))


def rare_settings_expired(author: Author) -> Scene:
    """Ten minutes or an hour without the rare one: its entry is gone, the busy one's is not its own."""
    bodies, pauses = _in_turn(author, author.random.choice((8, 12, 50)))
    return Scene(bodies, frozenset({"PC802"}), SettledProvider, pauses=pauses)


def rare_settings_alive(author: Author) -> Scene:
    """It comes every few minutes, and reads what it left itself."""
    bodies, pauses = _in_turn(author, author.random.randrange(1, 4))
    return Scene(bodies, provider=SettledProvider, pauses=pauses)


def settings_switched(author: Author) -> Scene:
    """A conversation goes on under settings that only others had asked with, long ago."""
    rules = author.instructions()
    often, seldom = author.random.choice(SETTINGS[:4])
    said = [author.question(), author.answer(), author.question()]
    bodies = [
        chat(rules, author.question(), **seldom),
        chat(rules, said[0], **often),
        chat(rules, *said, **seldom),
    ]
    return Scene(bodies, frozenset({"PC504"}), SettledProvider, pauses=(5.0, 900.0))


RARE_SCENES: tuple[Callable[[Author], Scene], ...] = (rare_settings_alive,)
"""Traffic that draws no blame."""

RARE_FAULTS: tuple[Callable[[Author], Scene], ...] = (rare_settings_expired, settings_switched)
"""What must be known by its codes."""
