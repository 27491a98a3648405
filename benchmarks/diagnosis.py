"""How often a diagnosis is right: ``python benchmarks/diagnosis.py [PAIRS]``.

Plays generated conversations, each fault alone and none, against a simulated provider's cache, and
prints precision and recall for every cause. A pair is right when its cause comes first and its path,
where there is one to name, is found.
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))  # run as a script, it finds the tests' traffic too

from tests.gateway.observe.scenes import Stage
from tests.gateway.observe.traffic import FAULTS, SCENES, Author, Pair

NONE = "none"


def named(pair: Pair) -> str:
    """The code the second request is given; `NONE` where nobody is blamed."""
    stage = Stage()
    for body in pair.earlier:
        stage.send(body)
    diagnosis = stage.send(pair.later, after_s=pair.after_s).diagnosis
    if diagnosis.cause in {None, "PC801"}:
        return NONE
    if pair.path is not None and diagnosis.path != pair.path:
        return f"{diagnosis.cause} elsewhere"
    return str(diagnosis.cause)


def main(pairs: int = 2_000) -> int:
    """Print the table; 1 where a cause is below 0.98."""
    makers = [*SCENES, *FAULTS]
    right: Counter[str] = Counter()
    wanted: Counter[str] = Counter()
    given: Counter[str] = Counter()
    for number in range(pairs):
        pair = makers[number % len(makers)](Author(number))
        code, answer = pair.code or NONE, named(pair)
        wanted[code] += 1
        given[answer] += 1
        right[code] += code == answer
    print(f"{'cause':<18}{'pairs':>7}{'precision':>11}{'recall':>9}")
    worst = 1.0
    for code in sorted(wanted | given):
        precision = right[code] / given[code] if given[code] else 1.0
        recall = right[code] / wanted[code] if wanted[code] else 0.0
        worst = min(worst, precision, recall)
        print(f"{code:<18}{wanted[code]:>7}{precision:>11.3f}{recall:>9.3f}")
    return 0 if worst >= 0.98 else 1


if __name__ == "__main__":
    sys.exit(main(*(int(argument) for argument in sys.argv[1:2])))
