"""Prompts that change in more than one place, or all over: labelled scenes.

Instructions that end in what is new in every request (documents, a memory, a profile, a name) cost only that;
with a value in front of them they cost everything. Tools and instructions change together. A whole prompt is
written with other white space or other marks. Nothing in here looks at how a cause is found.
"""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, Any

from tests.gateway.observe.marked_traffic import Scene
from tests.gateway.observe.scenes import Provider

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.gateway.observe.traffic import Author

Body = dict[str, Any]

_NAMES = ("Alice Jones", "Bob Smith", "Carol Diaz", "Dan Wu", "Eve Fox", "Ines Roth", "Omar Nasser", "Li Na")
_SERVERS = ("github", "jira", "slack", "linear", "notion")
BESIDE = frozenset({"PC401", "PC403"})
"""What a fault in instructions brings with it: static text behind it, instructions that are others."""


def asked(author: Author, system: str, tools: list[Body] | None = None) -> Body:
    body: Body = {
        "model": "model-a",
        "messages": [{"role": "system", "content": system}, {"role": "user", "content": author.question()}],
    }
    return body if tools is None else {**body, "tools": tools}


def scene(bodies: list[Body], *codes: str, template: str | None = None) -> Scene:
    return Scene(bodies, frozenset(codes), Provider, more={"template": template})


# --- what instructions end with ---


def documents(author: Author) -> Callable[[], str]:
    return lambda: "## Retrieved documents\n" + "\n\n".join(author.answer() for _ in range(6))


def some_of_the_documents(author: Author) -> Callable[[], str]:
    """Few of many, so that some come again, elsewhere."""
    known = [author.answer() for _ in range(12)]
    return lambda: "## Context\n" + "\n\n".join(author.random.sample(known, 4))


def memory(author: Author) -> Callable[[], str]:
    return lambda: "## What is known of the customer\n" + " ".join(author.answer() for _ in range(3))


def latest_events(author: Author) -> Callable[[], str]:
    """A window of a long list: with each request the oldest is gone and a new one is there."""
    events = [f"- {author.sentence()}" for _ in range(40)]

    def shown() -> str:
        del events[0]
        events.append(f"- {author.sentence()}")
        return "## Events\n" + "\n".join(events)

    return shown


def profile(author: Author) -> Callable[[], str]:
    choose = author.random.choice

    def shown() -> str:
        wants = {subject: choose((True, False)) for subject in ("mail", "post", "phone", "chat")}
        known = {"name": choose(_NAMES), "plan": choose(("gold", "free")), "wants": wants}
        return f"Profile: {json.dumps({**known, 'since': author.random.randrange(10**6)})}"

    return shown


def name(author: Author) -> Callable[[], str]:
    names = iter(author.random.sample(_NAMES, len(_NAMES)))
    return lambda: f"Sign as the assistant of {next(names)}."


ENDINGS = (documents, some_of_the_documents, memory, latest_events, profile, name)


def ended_anew(ending: Callable[[Author], Callable[[], str]], author: Author) -> Scene:
    rules, last = author.instructions(), ending(author)
    return scene([asked(author, f"{rules}\n{last()}") for _ in range(3)])


def another_agent_with_these_tools(author: Author) -> Scene:
    """Other instructions under the same name, and its tools in another order."""
    tools = author.tools()
    bodies = [asked(author, author.instructions(), order) for order in (tools, tools[::-1])]
    return scene(bodies, template="agents")


# --- a value in front of them ---


def clock(author: Author, rules: str) -> str:
    return f"It is {author.moment():%Y-%m-%dT%H:%M:%SZ}.\n{rules}"


def identifier(author: Author, rules: str) -> str:
    half = rules.find(" When", len(rules) // 3)
    half = half if half > 0 else rules.find("\n", len(rules) // 3)
    return f"{rules[:half]}\nRequest {author.random.getrandbits(128):032x}\n{rules[half:].lstrip()}"


def addressed(author: Author, rules: str) -> str:
    return f"You help {author.random.choice(_NAMES)} {author.random.randrange(10**6)}x.\n{rules}"


def known_by_address(author: Author, rules: str) -> str:
    person = author.random.choice(_NAMES)
    return f"You help {person} ({person[0].lower()}{author.random.randrange(10**6)}@example.com).\n{rules}"


VALUES = {clock: "PC101", identifier: "PC102", addressed: "PC401", known_by_address: "PC104"}


def value_before(
    value: Callable[[Author, str], str], ending: Callable[[Author], Callable[[], str]], author: Author
) -> Scene:
    rules, last = author.instructions(), ending(author)
    bodies = [asked(author, f"{value(author, rules)}\n{last()}") for _ in range(2)]
    return scene(bodies, VALUES[value])


# --- tools and instructions together ---


def tools_and(
    codes: tuple[str, ...], line: Callable[[Author, int], str], fewer: bool, author: Author
) -> Scene:
    """Tools in another order or fewer of them, and a line in the middle of the instructions that changed."""
    tools, rules = author.tools(), author.instructions().replace(". When", ".\nWhen").split("\n")
    other = tools[1:] if fewer else [*tools[1:], tools[0]]
    half = len(rules) // 2
    bodies = [
        asked(author, "\n".join([*rules[:half], line(author, number), *rules[half:]]), own)
        for number, own in enumerate((tools, other))
    ]
    return scene(bodies, "PC302" if fewer else "PC301", *codes)


def user_line(author: Author, number: int) -> str:
    return f"The user is {_NAMES[author.random.randrange(4) * 2 + number]}."


def mode_line(author: Author, number: int) -> str:
    return f"Mode: {('plan', 'act')[number]}."


def server_line(author: Author, number: int) -> str:
    return f"Connected servers: {', '.join(_SERVERS[: 2 + number])}."


def tools_before(ending: Callable[[Author], Callable[[], str]], author: Author) -> Scene:
    """Tools in another order, in front of instructions that end anew."""
    tools, rules, last = author.tools(), author.instructions(), ending(author)
    bodies = [asked(author, f"{rules}\n{last()}", own) for own in (tools, [*tools[1:], tools[0]])]
    return scene(bodies, "PC301")


# --- all over ---


def quoted(text: str) -> str:
    return text.replace("When a", "When 'a").replace("writes", "writes'")


def curled(text: str) -> str:
    return quoted(text).replace(" '", " \u2018").replace("' ", "\u2019 ")


DRIFTS: dict[str, tuple[Callable[[str], str], Callable[[str], str]]] = {
    "line ends": (str, lambda text: text.replace("\n", "\r\n")),
    "indented": (str, lambda text: "\n".join(f"  {line}" for line in text.split("\n"))),
    "trailing blanks": (str, lambda text: "\n".join(f"{line} " for line in text.split("\n"))),
    "typographic": (quoted, curled),
}


def drift(how: str, author: Author) -> Scene:
    rules = author.instructions().replace(". When", ".\nWhen")
    return scene([asked(author, write(rules)) for write in DRIFTS[how]], "PC206", template="support")


def catalogue_laid_out(author: Author) -> Scene:
    wares = [{"id": number, "text": author.sentence()} for number in range(60)]
    layouts: tuple[dict[str, Any], ...] = ({"indent": 2}, {"separators": (",", ":")})
    bodies = [asked(author, f"Catalogue:\n{json.dumps(wares, **layout)}") for layout in layouts]
    return scene(bodies, "PC206", template="catalogue")


def _named(make: Callable[[Author], Scene], label: str) -> Callable[[Author], Scene]:
    make.__name__ = label
    return make


CHANGING_SCENES: tuple[Callable[[Author], Scene], ...] = (
    *(_named(partial(ended_anew, ending), f"ends_with_{ending.__name__}") for ending in ENDINGS),
    another_agent_with_these_tools,
)
"""Traffic that draws no blame."""

CHANGING_FAULTS: tuple[Callable[[Author], Scene], ...] = (
    *(
        _named(partial(value_before, value, ending), f"{value.__name__}_and_{ending.__name__}")
        for value in VALUES
        for ending in ENDINGS
    ),
    *(
        _named(partial(tools_and, codes, line, fewer), f"{line.__name__}_{fewer}")
        for line, codes in ((user_line, ("PC104",)), (mode_line, ()), (server_line, ()))
        for fewer in (False, True)
    ),
    *(_named(partial(tools_before, ending), f"tools_and_{ending.__name__}") for ending in ENDINGS),
    *(_named(partial(drift, how), how) for how in DRIFTS),
    catalogue_laid_out,
)
"""Several places at once, or all of them, with the codes they must be known by."""


def codes_of(causes: tuple[str, ...], wanted: frozenset[str]) -> set[str]:
    """The codes to be held against the label: a first request has none, and neither has what comes beside."""
    return set(causes) - {"PC801"} - (BESIDE - wanted if wanted else set())
