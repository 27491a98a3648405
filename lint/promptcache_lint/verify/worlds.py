"""What can be different between two renderings: the worlds, and the one in which all is usual.

Only plain values stand here: they are handed to another process as JSON. Nothing heavy may be imported.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields, replace
from typing import Any

__all__ = ["PERTURBATIONS", "USUAL", "Perturbation", "World"]

_NOON = 1_741_003_200.0
"""3 March 2025, 12:00 UTC: far from every midnight, so that a few hours change no date."""


@dataclass(frozen=True, slots=True)
class World:
    """One world. ``now`` is in seconds since the epoch; ``zone`` and ``languages`` as in TZ and LC_ALL."""

    now: float = _NOON
    hash_seed: int = 1
    random_seed: int = 11
    host: str = "alpha"
    user: str = "ada"
    process_id: int = 4242
    zone: str = "UTC0"
    languages: tuple[str, ...] = ("C.UTF-8", "C.utf8", "C")
    reverse_listings: bool = False

    def to_dict(self) -> dict[str, Any]:
        """As data for JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> World:
        """Read what `to_dict` wrote."""
        known = {field.name for field in fields(cls)}
        values = {name: value for name, value in data.items() if name in known}
        return cls(**{**values, "languages": tuple(values["languages"])})


USUAL = World()


@dataclass(frozen=True, slots=True)
class Perturbation:
    """One difference: its ``name``, what it is in words, the fields it changes, and the fault it shows.

    ``movable``: it can also change within one process. ``fleeting``: a value that only differs between
    processes is computed once in each, which costs little.
    """

    name: str
    words: str
    code: str
    changes: tuple[tuple[str, Any], ...]
    movable: bool = False
    fleeting: bool = False

    def applied(self, world: World) -> World:
        """The world with this difference."""
        return replace(world, **dict(self.changes))


PERTURBATIONS = (
    Perturbation(
        "clock", "another time of day", "PC101", (("now", _NOON + 9_437.0),), movable=True, fleeting=True
    ),
    Perturbation(
        "date", "another date", "PC109", (("now", _NOON + 45 * 86_400.0),), movable=True, fleeting=True
    ),
    Perturbation(
        "random seed", "another random seed", "PC103", (("random_seed", 97),), movable=True, fleeting=True
    ),
    Perturbation(
        "directory order",
        "another order of directory listings",
        "PC203",
        (("reverse_listings", True),),
        movable=True,
    ),
    Perturbation("host name", "another host and user name", "PC105", (("host", "omega-7"), ("user", "otto"))),
    Perturbation("process id", "another process id", "PC105", (("process_id", 97_531),)),
    Perturbation(
        "locale",
        "another locale and time zone",
        "PC205",
        (("zone", "JST-9"), ("languages", ("de_DE.UTF-8", "fr_FR.UTF-8", "tr_TR.UTF-8", "de_DE", "fr_FR"))),
    ),
    Perturbation("hash seed", "another hash seed", "PC202", (("hash_seed", 2),)),
)
"""The differences, the ones first that explain most."""
