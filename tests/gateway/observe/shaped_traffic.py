"""Conversations as helpers leave them that move a mark: what is marked a list, all else strings. Labelled.

Anthropic reads a text and a list of that one text alike, in messages, instructions and tool results; the
provider here takes both for the same. So every loss must be known by what caused it, and none by the shape.
With them: answers that the caller begins, marks that never leave the instructions, and providers that leave
out what callers leave out, and whose step nobody knows.
"""

from __future__ import annotations

import copy
import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tests.gateway.observe.marked_traffic import MARK, MarkedProvider, Scene
from tests.gateway.observe.scenes import Provider
from tests.gateway.observe.written_provider import WrittenProvider

if TYPE_CHECKING:
    from collections.abc import Callable

    from promptcache.usage import Usage
    from tests.gateway.observe.traffic import Author

Body = dict[str, Any]


class ShapedProvider(MarkedProvider):
    """A provider that reads a text and a list of that one text as the same."""

    def serve(self, body: Body, now: float) -> Usage:
        """Compute a prompt of lists only, the same for both."""
        messages = [{**said, "content": _blocks(said["content"])} for said in body["messages"]]
        return super().serve({**body, "system": _blocks(body["system"]), "messages": messages}, now)


def _blocks(content: Any) -> list[Body]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [
        {**block, "content": _blocks(block["content"])} if block["type"] == "tool_result" else block
        for block in content
    ]


class UntoldProvider(Provider):
    """A provider whose step is told to nobody."""

    def __init__(self, step: int) -> None:
        super().__init__(granularity=None)
        self._cache = WrittenProvider(granularity=step, minimum=64)

    def serve(self, body: Body, now: float) -> Usage:
        """Compute a prompt."""
        return self._cache.serve(body, now)


class ForgivingProvider(UntoldProvider):
    """One of those that leaves old thoughts out and writes tool calls itself."""

    def serve(self, body: Body, now: float) -> Usage:
        """Compute a prompt without thoughts, its calls written in one way."""
        messages = []
        for said in body["messages"]:
            kept = {key: value for key, value in said.items() if key != "reasoning_content"}
            for call in kept.get("tool_calls", ()):
                arguments = json.dumps(json.loads(call["function"]["arguments"]))
                kept["tool_calls"] = [{**call, "function": {**call["function"], "arguments": arguments}}]
            messages.append(kept)
        return super().serve({**body, "messages": messages}, now)


def chatting(author: Author, turns: int, *, called: bool | None = None) -> list[Body]:
    """Messages with strings for content that end with a question, tools called in some turns."""
    messages: list[Body] = []
    for turn in range(turns):
        messages.append({"role": "user", "content": author.question()})
        if called or (called is None and author.random.random() < 0.3):
            messages += call_and_result(author, f"t{turn}")
        messages.append({"role": "assistant", "content": author.answer()})
    return [*messages, {"role": "user", "content": author.question()}]


def call_and_result(author: Author, name: str) -> list[Body]:
    call = {"type": "tool_use", "id": name, "name": "lookup", "input": {"n": author.random.randrange(99)}}
    result = {"type": "tool_result", "tool_use_id": name, "content": author.answer()}
    return [{"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]


def going_on(author: Author, messages: list[Body], turns: int = 1) -> list[Body]:
    more: list[Body] = []
    for _ in range(turns):
        more += [
            {"role": "assistant", "content": author.answer()},
            {"role": "user", "content": author.question()},
        ]
    return [*messages, *more]


def request(rules: str, messages: list[Body], *, at: int | None = -1, **more: Any) -> Body:
    """A request with a mark on its instructions and on one message, which is a list then; None: on none."""
    talk = copy.deepcopy(messages)
    if at is not None:
        content = talk[at]["content"]
        talk[at]["content"] = content if isinstance(content, list) else [{"type": "text", "text": content}]
        talk[at]["content"][-1].update(MARK)
    system = [{"type": "text", "text": rules, **MARK}]
    return {"model": "claude-sonnet-4-5", "max_tokens": 9, "system": system, "messages": talk, **more}


def scene(bodies: list[Body], *codes: str, **more: Any) -> Scene:
    return Scene(bodies, frozenset(codes), ShapedProvider, **more)


def rules_of(author: Author) -> str:
    return author.instructions(110)


# --- nothing to blame ---


def a_mark_that_moves(author: Author) -> Scene:
    rules, talk = rules_of(author), chatting(author, author.random.randrange(4))
    bodies = [request(rules, talk)]
    for _ in range(author.random.randrange(1, 4)):
        talk = going_on(author, talk)
        bodies.append(request(rules, talk))
    return scene(bodies)


def an_answer_that_is_begun(author: Author) -> Scene:
    """The caller writes the first word of the answer, behind the mark."""
    rules, talk = rules_of(author), chatting(author, author.random.randrange(3))
    begun = {"role": "assistant", "content": '{"answer":'}
    bodies = []
    for _ in range(author.random.randrange(2, 5)):
        bodies.append(request(rules, [*talk, begun], at=-2))
        answer = {"role": "assistant", "content": f'{begun["content"]} "{author.answer()}"}}'}
        talk = [*talk, answer, {"role": "user", "content": author.question()}]
    return scene(bodies)


def results_in_both_forms(author: Author) -> Scene:
    """A tool's result is a string while it is new and a list ever after, or the other way round."""
    rules, talk = rules_of(author), chatting(author, 2, called=True)
    again = copy.deepcopy(talk)
    for said in again:
        for block in said["content"] if isinstance(said["content"], list) else ():
            if block["type"] == "tool_result":
                block["content"] = [{"type": "text", "text": block["content"]}]
    both = [talk, again] if author.random.random() < 0.5 else [again, talk]
    return scene([request(rules, both[0]), request(rules, going_on(author, both[1]))])


def instructions_in_both_forms(author: Author) -> Scene:
    rules, talk = rules_of(author), chatting(author, author.random.randrange(1, 4))
    bodies = [request(rules, talk), request(rules, going_on(author, talk))]
    bodies[author.random.randrange(2)]["system"] = rules
    return scene(bodies)


def a_short_history_without_a_mark(author: Author) -> Scene:
    """Only the instructions are marked, and what stands behind them is less than the cache takes."""
    rules, talk = rules_of(author), chatting(author, author.random.randrange(3), called=False)
    return scene([request(rules, talk, at=None), request(rules, going_on(author, talk), at=None)])


def _forgiven(author: Author, first: list[Body], later: list[Body]) -> Scene:
    step, model = author.random.choice(((16, "Qwen/Qwen3-8B"), (64, "deepseek-chat"), (128, "deepseek-chat")))
    rules = {"role": "system", "content": rules_of(author)}
    bodies = [{"model": model, "messages": [rules, *messages]} for messages in (first, later)]
    return Scene(bodies, provider=lambda: ForgivingProvider(step))


def thoughts_that_nobody_misses(author: Author) -> Scene:
    """The thoughts of the last answer are sent once and then no more; the provider reads on all the same."""
    talk = chatting(author, author.random.randrange(1, 4), called=False)
    thinking = copy.deepcopy(talk)
    thinking[-2]["reasoning_content"] = author.instructions(8)
    return _forgiven(author, thinking, going_on(author, talk))


def calls_that_the_provider_writes_itself(author: Author) -> Scene:
    """A call's arguments come with spaces once and without them then; the provider writes its own."""

    def called(arguments: str) -> list[Body]:
        call = {"id": "c1", "type": "function", "function": {"name": "lookup", "arguments": arguments}}
        said = {"role": "assistant", "content": None, "tool_calls": [call]}
        return [*talk, said, {"role": "tool", "tool_call_id": "c1", "content": result}]

    talk, result = chatting(author, author.random.randrange(3), called=False), author.answer()
    arguments = {"order": author.random.randrange(10**6), "city": "Oslo"}
    compact = json.dumps(arguments, separators=(",", ":"))
    later = going_on(author, called(compact))
    return _forgiven(author, called(json.dumps(arguments)), later)


# --- faults ---


def thoughts_that_the_provider_misses(author: Author) -> Scene:
    """The same at a provider that keeps thoughts in the prompt, with a history behind them."""
    talk = chatting(author, author.random.randrange(6, 9), called=False)
    thinking = copy.deepcopy(talk)
    thinking[1]["reasoning_content"] = author.instructions(8)
    step = author.random.choice((16, 64, 128))
    rules = {"role": "system", "content": rules_of(author)}
    bodies = [
        {"model": "Qwen/Qwen3-8B", "messages": [rules, *messages]}
        for messages in (thinking, going_on(author, talk))
    ]
    return Scene(bodies, frozenset({"PC505"}), lambda: UntoldProvider(step))


def lost_upstream(author: Author) -> Scene:
    made = author.random.choice((a_mark_that_moves, an_answer_that_is_begun, results_in_both_forms))(author)
    return replace(made, codes=frozenset({"PC809"}), forgotten=True)


def waited_for_too_long(author: Author) -> Scene:
    return replace(a_mark_that_moves(author), codes=frozenset({"PC802"}), after_s=400.0)


def another_model(author: Author) -> Scene:
    made = a_mark_that_moves(author)
    made.bodies[-1]["model"] = "claude-opus-4-1"
    return replace(made, codes=frozenset({"PC503"}))


def beside_each_other(author: Author) -> Scene:
    """A second question is put to the same history while the first is still without an answer."""
    rules, talk = rules_of(author), chatting(author, 0)
    others = [[{"role": "user", "content": author.question()}] for _ in range(2)]
    bodies = [request(rules, messages) for messages in (talk, *others)]
    return scene(bodies, "PC608", overlapping=True)


def a_turn_too_long_to_look_back(author: Author) -> Scene:
    rules, talk = rules_of(author), chatting(author, 7, called=False)
    long = going_on(author, talk, author.random.randrange(11, 20))
    return scene([request(rules, talk), request(rules, long)], "PC605")


def a_mark_that_was_left_out(author: Author) -> Scene:
    """One request marks its instructions alone, with a long history behind them."""
    rules, talk = rules_of(author), chatting(author, author.random.randrange(5, 9))
    return scene([request(rules, talk), request(rules, going_on(author, talk), at=None)], "PC602")


def a_history_that_is_never_marked(author: Author) -> Scene:
    """The marks end at the instructions, and more stands behind them than the cache takes."""
    rules, talk = rules_of(author), chatting(author, author.random.randrange(20, 26))
    bodies = [request(rules, talk, at=None), request(rules, going_on(author, talk), at=None)]
    return scene(bodies, "PC602")


def a_question_that_was_edited(author: Author) -> Scene:
    rules, talk = rules_of(author), chatting(author, author.random.randrange(7, 10))
    edited = copy.deepcopy(talk)
    edited[0]["content"] = f"{author.sentence()} {edited[0]['content']}"
    return scene([request(rules, talk), request(rules, going_on(author, edited))], "PC502")


def space_in_what_was_marked(author: Author) -> Scene:
    """The mark moves on, and the text that carried it comes back with a line more."""
    rules, talk = rules_of(author), chatting(author, 1, called=False)
    talk[0]["content"] = f"{author.instructions(20)}\n\nSum it up."
    later = copy.deepcopy(talk)
    later[0]["content"] = talk[0]["content"].replace("\n\nSum", "\nSum")
    return scene([request(rules, talk, at=0), request(rules, going_on(author, later))], "PC206")


SHAPED_SCENES: tuple[Callable[[Author], Scene], ...] = (
    a_mark_that_moves,
    an_answer_that_is_begun,
    results_in_both_forms,
    instructions_in_both_forms,
    a_short_history_without_a_mark,
    thoughts_that_nobody_misses,
    calls_that_the_provider_writes_itself,
)
"""Traffic that draws no blame, whatever its shape."""

SHAPED_FAULTS: tuple[Callable[[Author], Scene], ...] = (
    thoughts_that_the_provider_misses,
    lost_upstream,
    waited_for_too_long,
    another_model,
    beside_each_other,
    a_turn_too_long_to_look_back,
    a_mark_that_was_left_out,
    a_history_that_is_never_marked,
    a_question_that_was_edited,
    space_in_what_was_marked,
)
"""Losses that have nothing to do with the shape, with the codes they must be known by."""
