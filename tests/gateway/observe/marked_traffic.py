"""Requests with breakpoints and what goes wrong with those, and faults that need more than a body: labelled.

`MarkedProvider` caches as Anthropic documents it: entries end at ``cache_control`` marks, a mark finds an
entry at most 20 blocks behind it, nothing shorter than the minimum is kept. `play` sends a scene's requests
to the provider it is for; the label is the code that the last one must be known by.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

from promptcache.segments import cut_request
from promptcache.usage import Usage
from tests.gateway.observe.scenes import Provider, Stage, engine_provider, facts, outcome
from tests.gateway.observe.written_provider import Tokenizer

if TYPE_CHECKING:
    from collections.abc import Callable

    from promptcache.segments import Segment
    from promptcache_gateway.exchange import EngineFacts
    from promptcache_gateway.observe import Diagnosis
    from tests.gateway.observe.traffic import Author

Body = dict[str, Any]

MARK = {"cache_control": {"type": "ephemeral"}}
_LOOKBACK = 20


class MarkedProvider(Provider):
    """A provider that caches what is marked, as long as the mark says.

    ``drops_thoughts``: of finished turns the thoughts are left out.
    """

    def __init__(self, tokenizer: Tokenizer | None = None, *, drops_thoughts: bool = False) -> None:
        super().__init__(kind="anthropic", granularity=None)
        self.tokenizer = tokenizer if tokenizer is not None else Tokenizer()
        self.drops_thoughts = drops_thoughts
        self.entries: dict[tuple[str, ...], tuple[float, float]] = {}

    def forget(self) -> None:
        """Lose everything, as caches may."""
        self.entries.clear()

    def serve(self, body: Body, now: float) -> Usage:
        """Compute a prompt, reading the longest entry a mark finds, and keep what is marked."""
        segments = cut_request(self._shortened(body))
        texts = (str(body["model"]), *(segment.path + segment.text for segment in segments))
        marks = [at for at, segment in enumerate(segments, 1) if segment.breakpoint is not None]
        size = [0, *(len(self.tokenizer.cut_segment(segment)) for segment in segments)]
        read = 0
        for mark in marks:
            for at in range(mark, max(mark - _LOOKBACK, 0), -1):
                used, lifetime_s = self.entries.get(texts[: at + 1], (0.0, 0.0))
                if now - used <= lifetime_s:
                    self.entries[texts[: at + 1]] = now, lifetime_s
                    read = max(read, sum(size[1 : at + 1]))
                    break
        kept = [mark for mark in marks if sum(size[1 : mark + 1]) >= self.minimum]
        self.entries.update({texts[: mark + 1]: (now, _lifetime(segments[mark - 1])) for mark in kept})
        written = max([sum(size[1 : mark + 1]) for mark in kept], default=0)
        total = sum(size[1:])
        counts = {
            "input_tokens": total - max(read, written),
            "cache_read_input_tokens": read,
            "cache_creation_input_tokens": max(0, written - read),
            "output_tokens": 9,
        }
        return Usage.from_response({"usage": counts})

    def _shortened(self, body: Body) -> Body:
        if not self.drops_thoughts:
            return body
        asked = [at for at, said in enumerate(body["messages"]) if _is_question(said)]
        messages = copy.deepcopy(body["messages"])
        for said in messages[: asked[-1]]:
            said["content"] = [part for part in said["content"] if part["type"] != "thinking"]
        return {**body, "messages": messages}


def _lifetime(segment: Segment) -> float:
    return 3_600.0 if (segment.breakpoint or {}).get("ttl") == "1h" else 300.0


def _is_question(said: Body) -> bool:
    return said["role"] == "user" and said["content"][0]["type"] == "text"


@dataclass(frozen=True)
class Scene:
    """Requests in a row, and what must come of the last.

    Attributes:
        bodies: what is sent.
        codes: the causes that must be named, none where nothing is to blame.
        provider: who takes them.
        overlapping: the last comes before the others are answered.
        engine: what the built-in engine knew of the last one.
        more: what every call has besides.
        forgotten: the provider has lost everything before the last.
        after_s: seconds between the last and those before it.
        pauses: seconds before each of those before it, 5 where it is silent.
        last: what the last call has besides.
        refused: the last one is answered with this HTTP status.
        failing: which of those before it no upstream worked on.
    """

    bodies: list[Body]
    codes: frozenset[str] = frozenset()
    provider: Callable[[], Provider] = MarkedProvider
    overlapping: bool = False
    engine: EngineFacts | None = None
    more: dict[str, Any] = field(default_factory=dict)
    forgotten: bool = False
    after_s: float = 5.0
    pauses: tuple[float, ...] = ()
    last: dict[str, Any] = field(default_factory=dict)
    refused: int | None = None
    failing: frozenset[int] = frozenset()


def play(scene: Scene) -> Diagnosis:
    """The diagnosis of the scene's last request."""
    stage = Stage(scene.provider())
    dialect = "anthropic.messages" if "system" in scene.bodies[-1] else "openai.chat"
    *earlier, last = scene.bodies
    if scene.engine is not None:
        for body in earlier:
            stage.send_to_engine(body, facts(2_000, 0), **scene.more)
        return stage.send_to_engine(last, scene.engine, **scene.more).diagnosis
    if not scene.overlapping:
        for number, (body, pause_s) in enumerate(zip_longest(earlier, scene.pauses, fillvalue=5.0)):
            send = stage.fail if number in scene.failing else stage.send
            send(body, after_s=pause_s, dialect=dialect, **scene.more)
        if scene.forgotten:
            stage.provider.forget()  # type: ignore[attr-defined]
        more = {"dialect": dialect, **scene.more, **scene.last}
        if scene.refused is not None:
            observation = stage.observer.open(stage.call(last, **more))
            return stage.observer.close(observation, outcome(Usage(), status=scene.refused)).diagnosis
        return stage.send(last, after_s=scene.after_s, **more).diagnosis
    under_way = [stage.observer.open(stage.call(body, dialect=dialect)) for body in scene.bodies]
    stage.clock.now += 1
    for observation in under_way[:-1]:
        stage.observer.close(observation, outcome(MarkedProvider().serve(earlier[0], stage.clock.now)))
    usage = MarkedProvider().serve(last, stage.clock.now)  # its prefix was not there yet
    return stage.observer.close(under_way[-1], outcome(usage)).diagnosis


def talk(author: Author, turns: int, *, system: list[Body] | None = None) -> Body:
    """A conversation of Anthropic's shape, nothing marked but what ``system`` has."""
    messages = []
    for _ in range(turns):
        messages += [message("user", author.question()), message("assistant", author.answer())]
    rules = [{"type": "text", "text": author.instructions(), **MARK}]
    return {
        "model": "claude-sonnet-4-5",
        "max_tokens": 100,
        "system": rules if system is None else system,
        "messages": [*messages, message("user", author.question())],
    }


def message(role: str, text: str) -> Body:
    return {"role": role, "content": [{"type": "text", "text": text}]}


def marked(body: Body, at: int = -1) -> Body:
    """The body with a mark on one of its messages."""
    made = copy.deepcopy(body)
    made["messages"][at]["content"][0].update(MARK)
    return made


def continued(author: Author, body: Body, turns: int = 1) -> Body:
    """The conversation some answers and questions later."""
    more = []
    for _ in range(turns):
        more += [message("assistant", author.answer()), message("user", author.question())]
    return {**body, "messages": [*body["messages"], *more]}


# --- nothing to blame ---


def mark_on_the_system(author: Author) -> Scene:
    body = talk(author, author.random.randrange(2))
    return Scene([body, continued(author, body)])


def mark_that_moves(author: Author) -> Scene:
    body = talk(author, author.random.randrange(1, 4))
    return Scene([marked(body), marked(continued(author, body))])


def two_marks_and_a_long_turn(author: Author) -> Scene:
    """A turn of many blocks, with a mark within reach of the last entry."""
    body = talk(author, 2)
    long = continued(author, body, 12)
    near = len(body["messages"]) + author.random.randrange(1, 9)
    return Scene([marked(body), marked(marked(long), near)])


def refused_for_another_reason(author: Author) -> Scene:
    """A request with good marks is answered with an error."""
    body = talk(author, 1)
    return Scene([body, continued(author, body)], refused=author.random.choice((400, 429, 500)))


def gone_on_from_a_summary(author: Author) -> Scene:
    """The conversation begins anew, under its own prompt, from what was summed up within it."""
    body = author.conversation(author.random.randrange(4, 8))
    said = f"This session is being continued from a previous conversation. Summary: {author.answer()}"
    talk = [("user", said), ("assistant", "Understood."), ("user", author.question())]
    later = [body["messages"][0], *({"role": role, "content": text} for role, text in talk)]
    return Scene([body, {**body, "messages": later}], provider=Provider)


def judged_by_another_prompt(author: Author) -> Scene:
    """A conversation is handed to a template that judges it, and sums nothing up."""
    body = author.conversation(6, tools=False)
    order = {"role": "system", "content": "You judge how content a customer is, from one to ten."}
    asked = [{"role": "assistant", "content": author.answer()}, {"role": "user", "content": "How content?"}]
    judged = {**body, "messages": [order, *body["messages"][1:], *asked]}
    return Scene([body, judged], frozenset({"PC801"}), Provider)


_WORDED = (
    "Can you summarize my open invoices?",
    "Please make that table more compact.",
    "Condense your last answer to one line.",
    "What are my open invoices?",
)
"""Questions with and without a word that also asks for summaries of conversations."""


def handed_to_a_specialist(author: Author) -> Scene:
    """Another agent, with instructions and tools of its own, goes on with a conversation."""
    body = author.conversation(4, tools=True)
    tools = [
        {"type": "function", "function": {"name": name, "parameters": {}}} for name in ("bill", "refund")
    ]
    order = {"role": "system", "content": f"You are the billing agent. {author.instructions()}"}
    asked = {"role": "user", "content": author.random.choice(_WORDED)}
    talk = [*body["messages"][1:], {"role": "assistant", "content": author.answer()}, asked]
    later = {**body, "tools": tools, "messages": [order, *talk]}
    return Scene([body, later], frozenset({"PC801"}), Provider)


# --- faults ---


def clock_before_a_word(author: Author) -> Scene:
    """The time stands at the top, and the newest turn has something summed up or made compact."""
    body = author.conversation(2, tools=False)
    rules = body["messages"][0]["content"]
    talk = [*body["messages"][1:], {"role": "assistant", "content": author.answer()}]
    asked = {"role": "user", "content": author.random.choice(_WORDED)}

    def at(second: int, *messages: Body) -> Body:
        system = {"role": "system", "content": f"Now: 2026-11-29T12:00:{second:02}Z\n{rules}"}
        return {**body, "messages": [system, *messages]}

    return Scene([at(1, *talk[:-1]), at(31, *talk, asked)], frozenset({"PC101", "PC401"}), Provider)


def too_many_marks(author: Author) -> Scene:
    """Five breakpoints, or a longer lifetime behind a shorter one: the provider refuses both."""
    body = talk(author, 4)
    made = copy.deepcopy(body)
    if author.random.random() < 0.5:
        for at in author.random.sample(range(len(made["messages"])), 4):
            made["messages"][at]["content"][0].update(MARK)
    else:
        long = {"cache_control": {"type": "ephemeral", "ttl": "1h"}}
        made["messages"][author.random.randrange(len(made["messages"]))]["content"][0].update(long)
    return Scene([body, made], frozenset({"PC603"}), refused=400)


def summed_up_by_a_template_of_its_own(author: Author) -> Scene:
    """Nobody names templates, and the one that sums up has instructions that are nothing like the others."""
    body = author.conversation(6)
    order = {"role": "system", "content": "You sum up conversations. Summarize what follows, keep numbers."}
    asked = [{"role": "assistant", "content": author.answer()}, {"role": "user", "content": "Summarize now."}]
    later = {"model": body["model"], "messages": [order, *body["messages"][1:], *asked]}
    before = author.conversation(5)
    other = {"model": body["model"], "messages": [order, *before["messages"][1:], *asked]}
    return Scene([before, other, body, later], frozenset({"PC506"}), Provider)


def mark_on_a_clock(author: Author) -> Scene:
    """The only mark stands on the block that tells the time."""
    rules = {"type": "text", "text": author.instructions()}

    def at(second: int) -> list[Body]:
        return [rules, {"type": "text", "text": f"Now: 2026-11-29T12:00:{second:02}Z", **MARK}]

    body = talk(author, 1, system=at(1))
    return Scene([body, {**continued(author, body), "system": at(2)}], frozenset({"PC101", "PC601"}))


def mark_dropped(author: Author) -> Scene:
    body = talk(author, author.random.randrange(3))
    later = continued(author, body)
    bare = [{key: value for key, value in block.items() if key not in MARK} for block in body["system"]]
    return Scene([body, {**later, "system": bare}], frozenset({"PC602"}))


def too_short(author: Author) -> Scene:
    short = [{"type": "text", "text": author.answer(), **MARK}]
    body = talk(author, 0, system=short)
    return Scene([body, {**body, "messages": [message("user", author.question())]}], frozenset({"PC604"}))


def too_far_to_look_back(author: Author) -> Scene:
    """A turn of more blocks than a mark looks back over."""
    body = talk(author, 2, system=[{"type": "text", "text": author.instructions()}])
    long = continued(author, body, author.random.randrange(11, 20))
    return Scene([marked(body), marked(long)], frozenset({"PC605"}))


def mark_that_stands_still(author: Author) -> Scene:
    """The first question carries the mark for ever, and the history behind it is computed again and again."""
    body = talk(author, 16, system=[{"type": "text", "text": author.instructions()}])
    return Scene([marked(body, 0), marked(continued(author, body), 0)], frozenset({"PC610"}))


def expired_beside_another(author: Author) -> Scene:
    """A conversation rests for too long, while another one keeps the instructions that they share alive."""
    body = marked(talk(author, author.random.randrange(1, 4)))
    other = {**body, "messages": [message("user", author.question())]}
    asked = [marked(other)] * author.random.randrange(2, 5)
    pauses = (5.0, *(author.random.uniform(150, 280) for _ in asked))
    later = marked(continued(author, body))
    return Scene([body, *asked, later], frozenset({"PC802"}), pauses=pauses, after_s=100.0)


def expired_behind_a_clock(author: Author) -> Scene:
    """A conversation rests for too long, and but for the time at the top others had kept its instructions."""
    rules = author.instructions(60)

    def at(second: int, *messages: Body) -> Body:
        minutes, seconds = divmod(second, 60)
        clock = f"Now: 2026-11-29T12:{minutes:02}:{seconds:02}Z"
        return {
            "model": "model-a",
            "messages": [{"role": "system", "content": f"{clock}\n{rules}"}, *messages],
        }

    said = [{"role": "user", "content": author.question()}, {"role": "assistant", "content": author.answer()}]
    asked = {"role": "user", "content": author.question()}
    others = [at(second, {"role": "user", "content": author.question()}) for second in (100, 200, 300)]
    bodies = [at(0, said[0]), *others, at(400, *said, asked)]
    codes = frozenset({"PC101", "PC401", "PC802"})
    return Scene(bodies, codes, Provider, pauses=(5.0, 100.0, 100.0, 100.0), after_s=100.0)


def fan_out(author: Author) -> Scene:
    body = talk(author, 0)
    others = [{**body, "messages": [message("user", author.question())]} for _ in range(2)]
    return Scene([body, *others], frozenset({"PC608"}), overlapping=True)


def clock_in_a_tool(author: Author) -> Scene:
    body = author.conversation(1, tools=True)
    place = author.random.randrange(len(body["tools"]))

    def at(second: int, request: Body) -> Body:
        made = copy.deepcopy(request)
        made["tools"][place]["function"]["description"] += f" Current time: 2026-11-29T12:00:{second:02}Z."
        return made

    return Scene([at(1, body), at(2, author.continued(body))], frozenset({"PC101", "PC303"}), Provider)


def compacted_with_another_prefix(author: Author) -> Scene:
    """The history is summed up, under one name, by a request with other instructions in front of it."""
    body = author.conversation(6, tools=False)
    order = "You sum up conversations. Summarize what follows and keep every number."
    messages = [{"role": "system", "content": order}, *body["messages"][1:]]
    asked = [{"role": "assistant", "content": author.answer()}, {"role": "user", "content": "Summarize now."}]
    later = {**body, "messages": [*messages, *asked]}
    return Scene([body, later], frozenset({"PC506"}), Provider, more={"template": "agent"})


def summed_up_in_the_middle(author: Author) -> Scene:
    """Old messages give way to their summary, and those behind it, which stay, are computed again."""
    body = author.conversation(9, tools=False)
    summary = {"role": "user", "content": f"This is a summary of the conversation so far: {author.answer()}"}
    kept = author.continued(body)["messages"][9:]
    later = {**body, "messages": [body["messages"][0], summary, *kept]}
    return Scene([body, later], frozenset({"PC506"}), Provider)


def from_the_engine(code: str, **known: int) -> Callable[[Author], Scene]:
    """The engine told itself what it lost."""

    def make(author: Author) -> Scene:
        body = author.conversation(1, tools=False)
        lost = author.random.randrange(100, 900)
        read = 1_500 - lost
        told = facts(2_000, read, diverged_at=None, **dict.fromkeys(known, lost))
        return Scene([body, author.continued(body)], frozenset({code}), engine_provider, engine=told)

    make.__name__ = f"engine_{'_'.join(known)}"
    return make


MARKED_SCENES: tuple[Callable[[Author], Scene], ...] = (
    mark_on_the_system,
    mark_that_moves,
    two_marks_and_a_long_turn,
    refused_for_another_reason,
    gone_on_from_a_summary,
)
"""Traffic with breakpoints that draws no blame."""

MARKED_FAULTS: tuple[Callable[[Author], Scene], ...] = (
    mark_on_a_clock,
    mark_dropped,
    too_short,
    too_far_to_look_back,
    mark_that_stands_still,
    expired_beside_another,
    expired_behind_a_clock,
    fan_out,
    clock_in_a_tool,
    compacted_with_another_prefix,
    summed_up_by_a_template_of_its_own,
    judged_by_another_prompt,
    handed_to_a_specialist,
    clock_before_a_word,
    too_many_marks,
    summed_up_in_the_middle,
    from_the_engine("PC803", evicted=1),
    from_the_engine("PC808", isolated=1),
    from_the_engine("PC807", granularity=1),
)
"""Faults with the codes they must be known by."""
