"""Requests in every kind of writing, to providers that count as tokenizers do: labelled scenes.

A token is six bytes of one text and one of another, so how much of a prompt was shared cannot be read off its
bytes. Ordinary traffic of this kind draws no blame; what a provider forgot, what was never marked and what
the caller changed is still found. Nothing in here looks at how a cause is found.
"""

from __future__ import annotations

import base64
import copy
import json
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from tests.gateway.observe.marked_traffic import MARK, MarkedProvider, Scene, continued, marked, message, talk
from tests.gateway.observe.written_provider import Tokenizer, WrittenProvider

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.gateway.observe.scenes import Provider
    from tests.gateway.observe.traffic import Author

Body = dict[str, Any]

_CHARACTERS = (
    "的一是在不了有和人这中大为上个国我以要他时来用们生到作地于出就分对成会可主发年动同工也能下过子说产种面"
)
_WORDS = (
    "Rechnungsbetrag",
    "Versandkosten",
    "überprüfen",
    "weshalb",
    "Gebühr",
    "zweimal",
    "berechnet",
    "bitte",
)
_HOUR = {"cache_control": {"type": "ephemeral", "ttl": "1h"}}


def characters(author: Author, size: int) -> str:
    return "".join(author.random.choices(_CHARACTERS, k=size // 3))


def long_words(author: Author, size: int) -> str:
    return " ".join(author.random.choices(_WORDS, k=size // 12))


def numbers(author: Author, size: int) -> str:
    row = author.random.randrange
    return "\n".join(f"{row(10**6)},{row(10**9)},{row(9999)}.{row(99)}" for _ in range(size // 26))


def objects(author: Author, size: int) -> str:
    row = author.random.randrange
    return json.dumps([{"id": row(10**9), "ok": row(2) > 0, "share": row(10**6)} for _ in range(size // 44)])


def letters(author: Author, size: int) -> str:
    return base64.b64encode(author.random.randbytes(size * 3 // 4)).decode()


def plain(author: Author, size: int) -> str:
    return " ".join(author.sentence() for _ in range(size // 110 + 1))


WRITINGS = (characters, long_words, numbers, objects, letters, plain)


def written(author: Author, least: int, most: int) -> str:
    """A text of some kind, between so many bytes."""
    return author.random.choice(WRITINGS)(author, author.random.randrange(least, most))


def tokenizer(author: Author) -> Tokenizer:
    """One of the tokenizers there may be."""
    choose = author.random.choice
    return Tokenizer(letters=choose((3, 4, 6, 8)), digits=choose((1, 3)), wide=choose((1, 2)))


def plain_provider(author: Author) -> Callable[[], Provider]:
    return partial(WrittenProvider, tokenizer(author))


def marked_provider(author: Author, **known: Any) -> Callable[[], Provider]:
    return partial(MarkedProvider, tokenizer(author), **known)


def asking(author: Author, *parts: Body, system: str | None = None) -> Body:
    """A first request: instructions and a question of several parts."""
    rules = author.instructions(130) if system is None else system
    content = [*parts, {"type": "text", "text": author.question()}]
    talk = [{"role": "system", "content": rules}, {"role": "user", "content": content}]
    return {"model": "gpt-4o", "messages": talk}


def replied(author: Author, body: Body, text: str | None = None) -> Body:
    """The conversation an answer and a message later."""
    more = [
        {"role": "assistant", "content": author.answer()},
        {"role": "user", "content": author.question() if text is None else text},
    ]
    return {**body, "messages": [*body["messages"], *more]}


def picture(author: Author) -> Body:
    address = f"data:image/png;base64,{letters(author, author.random.randrange(4_000, 90_000))}"
    return {"type": "image_url", "image_url": {"url": address}}


# --- nothing to blame ---


def questions_in_any_writing(author: Author) -> Scene:
    system = author.instructions(130)
    bodies = [
        asking(author, {"type": "text", "text": written(author, 200, 20_000)}, system=system) for _ in "123"
    ]
    return Scene(bodies, provider=plain_provider(author))


def instructions_in_any_writing(author: Author) -> Scene:
    system = f"{plain(author, 400)}\n{author.random.choice(WRITINGS)(author, 9_000)}"
    bodies = [
        asking(author, {"type": "text", "text": written(author, 20, 30_000)}, system=system) for _ in "12"
    ]
    return Scene(bodies, provider=plain_provider(author))


def a_table_pasted(author: Author) -> Scene:
    first = asking(author)
    second = replied(author, first, written(author, 500, 9_000))
    third = replied(author, second)
    bodies = [first, second, third]
    return Scene(bodies[: author.random.randrange(2, 4)], provider=plain_provider(author))


def pictures_asked_about(author: Author) -> Scene:
    system = author.instructions(130)
    bodies = [asking(author, picture(author), system=system) for _ in "12"]
    return Scene(bodies, provider=plain_provider(author))


def one_picture_and_long_texts(author: Author) -> Scene:
    shown, system = picture(author), author.instructions(90)
    bodies = [
        asking(author, shown, {"type": "text", "text": written(author, 2_000, 30_000)}, system=system)
        for _ in "12"
    ]
    return Scene(bodies, provider=plain_provider(author))


def talk_about_a_picture(author: Author) -> Scene:
    bodies = [asking(author, picture(author))]
    for _ in range(author.random.randrange(1, 5)):
        bodies.append(replied(author, bodies[-1]))
    return Scene(bodies, provider=plain_provider(author))


def marked_and_any_writing(author: Author) -> Scene:
    body = talk(author, 0, system=[{"type": "text", "text": author.instructions(130), **MARK}])
    bodies = [{**body, "messages": [message("user", written(author, 100, 20_000))]} for _ in "123"]
    return Scene(bodies, provider=marked_provider(author))


def change_behind_the_mark(author: Author) -> Scene:
    """The static block is marked; what changes stands behind it, unmarked, before one question."""
    rules = {"type": "text", "text": author.instructions(130), **MARK}
    context = plain(author, 6_000)

    def at(second: int) -> Body:
        now = {"type": "text", "text": f"Now: 2026-11-29T12:00:{second:02}Z\n{context}"}
        return talk(author, 0, system=[rules, now])

    return Scene([at(1), at(2)], provider=marked_provider(author))


def thoughts_that_the_provider_drops(author: Author) -> Scene:
    """Thoughts between tool calls leave the prompt with the next question."""
    rules = {"type": "text", "text": author.instructions(130), **MARK}
    first = talk(author, 0, system=[rules])
    thought = {"type": "thinking", "thinking": plain(author, 2_000), "signature": letters(author, 300)}
    call = {
        "type": "tool_use",
        "id": "t1",
        "name": "lookup",
        "input": {"order": author.random.randrange(999)},
    }
    result = {"type": "tool_result", "tool_use_id": "t1", "content": plain(author, 3_000)}
    working = [{"role": "assistant", "content": [thought, call]}, {"role": "user", "content": [result]}]
    second = {**first, "messages": [*first["messages"], *working]}
    third = continued(author, second)
    provider = marked_provider(author, drops_thoughts=True)
    return Scene([marked(first), marked(second), marked(third)], provider=provider)


def parts_kept_as_units(author: Author) -> Scene:
    """A provider that keeps whole requests reads nothing of what only begins alike, at the second sight."""
    first = {**asking(author), "model": "deepseek-chat"}
    later = {**first, "messages": [first["messages"][0], {"role": "user", "content": plain(author, 300)}]}
    return Scene([first, later], provider=plain_provider(author), forgotten=True)


def minimum_that_is_disputed(author: Author) -> Scene:
    system = plain(author, 5_000)
    bodies = [{**asking(author, system=system), "model": "gemini-2.5-pro"} for _ in "12"]
    return Scene(bodies, provider=lambda: WrittenProvider(minimum=4_096))


# --- the upstream's doing, and nobody's ---


def forgotten(author: Author) -> Scene:
    """The provider lost what it had, of a conversation in any writing."""
    scene = author.random.choice((a_table_pasted, talk_about_a_picture))(author)
    return replace(scene, codes=frozenset({"PC809"}), forgotten=True)


def forgotten_between_questions(author: Author) -> Scene:
    system = author.instructions(130)
    bodies = [
        asking(author, {"type": "text", "text": written(author, 10, size)}, system=system)
        for size in (9_000, 200)
    ]
    return Scene(bodies, frozenset({"PC809"}), plain_provider(author), forgotten=True)


def marked_and_forgotten(author: Author) -> Scene:
    body = talk(author, 2, system=[{"type": "text", "text": author.instructions(130), **MARK}])
    bodies = [marked(body), marked(continued(author, body))]
    return Scene(bodies, frozenset({"PC809"}), marked_provider(author), forgotten=True)


def marks_that_live_unequally(author: Author) -> Scene:
    """The instructions are kept for an hour, the history for five minutes; twenty have passed."""
    body = talk(author, 2, system=[{"type": "text", "text": author.instructions(130), **_HOUR}])
    bodies = [marked(body), marked(continued(author, body))]
    return Scene(bodies, frozenset({"PC802"}), marked_provider(author), after_s=1_200.0)


def sent_to_another_upstream(author: Author) -> Scene:
    first = asking(author)
    bodies = [first, replied(author, first)]
    return Scene(
        bodies, frozenset({"PC804"}), plain_provider(author), forgotten=True, last={"upstream": "second"}
    )


def not_told(author: Author) -> Scene:
    first = asking(author)
    provider = partial(WrittenProvider, tokenizer(author), reports=False)
    return Scene([first, replied(author, first)], frozenset({"PC810"}), provider)


def explicit_and_unmarked(author: Author) -> Scene:
    """The request asks that only its breakpoints be kept, and has none."""
    first = {**asking(author), "model": "gpt-5.6", "prompt_cache_options": {"mode": "explicit"}}
    return Scene(
        [first, replied(author, first)], frozenset({"PC811"}), plain_provider(author), forgotten=True
    )


# --- the caller's ---


def never_marked(author: Author) -> Scene:
    body = talk(author, 0, system=[{"type": "text", "text": author.instructions(130)}])
    later = author.random.choice((partial(continued, author, body), partial(_asked_anew, author, body)))()
    return Scene([body, later], frozenset({"PC602"}), marked_provider(author))


def _asked_anew(author: Author, body: Body) -> Body:
    return {**body, "messages": [message("user", author.question())]}


def key_of_each_request(author: Author) -> Scene:
    first = asking(author)
    later = replied(author, first)
    bodies = [{**body, "prompt_cache_key": f"k{at}"} for at, body in enumerate((first, later))]
    return Scene(bodies, frozenset({"PC607"}), plain_provider(author))


def nonce(author: Author) -> Scene:
    system = author.instructions(130)
    bodies = [asking(author, system=f"Nonce: {author.random.getrandbits(40):x}\n{system}") for _ in "12"]
    return Scene(bodies, frozenset({"PC103", "PC401"}), plain_provider(author))


def results_as_they_came(author: Author) -> Scene:
    """Two tools answer, and the next request has their answers in another order."""
    first = asking(author)
    calls = [
        {"id": f"c{at}", "type": "function", "function": {"name": "lookup", "arguments": f'{{"n":{at}}}'}}
        for at in range(2)
    ]
    results = [
        {"role": "tool", "tool_call_id": f"c{at}", "content": written(author, 2_000, 4_000)}
        for at in range(2)
    ]
    asked = [*first["messages"], {"role": "assistant", "content": None, "tool_calls": calls}]
    told = {**first, "messages": [*asked, *results]}
    again = {**first, "messages": [*asked, *reversed(results)]}
    return Scene([told, replied(author, again)], frozenset({"PC304"}), plain_provider(author))


def instructions_extended(author: Author) -> Scene:
    """News for the model goes into the instructions in the middle of a conversation."""
    first = replied(author, asking(author), written(author, 1_500, 4_000))
    later = copy.deepcopy(replied(author, first))
    later["messages"][0]["content"] += "\nFrom now on every reply ends with a rhyme."
    return Scene([first, later], frozenset({"PC403"}), plain_provider(author))


def picture_in_other_detail(author: Author) -> Scene:
    shown = picture(author)
    first = asking(author, shown, {"type": "text", "text": plain(author, 1_500)})
    later = copy.deepcopy(replied(author, first))
    later["messages"][1]["content"][0]["image_url"]["detail"] = "high"
    return Scene([first, later], frozenset({"PC702"}), plain_provider(author))


def clock_before_any_writing(author: Author) -> Scene:
    rules = author.instructions(130)
    texts = [f"Now: 2026-11-29T12:00:{second:02}Z\n{rules}" for second in (1, 2)]
    bodies = [
        asking(author, {"type": "text", "text": written(author, 20, 20_000)}, system=text) for text in texts
    ]
    return Scene(bodies, frozenset({"PC101", "PC401"}), plain_provider(author))


WRITTEN_SCENES: tuple[Callable[[Author], Scene], ...] = (
    questions_in_any_writing,
    instructions_in_any_writing,
    a_table_pasted,
    pictures_asked_about,
    one_picture_and_long_texts,
    talk_about_a_picture,
    marked_and_any_writing,
    change_behind_the_mark,
    thoughts_that_the_provider_drops,
    parts_kept_as_units,
    minimum_that_is_disputed,
)
"""Traffic that draws no blame, however long a token is."""

WRITTEN_FAULTS: tuple[Callable[[Author], Scene], ...] = (
    forgotten,
    forgotten_between_questions,
    marked_and_forgotten,
    marks_that_live_unequally,
    sent_to_another_upstream,
    not_told,
    explicit_and_unmarked,
    never_marked,
    key_of_each_request,
    nonce,
    results_as_they_came,
    instructions_extended,
    picture_in_other_detail,
    clock_before_any_writing,
)
"""What must still be found, with the codes it must be known by."""
