"""# Randomness in the prefix

## What it does
Finds values that are drawn at random, and lists that are sampled or shuffled, in the part of a prompt that
should stay the same.

## Why is this bad?
Each draw gives another prefix. Sampling few-shot examples afresh for every request is the usual form: the
examples, often the longest part of the prompt, and everything behind them are never reused.

## Example
```python
import random

def prompt(question):
    shots = random.sample(EXAMPLES, k=3)
    return "Answer with a number.\\n" + "\\n".join(shots) + f"\\nQ: {question}\\nA:"
```
```jinja
You are {{ ["cheerful", "stern"] | random }} and work in a bakery. Recommend one cake at a time.
```

## Use instead
Choose once and keep the choice, or draw with a fixed seed.
```python
import random

SHOTS = random.Random(7).sample(["1+1=2", "2+2=4", "3+3=6"], k=2)

def prompt(question):
    return "Answer with a number.\\n" + "\\n".join(SHOTS) + f"\\nQ: {question}\\nA:"
```
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from promptcache_lint.findings import Severity
from promptcache_lint.prompts import Mark, Stability
from promptcache_lint.rule import Sign, SignRule

if TYPE_CHECKING:
    from promptcache_lint.exposure import Exposed
    from promptcache_lint.findings import Finding
    from promptcache_lint.prompts import Prompt, Trait

_ENOUGH_WORDS = 10
_A_FEW = 20
_ONE = re.compile(r"\bchoices?\(")

_DRAWS = (
    "random",
    "randint",
    "randrange",
    "uniform",
    "gauss",
    "normalvariate",
    "triangular",
    "betavariate",
    "getrandbits",
    "randbytes",
)
_PICKS = ("choice", "choices", "sample", "shuffle")
_NUMPY_DRAWS = ("rand", "randn", "randint", "random", "random_sample", "uniform", "normal")
_MAKERS = ("random", "random.Random", "random.SystemRandom")


class RandomInPrefix(SignRule):
    """PC103."""

    code = "PC103"
    what = "A random choice"
    signs = (
        Sign(
            Mark("PC103", Severity.ERROR, Stability.TURN, bulk=True),
            python=(
                *(f"{maker}.{draw}" for maker in _MAKERS for draw in _DRAWS),
                "secrets.randbelow",
                "secrets.randbits",
                "os.urandom",
                *(f"numpy.random.{draw}" for draw in _NUMPY_DRAWS),
                *(f"numpy.random.default_rng.{draw}" for draw in ("integers", "random", "normal")),
            ),
        ),
        Sign(  # of what is there: the same ones come again, and where data is made, chance is the purpose
            Mark("PC103", Severity.WARNING, Stability.TURN, bulk=True),
            python=(
                *(f"{maker}.{pick}" for maker in _MAKERS for pick in _PICKS),
                "secrets.choice",
                *(f"numpy.random.{pick}" for pick in ("choice", "shuffle", "permutation")),
                *(f"numpy.random.default_rng.{pick}" for pick in ("choice", "permutation", "shuffle")),
            ),
            names=(r"random|rand|rand_?int|random_?(?:number|int|value|seed|string|choice)|roll|dice|pick",),
            filters=("random", "shuffle"),
        ),
    )

    def finding(self, prompt: Prompt, exposed: Exposed, trait: Trait) -> Finding:
        """A warning where nothing says that it is the system prompt, unless it is at its very beginning.

        One thing that was picked, with next to nothing behind it, is what the prompt is about.
        """
        found = super().finding(prompt, exposed, trait)
        several = exposed.segment.path.endswith(":]") and "choice(" not in trait.label
        alone = not (exposed.before or exposed.words_behind or several)
        if trait.mark.severity == Severity.WARNING and alone:
            return replace(found, severity=Severity.INFO)  # one of some prompts, each of which comes again
        if exposed.segment.role == "prompt" and (
            exposed.before > _A_FEW or exposed.words_behind < _ENOUGH_WORDS
        ):
            subject = _ONE.search(trait.label) is not None and exposed.words_behind < _ENOUGH_WORDS
            return replace(found, severity=Severity.INFO if subject else Severity.WARNING)
        return found
