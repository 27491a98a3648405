"""How often a diagnosis is right: ``python benchmarks/diagnosis.py [PAIRS]``.

Plays generated conversations against a simulated provider's cache: ordinary traffic, each fault alone, and
faults together with a clock in the system prompt; half of them with times in the users' messages. Prints
precision and recall for every cause, alone and combined. Alone, a pair is right when its cause comes first,
at the path and the character where the texts part. Combined, each of the two causes must be listed, at its
own place, and no third. A third table holds breakpoints, tools, compaction, refusals, rare settings, what
the engine tells, a fourth requests in any kind of writing and with pictures, to providers whose tokens are
now two bytes and now eight: exactly the causes of the label must be named. A fifth changes prompts in
several places or all over: instructions that end in what is new in every request, tools and instructions
together, other white space everywhere. A sixth has values far apart in one long text, JSON that is written
anew, histories changed twice, conversations on two models in turn. A seventh has messages that stand before
every question, with values in them and without. An eighth has texts that are lists now and strings then, as
marks move along, and providers whose step nobody knows, and histories that are written anew, or lose what
went along with a question, one turn after they were sent. A ninth has instructions that were changed once,
such as change with who is asking, and prefixes that come in two forms in turn. A last one has no prompts at
all: what counters in a row prove by themselves.
"""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import dataclass, field
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).parents[1]))  # run as a script, it finds the tests' traffic too

from promptcache.counters import diagnose_sequence
from tests.gateway.observe.alternating_traffic import (
    ALTERNATING_FAULTS,
    ALTERNATING_HISTORIES,
    ALTERNATING_SCENES,
)
from tests.gateway.observe.changing_traffic import CHANGING_FAULTS, CHANGING_SCENES, codes_of
from tests.gateway.observe.counted_traffic import COUNTED
from tests.gateway.observe.deploy_traffic import DEPLOYS, DYNAMIC
from tests.gateway.observe.marked_traffic import MARKED_FAULTS, MARKED_SCENES, play
from tests.gateway.observe.preamble_traffic import PREAMBLE_FAULTS, PREAMBLE_SCENES
from tests.gateway.observe.rare_traffic import RARE_FAULTS, RARE_SCENES
from tests.gateway.observe.resent_traffic import LEFT_OUT, RESENT_FAULTS, RESENT_SCENES
from tests.gateway.observe.scattered_traffic import SCATTERED_FAULTS, SCATTERED_SCENES
from tests.gateway.observe.scenes import Stage
from tests.gateway.observe.shaped_traffic import SHAPED_FAULTS, SHAPED_SCENES
from tests.gateway.observe.traffic import COMBINED, FAULTS, SCENES, Author, Pair, clocked
from tests.gateway.observe.written_traffic import WRITTEN_FAULTS, WRITTEN_SCENES

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from promptcache_gateway.observe import Diagnosis

NONE = "none"
MARKED = (*MARKED_SCENES, *MARKED_FAULTS, *RARE_SCENES, *RARE_FAULTS)
WRITTEN = (*WRITTEN_SCENES, *WRITTEN_FAULTS)
CHANGING = (*CHANGING_SCENES, *CHANGING_FAULTS)
SCATTERED = (*SCATTERED_SCENES, *SCATTERED_FAULTS)
PREAMBLE = (*PREAMBLE_SCENES, *PREAMBLE_FAULTS)
VERSIONED = (*DEPLOYS, *DYNAMIC, *ALTERNATING_SCENES, *ALTERNATING_FAULTS, *ALTERNATING_HISTORIES)
SHAPED = (*SHAPED_SCENES, *SHAPED_FAULTS, *RESENT_SCENES, *RESENT_FAULTS, *LEFT_OUT)
LEAST = 0.98
BESIDE = {"PC401", "PC601"}
"""What a fault brings with it: static text behind it, a breakpoint on it."""


@dataclass
class Score:
    """Labels wanted, given and right, by code."""

    wanted: Counter[str] = field(default_factory=Counter)
    given: Counter[str] = field(default_factory=Counter)
    right: Counter[str] = field(default_factory=Counter)

    def add(self, wanted: Iterable[str], given: Iterable[str]) -> None:
        """Count one pair's labels."""
        self.wanted.update(wanted)
        self.given.update(given)
        self.right.update(set(wanted) & set(given))

    def show(self, title: str) -> float:
        """Print the table; the worst number in it."""
        print(f"{title:<22}{'pairs':>7}{'precision':>11}{'recall':>9}")
        worst = 1.0
        for code in sorted(self.wanted | self.given):
            precision = self.right[code] / self.given[code] if self.given[code] else 1.0
            recall = self.right[code] / self.wanted[code] if self.wanted[code] else 0.0
            worst = min(worst, precision, recall)
            print(f"{code:<22}{self.wanted[code]:>7}{precision:>11.3f}{recall:>9.3f}")
        return worst


def judge(pair: Pair) -> Diagnosis:
    """The diagnosis of a pair's later request."""
    stage = Stage()
    for body in pair.earlier:
        stage.send(body)
    return stage.send(pair.later, after_s=pair.after_s).diagnosis


def named(pair: Pair) -> str:
    """The code a request with one fault is given; `NONE` where nobody is blamed."""
    diagnosis = judge(pair)
    if diagnosis.cause in {None, "PC801"}:
        return NONE
    if pair.path is not None and diagnosis.path != pair.path:
        return f"{diagnosis.cause} elsewhere"
    expected = parting(pair)
    if expected is not None and diagnosis.char_offset != expected:
        return f"{diagnosis.cause} off by {(diagnosis.char_offset or 0) - expected}"
    return str(diagnosis.cause)


def both(pair: Pair) -> set[str]:
    """The codes a request with a clock and another fault is given, each at its own place."""
    diagnosis = judge(clocked(pair))
    wanted = {"PC101": "messages[0]", pair.code: pair.path}
    paths = {place.code: place.path for place in diagnosis.places}
    found = set(diagnosis.causes) - BESIDE
    amiss = {code for code in found if wanted.get(code) not in {None, paths.get(code)}}
    return (found - amiss) | {f"{code} elsewhere" for code in amiss}


def parting(pair: Pair) -> int | None:
    """Characters that the texts at a pair's path share; None where that is no plain message in both."""
    texts = [text_at(body, pair.path) for body in (pair.earlier[-1], pair.later)]
    if pair.path is None or pair.code in {"PC501", "PC505"} or None in texts:
        return None
    pairs = zip(*[str(text) for text in texts], strict=False)
    return sum(1 for _ in takewhile(lambda two: two[0] == two[1], pairs))


def text_at(body: dict[str, Any], path: str | None) -> str | None:
    """The text of ``messages[N]``, where it is plain text."""
    if path is None or not path.startswith("messages[") or not path.endswith("]") or "." in path:
        return None
    content = body["messages"][int(path[9:-1])]["content"]
    return content if isinstance(content, str) else None


def author_of(number: int, makers: Sequence[object]) -> Author:
    """Each maker is asked in turn by one who writes no times and by one who does."""
    return Author(number, stamped=number // len(makers) % 2 == 1)


def main(pairs: int = 3_000) -> int:
    """Print the tables; 1 where a number is below 0.98."""
    alone, combined, others, written, changing, scattered, preamble, shaped, versioned, counters = (
        Score() for _ in range(10)
    )
    makers = [*SCENES, *FAULTS]
    for number in range(pairs * 2 // 3):
        pair = makers[number % len(makers)](author_of(number, makers))
        alone.add([pair.code or NONE], [named(pair)])
    for number in range(pairs // 3):
        pair = COMBINED[number % len(COMBINED)](author_of(number, COMBINED))
        assert pair.code is not None
        combined.add({"PC101", pair.code}, both(pair))
    for number in range(pairs // 6):
        scene = MARKED[number % len(MARKED)](Author(number))
        others.add(scene.codes or [NONE], play(scene).causes or [NONE])
    for number in range(pairs // 3):
        scene = WRITTEN[number % len(WRITTEN)](Author(number))
        written.add(scene.codes or [NONE], play(scene).causes or [NONE])
    for number in range(pairs // 4):
        scene = CHANGING[number % len(CHANGING)](Author(number))
        changing.add(scene.codes or [NONE], codes_of(play(scene).causes, scene.codes) or [NONE])
    for number in range(pairs // 6):
        scene = SCATTERED[number % len(SCATTERED)](Author(number))
        scattered.add(scene.codes or [NONE], codes_of(play(scene).causes, scene.codes) or [NONE])
    for number in range(pairs // 6):
        scene = PREAMBLE[number % len(PREAMBLE)](Author(number))
        preamble.add(scene.codes or [NONE], codes_of(play(scene).causes, scene.codes) or [NONE])
    for number in range(pairs // 6):
        scene = SHAPED[number % len(SHAPED)](author_of(number, SHAPED))
        shaped.add(scene.codes or [NONE], play(scene).causes or [NONE])
    for number in range(pairs // 6):
        scene = VERSIONED[number % len(VERSIONED)](Author(number))
        versioned.add(scene.codes or [NONE], codes_of(play(scene).causes, scene.codes) or [NONE])
    for number in range(pairs // 6):
        counted = COUNTED[number % len(COUNTED)](Author(number))
        counters.add([counted.cause or NONE], [diagnose_sequence(counted.records).cause or NONE])
    worst = min(
        alone.show("alone"),
        combined.show("beside a clock"),
        others.show("marks, tools, engine"),
        written.show("any writing"),
        changing.show("in several places"),
        scattered.show("far apart, anew, twice"),
        preamble.show("before every question"),
        versioned.show("changed once, or not"),
        shaped.show("strings and lists"),
        counters.show("counters alone"),
    )
    return 0 if worst >= LEAST else 1


if __name__ == "__main__":
    sys.exit(main(*(int(argument) for argument in sys.argv[1:2])))
