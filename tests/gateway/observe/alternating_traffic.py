"""Prefixes that are written in two ways in turn, and such as only look like it: labelled.

Two programs send one prompt with other line ends, keys or tools in another order; a mode changes from turn to
turn. Each form is kept by itself. Nothing in here looks at how a cause is found.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from tests.gateway.observe.marked_traffic import Scene
from tests.gateway.observe.scenes import Provider

if TYPE_CHECKING:
    from tests.gateway.observe.traffic import Author

Body = dict[str, Any]
Write = Callable[[Body, int], Body]

_PAUSE_S = 600.0  # longer than anything is kept


def _long(author: Author) -> str:
    return " ".join(author.sentence() for _ in range(12))


def _head(body: Body, text: str) -> Body:
    return {**body, "messages": [{"role": "system", "content": text}, *body["messages"][1:]]}


# --- one prompt in two forms ---


def line_ends(body: Body, form: int) -> Body:
    text = body["messages"][0]["content"].replace(". ", ".\n")
    return _head(body, text.replace("\n", "\r\n") if form else text)


def a_space(body: Body, form: int) -> Body:
    text = body["messages"][0]["content"]
    return _head(body, text.replace("When a", "When  a", 1) if form else text)


def keys(body: Body, form: int) -> Body:
    known = {"plan": "gold", "region": "north", "since": 2019, "wants": ["mail", "post"]}
    text = json.dumps(dict(sorted(known.items(), reverse=bool(form))))
    return _head(body, f"Account: {text}\n{body['messages'][0]['content']}")


def tools(body: Body, form: int) -> Body:
    return {**body, "tools": body["tools"][::-1] if form else body["tools"]}


def a_mode(body: Body, form: int) -> Body:
    return _head(body, f"You are in {('plan', 'act')[form]} mode.\n{body['messages'][0]['content']}")


def an_early_message(body: Body, form: int) -> Body:
    """The first question is stored as it came by one program, and wrapped by the other."""
    first = body["messages"][1]["content"]
    asked = {"role": "user", "content": first.replace(". ", ".\n") if form else first}
    return {**body, "messages": [body["messages"][0], asked, *body["messages"][2:]]}


def _each(body: Body, role: str, write: Callable[[str], str]) -> Body:
    messages = [
        {**said, "content": write(said["content"])} if said["role"] == role and said["content"] else said
        for said in body["messages"]
    ]
    return {**body, "messages": messages}


def every_answer(body: Body, form: int) -> Body:
    """One program strips the line end behind each answer."""
    return _each(body, "assistant", lambda text: text + "\n") if form else body


def every_question(body: Body, form: int) -> Body:
    return _each(body, "user", lambda text: text + " ") if form else body


def arguments(body: Body, form: int) -> Body:
    """One program writes what tools are called with anew."""
    messages = []
    for said in body["messages"]:
        calls = json.loads(json.dumps(said.get("tool_calls", [])))
        for call in calls if form else ():
            given = json.loads(call["function"]["arguments"])
            call["function"]["arguments"] = json.dumps(given, separators=(",", ":"))
        messages.append({**said, "tool_calls": calls} if calls else said)
    return {**body, "messages": messages}


def results(body: Body, form: int) -> Body:
    """Results of parallel calls come in the order of the calls, or in which they were found."""
    messages = list(body["messages"])
    for at, said in enumerate(messages):
        if form and said["role"] == "tool" and messages[at - 1]["role"] == "assistant":
            messages[at : at + 2] = [messages[at + 1], said]
    return {**body, "messages": messages}


FORMS: dict[Write, str] = {
    line_ends: "PC206",
    a_space: "PC206",
    keys: "PC201",
    tools: "PC301",
    a_mode: "PC403",
    an_early_message: "PC206",
}


def _conversation(author: Author) -> Body:
    asked = {"role": "user", "content": _long(author)}
    rules = {"role": "system", "content": author.instructions()}
    return {"model": "model-a", "tools": author.tools(), "messages": [rules, asked]}


def _turns(author: Author, write: Write, turns: int) -> list[Body]:
    body, bodies = _conversation(author), []
    for turn in range(turns):
        bodies.append(write(body, turn % 2))
        said = ({"role": role, "content": _long(author)} for role in ("assistant", "user"))
        body = {**body, "messages": [*body["messages"], *said]}
    return bodies


def turn_by_turn(write: Write, code: str, author: Author) -> Scene:
    """One conversation: each turn comes in the other form."""
    return Scene(_turns(author, write, author.random.randrange(5, 8)), frozenset({code}), Provider)


def _called(author: Author, turn: int) -> list[Body]:
    """Two calls of a tool with their results."""
    ids = [author.call_id(2 * turn + n) for n in range(2)]
    given = json.dumps({"query": author.question(), "limit": turn, "fields": ["id", "note"]})
    function = {"name": "search", "arguments": given}
    calls = [{"id": one, "type": "function", "function": function} for one in ids]
    found = [{"role": "tool", "tool_call_id": one, "content": _long(author)} for one in ids]
    return [{"role": "assistant", "content": None, "tool_calls": calls}, *found]


def step_by_step(write: Write, code: str, author: Author) -> Scene:
    """An agent: each step comes in the other form."""
    body, bodies = _conversation(author), []
    for turn in range(author.random.randrange(6, 9)):
        bodies.append(write(body, turn % 2))
        body = {**body, "messages": [*body["messages"], *_called(author, turn)]}
    return Scene(bodies, frozenset({code}), Provider)


def _questions(author: Author, write: Write, forms: list[int]) -> list[Body]:
    body = _conversation(author)
    asked = ({"role": "user", "content": author.question()} for _ in forms)
    return [
        write({**body, "messages": [body["messages"][0], one]}, form)
        for one, form in zip(asked, forms, strict=True)
    ]


def after_each_pause(write: Write, code: str, author: Author) -> Scene:
    """Unrelated questions: both forms expire, and the second one is written beside the first again."""
    rounds = author.random.randrange(2, 4)
    pauses = (5.0, 5.0, 5.0, _PAUSE_S) * rounds
    bodies = _questions(author, write, [*(0, 1, 0, 1) * rounds, 0, 1])
    return Scene(bodies, frozenset({code}), Provider, pauses=(*(5.0, *pauses)[:-1], _PAUSE_S))


# --- nothing to blame ---


def both_are_kept(write: Write, author: Author) -> Scene:
    """Unrelated questions within the lifetime: each finds its own form."""
    return Scene(_questions(author, write, [0, 1] * 3), frozenset(), Provider)


def the_first_after_a_pause(write: Write, author: Author) -> Scene:
    """Nothing is kept any more, in either form."""
    return Scene(_questions(author, write, [0, 1, 0, 1, 0]), frozenset({"PC802"}), Provider, after_s=_PAUSE_S)


def two_customers_after_a_pause(author: Author) -> Scene:
    """Each has a prompt of their own, and both have the same examples behind it or none."""
    shown = [
        {"role": role, "content": author.answer()}
        for _ in range(author.random.randrange(4))
        for role in ("user", "assistant")
    ]

    def write(body: Body, form: int) -> Body:
        rules = f"You help {('Ada Byron', 'Bo Li')[form]}.\n{body['messages'][0]['content']}"
        return _head({**body, "messages": [body["messages"][0], *shown, *body["messages"][1:]]}, rules)

    bodies = _questions(author, write, [0, 1, 0, 1, 0, 1])
    return Scene(bodies, frozenset({"PC802"}), Provider, pauses=(5.0, 5.0, 5.0, 5.0, _PAUSE_S))


def two_programs_about_one_conversation(author: Author) -> Scene:
    """One plans and one writes, each under instructions of its own; an operator calls both by one name."""
    rules = [author.instructions(), "\n".join(f"Write line {n} plainly." for n in range(300))]

    def write(body: Body, form: int) -> Body:
        return _head({key: value for key, value in body.items() if key != "tools"}, rules[form])

    return Scene(_turns(author, write, 6), frozenset(), Provider, more={"template": "both"})


def a_helper_of_its_own(author: Author) -> Scene:
    """Another program asks in the midst of a conversation, with other instructions and fewer tools."""
    own = "You find files. " + " ".join(f"Look at place {n} before the next." for n in range(200))
    body = _conversation(author)
    asked = {"role": "user", "content": _long(author)}
    helper = {**body, "tools": body["tools"][:-1], "messages": [{"role": "system", "content": own}, asked]}
    return Scene([body, author.continued(body), helper], frozenset(), Provider)


def _named(make: Callable[[Author], Scene], label: str) -> Callable[[Author], Scene]:
    make.__name__ = label
    return make


ALTERNATING_HISTORIES: tuple[Callable[[Author], Scene], ...] = tuple(
    _named(partial(make, write, code), f"{write.__name__}_in_turn")
    for make, write, code in (
        (turn_by_turn, every_answer, "PC206"),
        (turn_by_turn, every_question, "PC206"),
        (step_by_step, arguments, "PC507"),
        (step_by_step, results, "PC304"),
    )
)
"""The same where all of a history comes in two forms, of which the first requests have none yet."""

ALTERNATING_FAULTS: tuple[Callable[[Author], Scene], ...] = (
    *(
        _named(partial(turn_by_turn, write, code), f"{write.__name__}_in_turn")
        for write, code in FORMS.items()
    ),
    *(
        _named(partial(after_each_pause, write, code), f"{write.__name__}_after_pauses")
        for write, code in FORMS.items()
        if write not in {a_mode, an_early_message}
    ),
)
"""What being written in two ways costs, with the code it must be known by."""

ALTERNATING_SCENES: tuple[Callable[[Author], Scene], ...] = (
    *(
        _named(partial(both_are_kept, write), f"{write.__name__}_both_kept")
        for write in (line_ends, tools, a_mode)
    ),
    *(
        _named(partial(the_first_after_a_pause, write), f"{write.__name__}_first_after_a_pause")
        for write in (a_space, keys)
    ),
    two_customers_after_a_pause,
    two_programs_about_one_conversation,
    a_helper_of_its_own,
)
"""What costs nothing, or nothing that anybody could help."""
