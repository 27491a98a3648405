"""# JSON without stable key order

## What it does
Finds data of unknown origin that is written into the prefix as JSON without `sort_keys=True`.

## Why is this bad?
`json.dumps` writes keys in the order in which they were inserted. Data that comes from a request, a database
or another service may hold the same values in another order, and then the text differs although nothing
changed. Data that is written down in the source keeps its order and is fine.

## Example
```python
import json

def system_prompt(schema):
    return "You extract data. The schema is:\\n" + json.dumps(schema) + "\\nAnswer with JSON only."
```

## Use instead
```python
import json

def system_prompt(schema):
    return "You extract data. The schema is:\\n" + json.dumps(schema, sort_keys=True) + "\\nOnly JSON."
```
Jinja2's own `tojson` sorts keys already.
```jinja
You extract data. The schema is:
{{ schema | tojson }}
Answer with JSON only.
```
"""

from __future__ import annotations

from promptcache_lint.findings import Severity
from promptcache_lint.prompts import Mark, Stability
from promptcache_lint.rule import Sign, SignRule


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
