"""Messages that stand before every question, and what changes in them: labelled scenes.

Examples, a context, a tool's old answer: sent again with each new question, by requests that do not go on
from each other. Nothing in here looks at how a cause is found.
"""

from __future__ import annotations

import json
import uuid
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from tests.gateway.observe.changing_traffic import scene

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.gateway.observe.marked_traffic import Scene
    from tests.gateway.observe.traffic import Author

Body = dict[str, Any]

_PEOPLE = ("Ann Lee", "Bob Roy", "Cid Moe", "Dee Poe", "Eve Fox", "Ines Roth", "Omar Nasser", "Li Na")


def said(role: str, text: str, **more: Any) -> Body:
    return {"role": role, "content": text, **more}


def request(author: Author, system: str | None, *before: Body) -> Body:
    """A request that asks something new behind those messages."""
    head = [] if system is None else [said("system", system)]
    return {"model": "model-a", "messages": [*head, *before, said("user", author.question())]}


def examples(author: Author, count: int = 6) -> list[tuple[Body, Body]]:
    """Pairs of what may be asked and what is to be answered, of some length."""
    return [(said("user", author.instructions(4)), said("assistant", author.answer())) for _ in range(count)]


def shown(pairs: list[tuple[Body, Body]]) -> list[Body]:
    return [message for pair in pairs for message in pair]


def identifier(author: Author) -> str:
    return str(uuid.UUID(int=author.random.getrandbits(128)))


# --- nothing to blame ---


def the_same_examples(author: Author) -> Scene:
    rules, pairs = author.instructions(), shown(examples(author))
    return scene([request(author, rules, *pairs) for _ in range(3)])


def another_customer(author: Author) -> Scene:
    """A form that each customer fills in, before what is the same for all."""
    rules, terms = author.instructions(), author.instructions(20)
    bodies = []
    for person in author.random.sample(_PEOPLE, 3):
        mail = f"{person.split()[0].lower()}@example.com"
        form = f"Customer: {person}\nE-mail: {mail}\nPlan: gold\n\n{terms}"
        bodies.append(request(author, rules, said("user", form), said("assistant", "Understood.")))
    return scene(bodies)


def a_form_about_one_ticket(author: Author) -> Scene:
    """What users fill in is long and always the same but for its identifier, and so is the answer."""
    rules, form = author.instructions(), " ".join(author.sentence() for _ in range(12))
    answer = said("assistant", "Thank you, I have read the ticket.")
    bodies = [
        request(author, rules, said("user", f"Ticket {identifier(author)}\n{form}"), answer) for _ in range(3)
    ]
    return scene(bodies)


def talks_with_canned_answers(author: Author) -> Scene:
    """Conversations that begin with a click and go on with what a robot always says."""
    rules, menu = author.instructions(), author.instructions(12)
    bodies = []
    for _ in range(3):
        clicked = f"Track order {author.random.randrange(10**8):08} ({identifier(author)})"
        bodies.append(request(author, rules, said("user", clicked), said("assistant", menu)))
    return scene(bodies)


def a_stamped_talk_that_goes_on(author: Author) -> Scene:
    """Tasks that begin at some moment; each request goes on from its own task's last one."""
    rules, order = author.instructions(), author.instructions(12)
    bodies = []
    for _ in range(2):
        task = [
            said("system", rules),
            said("user", f"Begun {author.moment():%Y-%m-%dT%H:%M:%SZ}.\n{order}"),
        ]
        bodies.append({"model": "model-a", "messages": task})
        more = [said("assistant", "Done. What is next?"), said("user", author.question())]
        bodies.append({"model": "model-a", "messages": [*task, *more]})
    return scene(bodies)


def examples_most_like_the_question(author: Author) -> Scene:
    """Of all examples some, the likest first."""
    rules, pairs = author.instructions(), examples(author, 8)
    return scene([request(author, rules, *shown(author.random.sample(pairs, 5))) for _ in range(6)])


def examples_in_another_order_once(author: Author) -> Scene:
    """Somebody put them in order: that was done once."""
    rules, pairs = author.instructions(), examples(author)
    orders = [pairs, pairs, pairs, [*pairs[2:], *pairs[:2]]]
    return scene([request(author, rules, *shown(order)) for order in orders])


# --- faults ---


def clock_in_a_context(author: Author) -> Scene:
    """The first message says what is known, and since when; with or without instructions before it."""
    rules = author.random.choice((author.instructions(), None))
    known = author.instructions(60)
    bodies = [
        request(
            author,
            rules,
            said("user", f"Context, as of {author.moment():%Y-%m-%dT%H:%M:%S}:\n{known}"),
            said("assistant", "Understood."),
        )
        for _ in range(3)
    ]
    return scene(bodies, "PC101")


def date_in_a_context_without_an_answer(author: Author) -> Scene:
    known, rules, first = author.instructions(60), author.instructions(), author.moment()
    bodies = [
        request(author, rules, said("user", f"Today is {day:%A, %d %B %Y}.\n{known}"))
        for day in (first, first + timedelta(days=author.random.randrange(1, 400)))
    ]
    return scene(bodies, "PC109")


def identifier_in_an_example(author: Author) -> Scene:
    """Of several examples one bears a ticket's number that is made anew."""
    rules, pairs = author.instructions(), examples(author)
    at = author.random.randrange(4)
    bodies = []
    for _ in range(2):
        ticket = said("user", f"Ticket {identifier(author)}: {pairs[at][0]['content']}")
        bodies.append(request(author, rules, *shown([*pairs[:at], (ticket, pairs[at][1]), *pairs[at + 1 :]])))
    return scene(bodies, "PC102")


def examples_shuffled(author: Author) -> Scene:
    """All of them each time, in whatever order."""
    rules, pairs = author.instructions(), examples(author)
    bodies = []
    for turned in range(5):
        rest = author.random.sample(pairs[1:], 5)
        bodies.append(request(author, rules, *shown([*rest[:turned], pairs[0], *rest[turned:]])))
    return scene(bodies, "PC103")


def clock_far_inside_a_later_message(author: Author) -> Scene:
    """Deep in a long text, behind another static message."""
    rules, first, half = author.instructions(), author.instructions(8), author.instructions(30)
    rest = author.instructions(30)
    bodies = [
        request(
            author,
            rules,
            said("user", first),
            said("user", f"{half}\nRead at {author.moment():%Y-%m-%d %H:%M:%S}.\n{rest}"),
            said("assistant", "Understood."),
        )
        for _ in range(2)
    ]
    return scene(bodies, "PC101")


def clock_in_an_old_result(author: Author) -> Scene:
    """A conversation taken up again and again, its first result read anew each time."""
    rules, known, after = author.instructions(), author.instructions(30), author.instructions(12)
    call = {"id": f"call_{author.random.getrandbits(96):024x}", "type": "function"}
    call["function"] = {"name": "status", "arguments": "{}"}
    bodies = []
    for _ in range(2):
        result = f"status at {author.moment():%Y-%m-%dT%H:%M:%S}: pending. {known}"
        talk = [
            said("user", "watch"),
            {"role": "assistant", "content": None, "tool_calls": [call]},
            said("tool", result, tool_call_id=call["id"]),
            said("assistant", after),
        ]
        bodies.append(request(author, rules, *talk))
    return scene(bodies, "PC101")


def keys_of_a_context(author: Author) -> Scene:
    """A context in JSON, its keys as they come."""
    rules, kept = author.instructions(), {f"rule {n}": author.sentence() for n in range(40)}
    bodies = []
    for _ in range(2):
        keys = author.random.sample(sorted(kept), len(kept))
        context = said("user", json.dumps({key: kept[key] for key in keys}))
        bodies.append(request(author, rules, context, said("assistant", "Ready.")))
    return scene(bodies, "PC201")


PREAMBLE_SCENES: tuple[Callable[[Author], Scene], ...] = (
    the_same_examples,
    another_customer,
    a_form_about_one_ticket,
    talks_with_canned_answers,
    a_stamped_talk_that_goes_on,
    examples_most_like_the_question,
    examples_in_another_order_once,
)
"""Traffic that draws no blame."""

PREAMBLE_FAULTS: tuple[Callable[[Author], Scene], ...] = (
    clock_in_a_context,
    date_in_a_context_without_an_answer,
    identifier_in_an_example,
    examples_shuffled,
    clock_far_inside_a_later_message,
    clock_in_an_old_result,
    keys_of_a_context,
)
"""Faults with the codes they must be known by."""
