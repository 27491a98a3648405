"""Conversations as applications have them, and what goes wrong with them: a generator with labels.

`SCENES` that leave nothing to blame, and `FAULTS` that each carry the code they must be known by. A
fault takes a request that would have been served from the cache and changes it as one careless line
of code would; nothing in here looks at how a cause is found.
"""

from __future__ import annotations

import copy
import json
import random
import string
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

Body = dict[str, Any]

_SUBJECTS = ("orders", "refunds", "invoices", "addresses", "deliveries", "accounts", "warranties", "repairs")
_VERBS = ("answer", "explain", "decline", "summarize", "translate", "check", "confirm")
_MANNERS = ("politely", "in one sentence", "with an example", "without jargon", "before anything else")
_PLACES = ("Oslo", "Turin", "Quito", "Perth", "Accra", "Hanoi", "Leeds")
_LETTERS = string.ascii_letters + string.digits
_ASKED = ("Where is", "Why did you change", "Can I return", "Who signed for", "What about", "How big is")


@dataclass(frozen=True)
class Pair:
    """Two requests in a row, and what must come of the second.

    Attributes:
        earlier: bodies that were sent before, oldest first.
        later: the request to be judged.
        code: the cause it must be known by, None where there is nothing to blame.
        path: where it breaks, None where that is not judged.
        after_s: seconds between the last earlier request and it.
    """

    earlier: list[Body]
    later: Body
    code: str | None = None
    path: str | None = None
    after_s: float = 5.0


class Author:
    """Writes prompts, conversations and tools, the same for the same seed.

    ``stamped``: its users' messages begin with the time, and its calls have ids as providers make them.
    """

    def __init__(self, seed: float, *, stamped: bool = False) -> None:
        self.random = random.Random(seed)
        self._seed = seed
        self._stamped = stamped

    def sentence(self) -> str:
        """One instruction."""
        choose = self.random.choice
        return (
            f"When a customer from {choose(_PLACES)} writes about {choose(_SUBJECTS)}, {choose(_VERBS)} "
            f"{choose(_MANNERS)} and mention {choose(_SUBJECTS)}."
        )

    def instructions(self, sentences: int = 70) -> str:
        """A system prompt of some 6,000 characters, in lines or paragraphs."""
        wanted = {self.sentence() for _ in range(sentences)}
        return self.random.choice(("\n", "\n", "\n\n", " ")).join(sorted(wanted))

    def question(self) -> str:
        """A user's message."""
        choose = self.random.choice
        number = self.random.randrange(10**6)
        asked = f"{choose(_ASKED)} my {choose(_SUBJECTS)[:-1]} {number} from {choose(_PLACES)}?"
        return f"[{self.moment():%Y-%m-%d %H:%M:%S}] {asked}" if self._stamped else asked

    def call_id(self, number: int) -> str:
        """The id of a call of a tool."""
        if not self._stamped:
            return f"call_{number}"
        return "call_" + "".join(random.Random(f"{self._seed}/{number}").choices(_LETTERS, k=24))

    def answer(self) -> str:
        """An assistant's message of a few sentences."""
        return " ".join(self.sentence() for _ in range(self.random.randrange(2, 6)))

    def tool(self, name: str) -> Body:
        """A function's definition."""
        fields = self.random.sample(("order", "since", "limit", "city", "verbose", "reason"), 3)
        properties = {field: {"type": "string", "description": self.sentence()} for field in fields}
        return {
            "type": "function",
            "function": {
                "name": name,
                "description": f"{name.title()}: {self.sentence()}",
                "parameters": {
                    "type": "object",
                    "properties": properties,
                    "required": fields[:1],
                },
            },
        }

    def tools(self) -> list[Body]:
        """Three to six tools."""
        names = ("lookup", "search", "refund", "ship", "cancel", "notify")
        return [self.tool(name) for name in names[: self.random.randrange(3, 7)]]

    def conversation(self, turns: int, *, tools: bool | None = None) -> Body:
        """A chat request that ends with a user's message after ``turns`` answers."""
        messages = [{"role": "system", "content": self.instructions()}]
        for _ in range(turns):
            messages += [
                {"role": "user", "content": self.question()},
                {"role": "assistant", "content": self.answer()},
            ]
        messages.append({"role": "user", "content": self.question()})
        body: Body = {"model": "model-a", "messages": messages}
        if tools or (tools is None and self.random.random() < 0.5):
            body["tools"] = self.tools()
        return body

    def continued(self, body: Body) -> Body:
        """The same conversation one answer and one question later."""
        more = [
            {"role": "assistant", "content": self.answer()},
            {"role": "user", "content": self.question()},
        ]
        return {**body, "messages": [*body["messages"], *more]}

    def asking(self, body: Body) -> Body:
        """The same request with another newest question."""
        messages = [*body["messages"][:-1], {"role": "user", "content": self.question()}]
        return {**body, "messages": messages}

    def moment(self) -> datetime:
        """Some moment of some year."""
        return datetime(2027, 1, 1, tzinfo=UTC) + timedelta(seconds=self.random.randrange(10**8))


def _with_system(body: Body, system: str) -> Body:
    return {**body, "messages": [{"role": "system", "content": system}, *body["messages"][1:]]}


# --- nothing to blame ---


def another_question(author: Author) -> Pair:
    body = author.conversation(author.random.randrange(3))
    return Pair([body], author.asking(body))


def next_turn(author: Author) -> Pair:
    body = author.conversation(author.random.randrange(3))
    return Pair([body], author.continued(body))


def retry(author: Author) -> Pair:
    body = author.conversation(author.random.randrange(4))
    return Pair([body], copy.deepcopy(body))


def fork(author: Author) -> Pair:
    body = author.conversation(2)
    return Pair([body, author.continued(author.continued(body))], author.asking(author.continued(body)))


def parallel(author: Author) -> Pair:
    one = author.conversation(0)
    two = author.asking(one)
    return Pair([one, two, author.continued(one)], author.continued(two))


def elsewhere_begun(author: Author) -> Pair:
    """A conversation in progress whose beginning went past another gateway."""
    body = author.conversation(2)
    other = author.conversation(3, tools="tools" in body)
    known = _with_system(other, body["messages"][0]["content"])
    return Pair([body], {**known, **({"tools": body["tools"]} if "tools" in body else {})})


def canned_replies(author: Author) -> Pair:
    """Two conversations in which the assistant says the same short things."""
    body = author.conversation(0)
    system = body["messages"][0]
    greeting = "Hello! Thank you for writing. What can I do for you today?"
    talks = []
    for _ in range(2):
        said = [author.question(), greeting, author.question(), "One moment, please.", author.question()]
        roles = ("user", "assistant", "user", "assistant", "user")
        talk = [{"role": role, "content": text} for role, text in zip(roles, said, strict=True)]
        talks.append({**body, "messages": [system, *talk]})
    return Pair([talks[0]], talks[1])


def first(author: Author) -> Pair:
    return Pair(
        [author.conversation(1), Author(author.random.random()).conversation(1)], author.conversation(1)
    )


def literal_dates(author: Author) -> Pair:
    """Values that look volatile but stand still."""
    body = author.conversation(1)
    system = f"Founded on {author.moment():%Y-%m-%d}, version 3.1.4.\n{body['messages'][0]['content']}"
    return Pair([_with_system(body, system)], author.asking(_with_system(body, system)))


def clock_in_the_newest_turn(author: Author) -> Pair:
    """Volatile facts where they belong."""
    body = author.conversation(1)
    earlier, later = copy.deepcopy(body), copy.deepcopy(body)
    for request in (earlier, later):
        request["messages"][-1]["content"] = f"[{author.moment():%H:%M:%S}] {author.question()}"
    return Pair([earlier], later)


def documents_as_messages(author: Author) -> Pair:
    """Every question is sent once, behind documents that were found for it, each a message of the user's."""
    rules = {"role": "system", "content": author.instructions()}
    pool = [{"role": "user", "content": f"Document: {author.instructions(9)}"} for _ in range(5)]

    def asked() -> Body:
        question = {"role": "user", "content": f"Question: {author.question()}"}
        return {"model": "model-a", "messages": [rules, *author.random.sample(pool, 3), question]}

    return Pair([asked() for _ in range(4)], asked())


def examples_for_each_question(author: Author) -> Pair:
    """Every question is sent once, behind examples that were chosen for it."""
    rules = {"role": "system", "content": author.instructions()}
    pool = [
        ({"role": "user", "content": author.question()}, {"role": "assistant", "content": author.answer()})
        for _ in range(7)
    ]

    def asked() -> Body:
        shown = [message for pair in author.random.sample(pool, 4) for message in pair]
        question = {"role": "user", "content": author.question()}
        return {"model": "model-a", "messages": [rules, *shown, question]}

    return Pair([asked() for _ in range(4)], asked())


# --- faults ---


def _changing(author: Author, code: str, make: Callable[[], str], *, where: str | None = None) -> Pair:
    """Two renderings of a system prompt with a value that changes, at its beginning, middle or end."""
    body = author.conversation(author.random.randrange(3), tools=False)
    lines = body["messages"][0]["content"].split("\n")
    early = author.random.randrange(len(lines) * 3 // 4 + 1)  # a step or more stands behind it
    place = {"start": 0, "end": len(lines), None: early}[where]
    old, new = make(), make()
    while new == old:
        new = make()

    def rendered(value: str) -> str:
        return "\n".join([*lines[:place], value, *lines[place:]])

    earlier = _with_system(body, rendered(old))
    later = _with_system(author.random.choice((author.asking, author.continued))(body), rendered(new))
    return Pair([earlier], later, code, "messages[0]")


def clock(author: Author) -> Pair:
    layout = author.random.choice(
        (
            "Current time: %Y-%m-%dT%H:%M:%SZ",
            "The current date and time is %Y-%m-%d %H:%M:%S.",
            "Now: %d %B %Y, %H:%M:%S",
            "Current time: %H:%M:%S",
        )
    )
    return _changing(author, "PC101", lambda: f"{author.moment():{layout}}")


def date(author: Author) -> Pair:
    layout = author.random.choice(
        ("Today's date: %Y-%m-%d", "Today is %A, %d %B %Y.", "Current date: %d.%m.%Y")
    )
    return _changing(author, "PC109", lambda: f"{author.moment():{layout}}")


def unique_id(author: Author) -> Pair:
    def make() -> str:
        digits = f"{author.random.getrandbits(128):032x}"
        uuid = "-".join((digits[:8], digits[8:12], "4" + digits[13:16], "a" + digits[17:20], digits[20:]))
        return f"Request id: {uuid}"

    return _changing(author, "PC102", make)


def counter(author: Author) -> Pair:
    def make() -> str:
        used = author.random.randrange(1_000, 9_000)
        return f"Memory: {used:,}/10,000 characters used ({used // 100}%)"

    return _changing(author, "PC107", make)


def mail_address(author: Author) -> Pair:
    return _changing(author, "PC104", lambda: f"User: user{author.random.randrange(10**5)}@example.com")


def working_directory(author: Author) -> Pair:
    def make() -> str:
        return (
            f"Working directory: /home/dev{author.random.randrange(99)}/project-{author.random.randrange(99)}"
        )

    return _changing(author, "PC105", make)


def object_repr(author: Author) -> Pair:
    return _changing(
        author, "PC106", lambda: f"Client: <shop.Client object at 0x7f{author.random.getrandbits(40):010x}>"
    )


def tools_shuffled(author: Author) -> Pair:
    body = author.conversation(1, tools=True)
    shuffled = body["tools"][:]
    while shuffled == body["tools"]:
        author.random.shuffle(shuffled)
    return Pair([body], {**author.continued(body), "tools": shuffled}, "PC301")


def tool_added(author: Author) -> Pair:
    body = author.conversation(1, tools=True)
    place = author.random.randrange(len(body["tools"]) + 1)
    tools = [*body["tools"][:place], author.tool("escalate"), *body["tools"][place:]]
    return Pair([body], {**author.continued(body), "tools": tools}, "PC302")


def tool_removed(author: Author) -> Pair:
    body = author.conversation(1, tools=True)
    tools = body["tools"][:]
    del tools[author.random.randrange(len(tools))]
    return Pair([body], {**author.continued(body), "tools": tools}, "PC302")


def tool_keys_reordered(author: Author) -> Pair:
    body = author.conversation(1, tools=True)
    tools = copy.deepcopy(body["tools"])
    chosen = tools[author.random.randrange(len(tools))]["function"]
    chosen["parameters"] = dict(reversed(chosen["parameters"].items()))
    return Pair([body], {**author.continued(body), "tools": tools}, "PC201")


def whitespace(author: Author) -> Pair:
    body = author.conversation(1)
    system = body["messages"][0]["content"]
    words = system.split(" ")
    place = author.random.randrange(1, len(words) * 3 // 4)  # a step or more stands behind it
    changed = author.random.choice(
        (
            " ".join(words[:place]) + "  " + " ".join(words[place:]),
            "\n" + system,
            system.replace("\n", "\r\n", 3),
        )
    )
    if changed == system:
        changed = "\n" + system
    return Pair([body], _with_system(author.continued(body), changed), "PC206", "messages[0]")


def trimmed(author: Author) -> Pair:
    body = author.conversation(5)
    later = author.continued(body)
    dropped = 2 * author.random.randrange(1, 3)
    messages = [later["messages"][0], *later["messages"][1 + dropped :]]
    return Pair([body], {**later, "messages": messages}, "PC501", "messages[1]")


def message_edited(author: Author) -> Pair:
    body = author.conversation(4)
    later = author.continued(body)
    messages = copy.deepcopy(later["messages"])
    place = author.random.randrange(1, 6)
    messages[place]["content"] += " (edited)"
    return Pair([body], {**later, "messages": messages}, "PC502", f"messages[{place}]")


def _shown(author: Author) -> Body:
    """One answer, and then a question with a long text in it."""
    body = author.conversation(1)
    asked = f"{author.question()}\n{author.instructions(30)}"
    return {**body, "messages": [*body["messages"][:-1], {"role": "user", "content": asked}]}


def window_of_three(author: Author) -> Pair:
    """Of the history no more is kept than the last question, which was the newest one, and its answer."""
    body = _shown(author)
    later = author.continued(body)
    messages = [later["messages"][0], *later["messages"][-3:]]
    return Pair([body], {**later, "messages": messages}, "PC501", "messages[1]")


def answer_cut(author: Author) -> Pair:
    """The answer before the newest question is shortened once that is history, too."""
    body = _shown(author)
    later = author.continued(body)
    messages = copy.deepcopy(later["messages"])
    messages[2]["content"] = messages[2]["content"][:60] + " (shortened)"
    return Pair([body], {**later, "messages": messages}, "PC502", "messages[2]")


def arguments_rewritten(author: Author) -> Pair:
    body = author.conversation(1, tools=True)
    call = {"order": author.random.randrange(10**5), "since": "Monday", "city": author.random.choice(_PLACES)}

    def spoken(arguments: str) -> list[Body]:
        function = {"name": "lookup", "arguments": arguments}
        asked = [{"id": author.call_id(1), "type": "function", "function": function}]
        return [
            {"role": "assistant", "content": None, "tool_calls": asked},
            {"role": "tool", "tool_call_id": author.call_id(1), "content": author.instructions(30)},
            {"role": "assistant", "content": author.answer()},
            {"role": "user", "content": author.question()},
        ]

    state = author.random.getstate()
    earlier = {**body, "messages": [*body["messages"], *spoken(json.dumps(call))]}
    author.random.setstate(state)
    rewritten = spoken(json.dumps(dict(sorted(call.items())), separators=(",", ":")))
    more = [{"role": "assistant", "content": author.answer()}, {"role": "user", "content": author.question()}]
    return Pair([earlier], {**body, "messages": [*body["messages"], *rewritten, *more]}, "PC507")


def system_edited(author: Author) -> Pair:
    """An instruction rewritten in place, in front of others that stay."""
    body = author.conversation(1, tools=False)
    sentences = body["messages"][0]["content"].replace(". ", ".\n").split("\n")
    place = author.random.randrange(len(sentences) // 2)
    old, new = sentences[place], "From now on every reply ends with a rhyme about the sea."
    changed = body["messages"][0]["content"].replace(old or sentences[0], new, 1)
    return Pair([body], _with_system(author.continued(body), changed), "PC403", "messages[0]")


def section_that_comes_and_goes(author: Author) -> Pair:
    """A heading with its rules that only some requests carry, in front of rules that all do."""
    body = author.conversation(1, tools=False)
    system = body["messages"][0]["content"]
    section = f"# Holidays\n{author.sentence()}\n{author.sentence()}\n"
    half = system.find("\n", len(system) // 2) + 1
    later = _with_system(author.continued(body), system[:half] + section + system[half:])
    return Pair([body], later, "PC404", "messages[0]")


def documents_in_front(author: Author) -> Pair:
    """What retrieval found for one question, in front of the instructions."""
    body = author.conversation(0, tools=False)
    system = body["messages"][0]["content"]

    def found() -> str:
        return "\n".join(f"<document>{author.answer()}</document>" for _ in range(3))

    earlier = _with_system(body, f"<documents>\n{found()}\n</documents>\n{system}")
    later = _with_system(author.asking(body), f"<documents>\n{found()}\n</documents>\n{system}")
    return Pair([earlier], later, "PC402", "messages[0]")


def reasoning_dropped(author: Author) -> Pair:
    """An answer is sent back without the thoughts that came with it."""
    body = author.conversation(3)
    thought = {**body["messages"][2], "reasoning_content": author.instructions(40)}
    earlier = {**body, "messages": [*body["messages"][:2], thought, *body["messages"][3:]]}
    return Pair([earlier], author.continued(body), "PC505", "messages[2]")


def image_signed_anew(author: Author) -> Pair:
    """The same picture under an address that is signed for each request."""
    body = author.conversation(2)

    def shown(request: Body) -> Body:
        address = f"https://cdn.example.com/receipt.png?X-Amz-Signature={author.random.getrandbits(256):064x}"
        parts = [
            {"type": "text", "text": request["messages"][1]["content"]},
            {"type": "image_url", "image_url": {"url": address}},
        ]
        messages = [request["messages"][0], {"role": "user", "content": parts}, *request["messages"][2:]]
        return {**request, "messages": messages}

    return Pair([shown(body)], shown(author.continued(body)), "PC701", "messages[1].content[1]")


def model_switched(author: Author) -> Pair:
    body = author.conversation(2)
    return Pair([body], {**author.continued(body), "model": "model-b"}, "PC503")


def parameter_switched(author: Author) -> Pair:
    body = {**author.conversation(2), "reasoning_effort": "low"}
    return Pair([body], {**author.continued(body), "reasoning_effort": "high"}, "PC504")


def expired(author: Author) -> Pair:
    body = author.conversation(1)
    return Pair([body], author.continued(body), "PC802", after_s=400.0)


def clocked(pair: Pair, code: str = "PC101") -> Pair:
    """The same pair, with the time at the start of its system prompt besides."""

    def rendered(body: Body, second: int) -> Body:
        system = body["messages"][0]["content"]
        return _with_system(body, f"Now: 2026-11-29T12:00:{second:02}Z\n{system}")

    earlier = [rendered(body, 1) for body in pair.earlier]
    return Pair(earlier, rendered(pair.later, 2), code, after_s=pair.after_s)


SCENES: tuple[Callable[[Author], Pair], ...] = (
    another_question,
    next_turn,
    retry,
    fork,
    parallel,
    elsewhere_begun,
    canned_replies,
    first,
    literal_dates,
    clock_in_the_newest_turn,
    documents_as_messages,
    examples_for_each_question,
)
"""Traffic that draws no blame."""

FAULTS: tuple[Callable[[Author], Pair], ...] = (
    clock,
    date,
    unique_id,
    counter,
    mail_address,
    working_directory,
    object_repr,
    tools_shuffled,
    tool_added,
    tool_removed,
    tool_keys_reordered,
    whitespace,
    trimmed,
    message_edited,
    window_of_three,
    answer_cut,
    arguments_rewritten,
    system_edited,
    section_that_comes_and_goes,
    documents_in_front,
    reasoning_dropped,
    image_signed_anew,
    model_switched,
    parameter_switched,
    expired,
)
"""One careless line each, with the code it must be known by."""

COMBINED: tuple[Callable[[Author], Pair], ...] = (
    tools_shuffled,
    tool_added,
    tool_keys_reordered,
    trimmed,
    message_edited,
    arguments_rewritten,
    reasoning_dropped,
    image_signed_anew,
    model_switched,
    parameter_switched,
    expired,
)
"""Faults that can come together with a clock in the system prompt."""
