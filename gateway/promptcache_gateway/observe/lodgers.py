"""Heads that are akin to a template and may be it: another agent's, or the same one with other documents.

Instructions behind changing documents, and agents that share a policy, look the same at first sight: a part
is known and the rest is new. What tells them apart is what they say of themselves, where they do (`heads`),
and time: an agent's own text comes again in other conversations, documents hardly do. Until that is known
such a head lodges, shown under its host's name. One that shares little, or is another agent's by its own
words, is compared with itself only, so that nobody is blamed for what another agent says. One that says
mostly what the host says, and presents itself as the host does (`faces`), is compared with all of the host's
at once, unless several such are known already.

A lodger that comes again in another conversation becomes a template of its own; one that says mostly what its
host says does so only where the host's own head has come again since: a new version of a prompt, too, comes
again and again. Where many came and hardly any returned, the rest is what changes each time: new ones are
then compared with all of the host's.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from promptcache_gateway.observe.prompt import Prompt

MOST = 64
"""Lodgers of a tenant that are remembered."""
ENOUGH = 16
"""So many that did not return show that the rest changes with each request."""
_ANEW_S = 60.0
_FEW = 4  # one in so many may return all the same: a question that is asked again


@dataclass(slots=True)
class Lodger:
    """A head that is shown under another's name.

    Attributes:
        host: the template's name.
        alike: it says mostly what the host says.
        another: it is another agent's by its own words.
        joined: it is compared with all of the host's.
        first: the key of its conversation's first message.
        messages: how many messages the conversation has had.
        last: the key of the last of them.
        at: when it came last.
        own: how often the host's own head had come when this one came.
        returned: it has come again in another conversation.
    """

    host: str
    alike: bool
    another: bool
    joined: bool
    first: int
    messages: int
    last: int
    at: float
    own: int
    returned: bool = False

    @property
    def counts_like(self) -> bool:
        """Whether it has come again where only a value in it is another; documents may grow by a line."""
        return self.another or not self.alike


@dataclass(slots=True)
class _House:
    came: int = 0
    returned: int = 0
    own: int = 0


class Lodgers:
    """The lodgers of a tenant by their own names, in the order in which they came. Not safe to share."""

    def __init__(self) -> None:
        self._lodgers: OrderedDict[str, Lodger] = OrderedDict()
        self._houses: dict[str, _House] = {}

    def __contains__(self, name: str) -> bool:
        return name in self._lodgers

    def __len__(self) -> int:
        return len(self._lodgers) + len(self._houses)

    def get(self, name: str) -> Lodger | None:
        """The lodger of that name."""
        return self._lodgers.get(name)

    def host_of(self, name: str) -> str:
        """Whose name is shown for this one."""
        lodger = self._lodgers.get(name)
        return name if lodger is None else lodger.host

    def take_in(
        self,
        name: str,
        host: str,
        prompt: Prompt,
        at: float,
        *,
        alike: bool = False,
        one: bool = False,
        another: bool = False,
    ) -> str | None:
        """Have a head lodge; the name of the one that had to leave for it, if any.

        Args:
            name: of the head.
            host: whose name is shown.
            prompt: with which it comes.
            at: when, in seconds.
            alike: it says mostly what the host says.
            one: it is evidently the host's, as far as is known.
            another: it is another agent's by its own words; it proves nothing about the others.
        """
        house = self._houses.setdefault(host, _House())
        house.came += not another
        joined = not another and (one or self.changes_each_time(host))
        self._lodgers[name] = Lodger(host, alike, another, joined, *_conversation(prompt), at, house.own)
        return self._lodgers.popitem(last=False)[0] if len(self._lodgers) > MOST else None

    def changes_each_time(self, host: str) -> bool:
        """Whether what is not the host's own is other text with each request."""
        house = self._houses.get(host)
        if house is None:
            return False
        return house.came - house.returned >= ENOUGH and house.returned * _FEW <= house.came

    def returns(self, name: str, prompt: Prompt, at: float) -> bool:
        """Whether a lodger comes in another conversation than before; one that goes on is noted.

        The same question again soon after is no other conversation: an answer was asked for anew.
        """
        lodger = self._lodgers[name]
        first, messages, last = _conversation(prompt)
        anew = messages == lodger.messages and last == lodger.last and at - lodger.at <= _ANEW_S
        goes_on = first == lodger.first and (messages > lodger.messages or anew)
        if goes_on:
            lodger.messages, lodger.last, lodger.at = messages, last, at
        return not goes_on

    def note_own(self, host: str) -> None:
        """Note that a host's own head came in a conversation that was not known."""
        if host in self._houses:
            self._houses[host].own += 1

    def note_return(self, name: str) -> None:
        """Note that a lodger came again."""
        lodger = self._lodgers[name]
        house = self._houses.get(lodger.host)
        if house is not None and not lodger.another:
            house.returned += not (lodger.alike and lodger.returned)
        lodger.returned = True

    def may_leave(self, name: str) -> bool:
        """Whether one that has returned is a template of its own, as far as time tells."""
        lodger = self._lodgers[name]
        house = self._houses.get(lodger.host)
        if house is None:
            return True
        if lodger.alike and house.own == lodger.own:
            return False
        if lodger.another:
            return True
        if self.changes_each_time(lodger.host):
            return False
        return not lodger.alike or house.returned * 2 >= house.came

    def leave(self, name: str) -> Lodger | None:
        """Take a lodger out: it is a template of its own, or forgotten."""
        return self._lodgers.pop(name, None)

    def close(self, host: str) -> None:
        """A host is forgotten, and those who lodged there are nobody's."""
        self._houses.pop(host, None)


def _conversation(prompt: Prompt) -> tuple[int, int, int]:
    """The key of a conversation's first message, how many messages it has, and the key of the last one."""
    messages = prompt.keys[prompt.head :]
    return (messages[0], len(messages), messages[-1]) if messages else (0, 0, 0)
