"""Histories that are written anew one turn after they were sent, and such as only look like it: labelled.

Nothing in here looks at how a cause is found.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from tests.gateway.observe.marked_traffic import Scene
from tests.gateway.observe.scenes import Provider
from tests.gateway.observe.shaped_traffic import request
from tests.gateway.observe.shaped_traffic import scene as marked

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.gateway.observe.traffic import Author

Body = dict[str, Any]

_GO_ON = "Please go on with the next part of it."


def _space(text: str) -> str:
    return text.replace(". ", ".\n")


def _word(text: str) -> str:
    return text.replace(" mention ", " name ", 1)


def _long(author: Author) -> str:
    return " ".join(author.sentence() for _ in range(author.random.randrange(20, 40)))


def _scene(author: Author, talks: list[list[Body]], *codes: str) -> Scene:
    rules = {"role": "system", "content": author.instructions()}
    bodies = [{"model": "model-a", "messages": [rules, *talk]} for talk in talks]
    return Scene(bodies, frozenset(codes), Provider)


def _written_from_then_on(talk: list[Body], role: str, write: Callable[[str], str]) -> list[Body]:
    """A history in which all but the last message of a role is written otherwise."""
    own = [at for at, said in enumerate(talk) if said["role"] == role]
    return [
        {**said, "content": write(said["content"])} if at in own[:-1] else said
        for at, said in enumerate(talk)
    ]


def _called(author: Author, number: int) -> Body:
    function = {"name": "search", "arguments": f'{{"page": {number}}}'}
    call = {"id": author.call_id(number), "type": "function", "function": function}
    return {"role": "assistant", "content": None, "tool_calls": [call]}


# --- what was sent is changed ---


def answers(write: Callable[[str], str], code: str, author: Author) -> Scene:
    """An answer is sent back as it came once, and otherwise ever after; the user says little."""
    talk: list[Body] = [{"role": "user", "content": _GO_ON}]
    talks = []
    for _ in range(author.random.randrange(3, 5)):
        talks.append(_written_from_then_on(talk, "assistant", write))
        said = {"role": "assistant", "content": _long(author)}
        talk = [*talk, said, {"role": "user", "content": _GO_ON}]
    return _scene(author, talks, code)


def results(write: Callable[[str], str], code: str, author: Author) -> Scene:
    """The same with what a tool has found."""
    talk: list[Body] = [{"role": "user", "content": author.question()}]
    talks = []
    for number in range(author.random.randrange(3, 5)):
        talks.append(_written_from_then_on(talk, "tool", write))
        found = {"role": "tool", "tool_call_id": author.call_id(number), "content": _long(author)}
        talk = [*talk, _called(author, number), found]
    return _scene(author, talks, code)


def marked_answers(author: Author) -> Scene:
    """The same with breakpoints."""
    rules = author.instructions(110)
    talk: list[Body] = [{"role": "user", "content": author.question()}]
    bodies = []
    for _ in range(author.random.randrange(3, 5)):
        bodies.append(request(rules, _written_from_then_on(talk, "assistant", _space)))
        said = {"role": "assistant", "content": _long(author)}
        talk = [*talk, said, {"role": "user", "content": author.question()}]
    return marked(bodies, "PC206")


# --- what was sent along with a question is left out later ---

_Parts = tuple[str, ...]


def _left_out(author: Author, send: Callable[[str, str], _Parts], code: str, *, marked_last: bool) -> Scene:
    """Each question is sent with more beside it, and is alone, a plain text, once it is answered."""
    rules = author.instructions(110)
    talk: list[Body] = []
    bodies = []
    for _ in range(author.random.randrange(3, 5)):
        asked = _long(author)
        parts = [{"type": "text", "text": text} for text in send(f"# Found\n{_long(author)}", asked)]
        newest = [*talk, {"role": "user", "content": parts}]
        system = {"role": "system", "content": rules}
        plain = {"model": "model-a", "messages": [system, *newest]}
        bodies.append(request(rules, newest) if marked_last else plain)
        talk = [*talk, {"role": "user", "content": asked}, {"role": "assistant", "content": author.answer()}]
    return marked(bodies, code) if marked_last else Scene(bodies, frozenset({code}), Provider)


def _documents_first(documents: str, asked: str) -> _Parts:
    return documents, asked


def _documents_behind(documents: str, asked: str) -> _Parts:
    return asked, documents


def _documents_in_front(documents: str, asked: str) -> _Parts:
    return (f"{documents}\n\n{asked}",)


def _in_two_parts(documents: str, asked: str) -> _Parts:
    half = len(asked) // 2
    return asked[:half], asked[half:]


def messages_left_out(author: Author) -> Scene:
    """What was found is a message of its own, and is not sent again."""
    asked = {"role": "user", "content": author.question()}
    talk = [asked, {"role": "assistant", "content": author.answer()}]
    talks = []
    for _ in range(author.random.randrange(3, 5)):
        asked = {"role": "user", "content": _long(author)}
        found = {"role": "system", "content": f"Found: {_long(author)}"}
        talks.append([*talk, found, asked])
        talk = [*talk, asked, {"role": "assistant", "content": author.answer()}]
    return _scene(author, talks, "PC502")


# --- nothing that was sent is changed ---


def an_answer_made_again(author: Author) -> Scene:
    """The user goes back, has the answer made again, and goes on from the other one."""
    talk = [{"role": "user", "content": _GO_ON}]
    first, other = _long(author), _long(author)
    goes_on = {"role": "user", "content": _GO_ON}
    answered = [[*talk, {"role": "assistant", "content": text}, goes_on] for text in (first, other)]
    talks = [talk, *answered]
    last = [{"role": "assistant", "content": author.answer()}, {"role": "user", "content": author.question()}]
    return _scene(author, [*talks, [*talks[-1], *last]])


def another_talk_with_the_same_questions(author: Author) -> Scene:
    """Two conversations ask the same, and of the second one the first request is not known."""
    talks = []
    for length in (1, 2):
        talk = [{"role": "user", "content": _GO_ON}]
        for _ in range(length):
            said = {"role": "assistant", "content": _long(author)}
            talk = [*talk, said, {"role": "user", "content": _GO_ON}]
        talks.append(talk)
    return _scene(author, talks)


def a_question_put_otherwise(author: Author) -> Scene:
    """The newest question is sent again with a word changed, and the conversation goes on from there."""
    talk = [{"role": "user", "content": author.question()}, {"role": "assistant", "content": author.answer()}]
    asked = author.question()
    first = [*talk, {"role": "user", "content": asked}]
    other = [*talk, {"role": "user", "content": f"{author.question()} {asked[6:]}"}]
    last = [{"role": "assistant", "content": author.answer()}, {"role": "user", "content": author.question()}]
    return _scene(author, [first, other, [*other, *last]])


def a_question_with_less_beside_it(author: Author) -> Scene:
    """The user goes back, asks the newest question without what was beside it, and goes on from there."""
    asked, beside = _long(author), _long(author)
    parts = [{"type": "text", "text": text} for text in (beside, asked)]
    talk = [{"role": "user", "content": asked}]
    last = [{"role": "assistant", "content": author.answer()}, {"role": "user", "content": author.question()}]
    return _scene(author, [[{"role": "user", "content": parts}], talk, [*talk, *last]])


def documents_behind_that_cost_nothing(author: Author) -> Scene:
    """Where no marks are needed, everything before what is left out is read, and behind it all is new."""
    found = _left_out(author, _documents_behind, "PC502", marked_last=False)
    return Scene(found.bodies, frozenset(), Provider)


def a_tool_called_again(author: Author) -> Scene:
    """The same task is begun twice, and the tool finds something else the second time."""
    task = {"role": "user", "content": author.question()}
    talks = []
    for _ in range(2):
        talk = [task]
        for number in range(2):
            found = {"role": "tool", "tool_call_id": author.call_id(number), "content": _long(author)}
            talks.append(talk)
            talk = [*talk, _called(author, number), found]
        talks.append(talk)
    return _scene(author, talks)


def _named(make: Callable[[Author], Scene], label: str) -> Callable[[Author], Scene]:
    make.__name__ = label
    return make


RESENT_FAULTS: tuple[Callable[[Author], Scene], ...] = (
    _named(partial(answers, _space, "PC206"), "space_in_answers"),
    _named(partial(answers, _word, "PC502"), "a_word_in_answers"),
    _named(partial(results, _space, "PC206"), "space_in_results"),
    _named(partial(results, _word, "PC502"), "a_word_in_results"),
    marked_answers,
)
"""What had been sent is changed one turn later, with the codes it must be known by."""

LEFT_OUT: tuple[Callable[[Author], Scene], ...] = (
    *(
        _named(partial(_left_out, send=send, code="PC502", marked_last=marks), f"{label}_{kind}")
        for send, label, kinds in (
            (_documents_first, "documents_first", (False, True)),
            (_documents_behind, "documents_behind", (True,)),  # without marks all is read up to them
            (_documents_in_front, "documents_in_front", (False, True)),
        )
        for marks, kind in ((marked_last, "marked" if marked_last else "plain") for marked_last in kinds)
    ),
    _named(partial(_left_out, send=_in_two_parts, code="PC206", marked_last=True), "parts_that_are_joined"),
    messages_left_out,
)
"""What went along with a question is not in the history, with the code it must be known by."""

RESENT_SCENES: tuple[Callable[[Author], Scene], ...] = (
    an_answer_made_again,
    another_talk_with_the_same_questions,
    a_question_put_otherwise,
    a_question_with_less_beside_it,
    documents_behind_that_cost_nothing,
    a_tool_called_again,
)
"""What only looks like it, and draws no blame."""
