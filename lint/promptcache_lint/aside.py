"""Which files stand beside the product: tests, examples, evaluations, scripts, lessons, what was put away.

What they send costs little, however it is written.
"""

from __future__ import annotations

import re
from functools import lru_cache

__all__ = ["is_beside_the_product"]

_ASIDE = re.compile(
    r"(?:^|/)(?:tests?|testing|__tests__|specs?|fixtures?|examples?|demos?|samples?|scripts?|benchmarks?|bench|evals?"
    r"|evaluations?|notebooks?|tutorials?|docs?|cookbooks?|playground|experiments?|quickstarts?|e2e"
    r"|lessons?|courses?|course[_-]\w+|workshops?|exercises?|bootcamps?|chapter[_-]?\d\w*|legacy|deprecated|obsolete|old"
    r"|_*archived?(?:[._-][^/]*)?|(?:[^/]*[._-])?backups?(?:[._-][^/]*)?|[\w-]+[_-](?:demos?|examples?|tutorials?|old|archived?))/"
    r"|(?:^|/)(?:test_|example|demo|bench|debug[-_]|conftest|quickstart|try_)[^/]*$"
    r"|(?:_test|_demo|_example|\.test|\.spec)\.\w+$|\.ipynb$",
    re.IGNORECASE,
)


@lru_cache(maxsize=8192)
def is_beside_the_product(path: str) -> bool:
    """Whether a file is a test, an example, a script, a lesson, or put away, by its name or folder."""
    return _ASIDE.search(path) is not None
