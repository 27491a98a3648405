"""# Unordered listing

## What it does
Finds text in the prefix that follows the order of a directory listing or of finishing tasks.

## Why is this bad?
The order in which a file system lists names, and the order in which tasks finish, is not defined: it differs
between machines, after a copy, and from run to run.

## Example
```python
import glob

def skills_prompt():
    return "## Skills\\n" + "\\n".join(open(path).read() for path in glob.glob("skills/*.md"))
```

## Use instead
```python
import glob

def skills_prompt():
    return "## Skills\\n" + "\\n".join(open(path).read() for path in sorted(glob.glob("skills/*.md")))
```
"""

from __future__ import annotations

from promptcache_lint.findings import Severity
from promptcache_lint.prompts import Mark, Stability
from promptcache_lint.rule import Sign, SignRule


class UnorderedListing(SignRule):
    """PC203."""

    code = "PC203"
    what = "An order that nobody defines"
    signs = (
        Sign(
            Mark("PC203", Severity.WARNING, Stability.PROCESS, order=True, bulk=True),
            python=(
                "glob.glob",
                "glob.iglob",
                "os.listdir",
                "os.scandir",
                "os.walk",
                "pathlib.Path.glob",
                "pathlib.Path.walk",
                ".iterdir",
                ".rglob",
                "asyncio.as_completed",
                "concurrent.futures.as_completed",
                ".imap_unordered",
            ),
        ),
    )
