"""Values far apart in one long text, JSON that is written anew, histories changed twice, models in turn.

Labelled scenes, as in `changing_traffic`. Nothing in here looks at how a cause is found.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from tests.gateway.observe.changing_traffic import asked, scene

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.gateway.observe.marked_traffic import Scene
    from tests.gateway.observe.traffic import Author

Body = dict[str, Any]

_SIGNS = "".join(map(chr, range(0x4E00, 0x4E00 + 300)))


def rows(author: Author, count: int = 90) -> list[Body]:
    """Wares with their tags, as a program would dump them."""
    return [
        {
            "id": author.random.randrange(10**9),
            "text": author.sentence(),
            "tags": ["new", "hot", "blue", "low"],
        }
        for _ in range(count)
    ]


def identifier(author: Author) -> str:
    return f"{author.random.getrandbits(128):032x}"


def paragraph(author: Author, sentences: int) -> str:
    """Chinese, on one line."""
    said = (
        "".join(author.random.choices(_SIGNS, k=author.random.randrange(15, 40))) for _ in range(sentences)
    )
    return "。".join(said) + "。"


# --- nothing to blame ---


def two_models_in_turn(author: Author) -> Scene:
    """A conversation that goes to and fro; each model was sent most of it before."""
    body = author.conversation(4)
    bodies = []
    for number in range(4):
        bodies.append({**body, "model": ("model-a", "model-b")[number % 2]})
        body = author.continued(body)
    return scene(bodies)


def rows_ranked_anew(author: Author) -> Scene:
    """Results at the end of the instructions, the best of them first for each question."""
    rules, found = author.instructions(), rows(author, 12)
    bodies = []
    for _ in range(3):
        author.random.shuffle(found)
        bodies.append(asked(author, f"{rules}\n## Search results\n{json.dumps(found)}"))
    return scene(bodies)


# --- several values in one long text ---


def values_in_one_line(author: Author) -> Scene:
    """A clock, a dumped catalogue and an identifier behind it, all on one line."""
    known, rules = json.dumps(rows(author)), author.instructions()
    bodies = [
        asked(
            author,
            f"Now: {author.moment():%Y-%m-%d %H:%M:%S}. {known} Session {identifier(author)}. {rules}",
        )
        for _ in range(2)
    ]
    return scene(bodies, "PC101", "PC102")


def values_in_one_paragraph(author: Author) -> Scene:
    """The same in a script without spaces."""
    first, second = paragraph(author, 70), paragraph(author, 40)
    bodies = [
        asked(
            author,
            f"当前时间{author.moment():%Y-%m-%d %H:%M:%S}。{first}会话编号 {identifier(author)}。{second}",
        )
        for _ in range(2)
    ]
    return scene(bodies, "PC101", "PC102")


def clock_alone_in_one_line(author: Author) -> Scene:
    """Nothing behind the clock has changed, and nothing else is named."""
    known = json.dumps(rows(author))
    bodies = [asked(author, f"Now: {author.moment():%Y-%m-%dT%H:%M:%SZ}, wares: {known}") for _ in range(2)]
    return scene(bodies, "PC101")


def clock_and_white_space(author: Author) -> Scene:
    """A clock in front, and a blank line more in the middle."""
    rules = author.instructions().replace(". When", ".\nWhen").split("\n")
    half = len(rules) // 2
    bodies = []
    for more in ([], [""]):
        text = "\n".join([*rules[:half], *more, *rules[half:]])
        bodies.append(asked(author, f"Now: {author.moment():%Y-%m-%dT%H:%M:%SZ}\n{text}"))
    return scene(bodies, "PC101", "PC206")


# --- JSON that is written anew ---


def tags_of_a_set(author: Author) -> Scene:
    """Rows that hold a set each, at the end of the instructions."""
    rules, known, tags = author.instructions(), rows(author), ["new", "hot", "blue", "low"]
    bodies = [
        asked(author, f"{rules}\n{json.dumps([{**row, 'tags': order} for row in known])}")
        for order in (tags, tags[::-1])
    ]
    return scene(bodies, "PC202")


def rows_of_a_collection(author: Author) -> Scene:
    """A catalogue in front of the rules, its rows as they come, from some row on."""
    known, rules = rows(author), author.instructions()
    later = [*known[:40], *known[:39:-1]]
    return scene([asked(author, f"{json.dumps(each)}\n{rules}") for each in (known, later)], "PC204")


def files_of_a_listing(author: Author) -> Scene:
    """Names of files, as the file system gives them."""
    names = [f"src/{author.random.randrange(10**6)}_{kind}.py" for kind in ("a", "b", "c", "d", "e")]
    rules = author.instructions()
    bodies = [
        asked(author, f"Files: {json.dumps(each)}\n{rules}") for each in (names, [*names[2:], *names[:2]])
    ]
    return scene(bodies, "PC203")


# --- a history changed twice ---


def trimmed_and_edited(author: Author) -> Scene:
    """The first messages are gone, and a later one reads otherwise."""
    body = author.conversation(6)
    later = author.continued(body)
    said = [dict(message) for message in later["messages"]]
    place = author.random.randrange(5, 9)
    said[place]["content"] = f"{said[place]['content']} (edited)"
    return scene([body, {**later, "messages": [said[0], *said[3:]]}], "PC501", "PC502")


SCATTERED_SCENES: tuple[Callable[[Author], Scene], ...] = (two_models_in_turn, rows_ranked_anew)
"""Traffic that draws no blame."""

SCATTERED_FAULTS: tuple[Callable[[Author], Scene], ...] = (
    values_in_one_line,
    values_in_one_paragraph,
    clock_alone_in_one_line,
    clock_and_white_space,
    tags_of_a_set,
    rows_of_a_collection,
    files_of_a_listing,
    trimmed_and_edited,
)
"""Faults with the codes they must be known by."""
