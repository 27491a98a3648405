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


def settings_of_its_own(author: Author) -> Scene:
    """A new version, another user or another program asks with settings of its own, under the same rules."""
    rules = author.instructions()
    often, seldom = author.random.choice(SETTINGS[:3])
    asked = [often] * author.random.randrange(1, 20)
    bodies = [chat(rules, author.question(), **settings) for settings in (*asked, seldom)]
    return Scene(bodies, frozenset({"PC801"}), SettledProvider)


def _schema(field: str, said: str = "") -> Body:
    properties = {field: {"type": "string", "description": said}}
    schema = {"name": "verdict", "schema": {"type": "object", "properties": properties}}
    return {"response_format": {"type": "json_schema", "json_schema": schema}}


def schema_with_a_clock(author: Author) -> Scene:
    """Unrelated questions, and a schema that tells the time."""
    rules = author.instructions()
    settings = [_schema("kind", f"As of 2026-11-29T12:{minute:02}:07Z.") for minute in (4, 31)]
    bodies = [chat(rules, author.question(), **one) for one in settings]
    return Scene(bodies, frozenset({"PC504"}), SettledProvider)


def schema_for_each(author: Author) -> Scene:
    """Unrelated questions, and hardly any schema comes twice."""
    rules = author.instructions()
    names = [
        "".join(author.random.choices("abcdefghij", k=8)) for _ in range(author.random.randrange(20, 30))
    ]
    bodies = [chat(rules, author.question(), **_schema(name)) for name in names]
    return Scene(bodies, frozenset({"PC504"}), SettledProvider)


def _falling_back(author: Author, *, same: bool) -> Scene:
    """The model does not answer, and the request, or that of another conversation, goes to another one."""
    body = author.conversation(author.random.randrange(1, 4), tools=False)
    later = author.continued(body)
    refused = later if same else author.conversation(1, tools=False)
    bodies = [body, refused, {**later, "model": "model-b"}]
    return Scene(bodies, frozenset({"PC503"}), Provider, failing=frozenset({1}), after_s=1.0)


def driven_to_another_model(author: Author) -> Scene:
    return _falling_back(author, same=True)


def kept_from_its_model(author: Author) -> Scene:
    """Nothing has been answered there since."""
    return _falling_back(author, same=False)


DRIVEN = (driven_to_another_model, kept_from_its_model)
"""Nothing was read, and that is the upstream's doing."""

RARE_SCENES: tuple[Callable[[Author], Scene], ...] = (rare_settings_alive,)
"""Traffic that draws no blame."""

RARE_FAULTS: tuple[Callable[[Author], Scene], ...] = (
    rare_settings_expired,
    settings_switched,
    settings_of_its_own,
    schema_with_a_clock,
    schema_for_each,
    *DRIVEN,
)
"""What must be known by its codes."""
