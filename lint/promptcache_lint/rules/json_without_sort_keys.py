"""# JSON without stable key order

## What it does
Finds data of unknown origin that is written into the prefix as JSON without `sort_keys=True`.

## Why is this bad?
`json.dumps` writes keys in the order in which they were inserted. Data that comes from a request, a database
or another service may hold the same values in another order, and then the text differs although nothing
changed. Data that is written down in the source keeps its order and is fine, and what usually is (a schema,
a tool, an example) is only information.

## Example
```python
import json

def system_prompt(profile):
    return "You are a guide. The guest is:\\n" + json.dumps(profile) + "\\nAnswer in two sentences."
```

## Use instead
```python
import json

def system_prompt(profile):
    return "You are a guide. The guest is:\\n" + json.dumps(profile, sort_keys=True) + "\\nBe brief."
```
In TypeScript an object keeps the order in which its keys were put in, so `JSON.stringify` is silent, with
one exception: keys that runs side by side put in (`await Promise.all(names.map(async …))`) come in the order
in which these finish. Make the object of what `Promise.all` gives back, or list the keys:
`JSON.stringify(facts, Object.keys(facts).sort())`. Nothing is said of objects spread from a request or read
from a database: a client writes its keys in the same order each time, PostgreSQL's `jsonb` and MySQL's `json`
have an order of their own, and where it does change the source does not show it; `promptcache diff` does.

Jinja2's own `tojson` sorts keys already.
```jinja
You extract data. The schema is:
{{ schema | tojson }}
Answer with JSON only.
```
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from promptcache_lint.findings import Severity
from promptcache_lint.prompts import Mark, Stability
from promptcache_lint.rule import Sign, SignRule

if TYPE_CHECKING:
    from promptcache_lint.exposure import Exposed
    from promptcache_lint.prompts import Trait

_ENOUGH_WORDS = 25
_LASTING = re.compile(
    r"profile|prefer|settings|config|options|catalog|inventor|menu|polic|rules|guideline|permission|features?\b|flags"
    r"|user|customer|account|client|guest|patient|employee|tenant|plan\b|plans|persona|knowledge|facts|metadata|tools"
    r"|capabilit|attributes|defaults|products?|services|categor|taxonomy|glossary|ontology|terms|schedule|prices|stock",
    re.IGNORECASE,
)
"""What stays the same from one request to the next, so that its order matters."""
_OF_THE_TURN = re.compile(
    r"memor(?:y|ies)|messages?|results?|state|history|events?|observation|context|documents?|docs|chunks|outputs?"
    r"|inputs?|responses?|answers?|transcript|conversation|trace|request|feedback|trajector",
    re.IGNORECASE,
)
_DUMPED = re.compile(r"dumps\((.*)\)", re.DOTALL)


class JsonWithoutSortKeys(SignRule):
    """PC201."""

    code = "PC201"
    what = "JSON in the order its keys happen to have"
    signs = (
        Sign(
            Mark("PC201", Severity.WARNING, Stability.PROCESS, order=True, bulk=True),
            python=("json.dumps", "orjson.dumps", "ujson.dumps", "simplejson.dumps", "rapidjson.dumps"),
        ),
    )

    def matters(self, exposed: Exposed, trait: Trait) -> bool:
        """Where nothing says the role, data is the turn's own as a rule: new in any order."""
        if exposed.segment.role != "prompt":
            return exposed.segment.role in {"system", "tool"}  # an earlier message was written once
        match = _DUMPED.search(trait.label)
        said = match[1].split(",")[0] if match is not None else trait.label
        lasting = _LASTING.search(said) is not None and not _OF_THE_TURN.search(trait.label)
        return exposed.words_behind >= _ENOUGH_WORDS and lasting
