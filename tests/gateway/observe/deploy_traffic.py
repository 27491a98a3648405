"""Instructions that a new version of a program changed once, and such as change with who is asking: labelled.

Nothing in here looks at how a cause is found.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from tests.gateway.observe.changing_traffic import asked, scene

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.gateway.observe.marked_traffic import Scene
    from tests.gateway.observe.traffic import Author

Body = dict[str, Any]

_PEOPLE = ("Alice", "Bob", "Carol", "Dan", "Eve")


def word(author: Author, rules: str) -> str:
    """One word is another, wherever it stands first behind the beginning."""
    at = rules.find(" politely", len(rules) // 4)
    return f"{rules[:at]} warmly{rules[at + 9 :]}" if at > 0 else rules.replace("When", "Whenever", 1)


def typo(author: Author, rules: str) -> str:
    at = len(rules) // 3
    return rules[:at] + rules[at + 2 :]


def sentence(author: Author, rules: str) -> str:
    at = rules.find("When", len(rules) // 3)
    return f"{rules[:at]}Never promise a refund above 50 euro. {rules[at:]}"


CHANGES = (word, typo, sentence)


def changed_once(change: Callable[[Author, str], str], author: Author) -> Scene:
    """Unrelated questions before and after."""
    rules = author.instructions()
    texts = [rules] * author.random.randrange(3, 7) + [change(author, rules)]
    return scene([asked(author, text) for text in texts], "PC403")


def changed_amid_talks(change: Callable[[Author, str], str], author: Author) -> Scene:
    """Two conversations are under way, and the other one has had the new text first."""
    rules = author.instructions()
    talks = [asked(author, rules) for _ in range(2)]
    bodies = list(talks)
    for _ in range(2):
        talks = [author.continued(talk) for talk in talks]
        bodies += talks
    for talk in talks:
        later = author.continued(talk)
        system = {"role": "system", "content": change(author, rules)}
        bodies.append({**later, "messages": [system, *later["messages"][1:]]})
    return scene(bodies, "PC403")


def one_user_after_another(author: Author) -> Scene:
    """Each asks several times before the next one comes; the third shows that the text is dynamic."""
    rules = author.instructions()
    names = author.random.sample(_PEOPLE, 3)
    texts = [f"You help {name} {author.random.randrange(10**6)}x.\n{rules}" for name in names]
    bodies = [asked(author, text) for text in texts[:2] for _ in range(4)]
    return scene([*bodies, asked(author, texts[2])], "PC401")


def users_in_turn(author: Author) -> Scene:
    """One request each."""
    rules = author.instructions()
    names = author.random.sample(_PEOPLE, 4)
    texts = [f"You help {name} {author.random.randrange(10**6)}x.\n{rules}" for name in names]
    return scene([asked(author, text) for text in texts], "PC401")


def section_of_a_talk(author: Author) -> Scene:
    """A section that turns come and go with, after its first coming."""
    body = author.conversation(1, tools=False)
    system = body["messages"][0]["content"]
    half = system.find("\n", len(system) // 2) + 1
    bodies = []
    for turn in range(6):
        section = f"# Holidays\n{author.sentence()}\n" if turn % 2 else ""
        text = f"{system[:half]}{section}{system[half:]}"
        bodies.append({**body, "messages": [{"role": "system", "content": text}, *body["messages"][1:]]})
        body = author.continued(body)
    return scene(bodies, "PC404")


def a_mode_that_each_talk_changes(author: Author) -> Scene:
    """Each conversation begins in one mode and goes over to the other; later ones know both."""
    rules = author.instructions()
    bodies = []
    for _ in range(author.random.randrange(2, 4)):
        body = asked(author, f"You are in plan mode.\n{rules}")
        for _ in range(author.random.randrange(3, 6)):
            bodies.append(body)
            body = author.continued(body)
        system = {"role": "system", "content": f"You are in act mode.\n{rules}"}
        bodies.append({**body, "messages": [system, *body["messages"][1:]]})
    return scene(bodies, "PC403")


def _named(make: Callable[[Author], Scene], label: str) -> Callable[[Author], Scene]:
    make.__name__ = label
    return make


DEPLOYS: tuple[Callable[[Author], Scene], ...] = (
    *(_named(partial(changed_once, change), f"{change.__name__}_once") for change in CHANGES),
    *(_named(partial(changed_amid_talks, change), f"{change.__name__}_amid_talks") for change in CHANGES),
)
"""What is paid once, and is nobody's fault."""

DYNAMIC: tuple[Callable[[Author], Scene], ...] = (
    one_user_after_another,
    users_in_turn,
    section_of_a_talk,
    a_mode_that_each_talk_changes,
)
"""Faults that look like it at first."""
