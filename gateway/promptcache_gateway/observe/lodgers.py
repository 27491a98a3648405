"""Heads that are akin to a template and may be it: another agent's, or the same one with other documents.

Instructions behind changing documents, and agents that share a footer, look the same at first sight: a part
is known and the rest is new. What tells them apart is time: an agent's own text comes again in other
conversations, documents hardly do. Until that is known such a head lodges: it is shown under its host's name,
but compared with itself only, so that nobody is blamed for what another agent says. One that comes again
becomes a template of its own. Where many came and hardly any returned, the rest is what changes each time:
new ones are then compared with all of the host's. How heads are found to be akin is `heads`' business.
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
_FEW = 4  # one in so many may return all the same: a question that is asked again


@dataclass(slots=True)
class Lodger:
    """A head that is shown under another's name.

    Attributes:
        host: the template's name.
        joined: it is compared with all of the host's.
        first: the key of its conversation's first message.
        messages: how many messages the conversation has had.
    """

    host: str
    joined: bool
    first: int
    messages: int


@dataclass(slots=True)
class _House:
    came: int = 0
    returned: int = 0


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

    def take_in(self, name: str, host: str, prompt: Prompt) -> str | None:
        """Have a head lodge; the name of the one that had to leave for it, if any."""
        house = self._houses.setdefault(host, _House())
        house.came += 1
        self._lodgers[name] = Lodger(host, self.changes_each_time(host), *_conversation(prompt))
        return self._lodgers.popitem(last=False)[0] if len(self._lodgers) > MOST else None

    def changes_each_time(self, host: str) -> bool:
        """Whether what is not the host's own is other text with each request."""
        house = self._houses.get(host)
        if house is None:
            return False
        return house.came - house.returned >= ENOUGH and house.returned * _FEW <= house.came

    def returns(self, name: str, prompt: Prompt) -> bool:
        """Whether a lodger comes in another conversation than before; one that goes on is noted."""
        lodger = self._lodgers[name]
        first, messages = _conversation(prompt)
        if first == lodger.first and messages > lodger.messages:
            lodger.messages = messages
            return False
        return True

    def note_return(self, name: str) -> str:
        """Note that a lodger came again; its host's name."""
        host = self._lodgers[name].host
        if host in self._houses:
            self._houses[host].returned += 1
        return host

    def leave(self, name: str) -> None:
        """Take a lodger out: it is a template of its own, or forgotten."""
        self._lodgers.pop(name, None)

    def close(self, host: str) -> None:
        """A host is forgotten, and those who lodged there are nobody's."""
        self._houses.pop(host, None)


def _conversation(prompt: Prompt) -> tuple[int, int]:
    """The key of a conversation's first message, and how many messages it has."""
    messages = prompt.keys[prompt.head :]
    return (messages[0] if messages else 0), len(messages)
