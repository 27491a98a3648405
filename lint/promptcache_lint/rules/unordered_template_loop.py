"""# Unordered loop in a template

## What it does
Finds loops over the entries of a mapping, and mappings dumped as JSON in the order they happen to have, in a
template's text.

## Why is this bad?
The entries come in the order in which somebody entered them. The same settings from another source, or
after a change elsewhere, come in another order. Jinja2's own `tojson` sorts its keys and is fine; the JSON
helpers of other engines do not sort.

## Example
```jinja
You are a concierge. The house rules:
{% for name, rule in rules.items() %}
- {{ name }}: {{ rule }}
{% endfor %}
Be polite at all times.
```
```text
You are a concierge. The house rules are {{json rules}}.
Be polite at all times.
```

## Use instead
```jinja
You are a concierge. The house rules:
{% for name, rule in rules | dictsort %}
- {{ name }}: {{ rule }}
{% endfor %}
The same as JSON: {{ rules | tojson }}
Be polite at all times.
```
"""

from __future__ import annotations

from promptcache_lint.findings import Severity
from promptcache_lint.prompts import Mark, Stability
from promptcache_lint.rule import Sign, SignRule


class UnorderedTemplateLoop(SignRule):
    """PC204."""

    code = "PC204"
    what = "The order in which a mapping happens to be"
    signs = (
        Sign(
            Mark("PC204", Severity.WARNING, Stability.PROCESS, order=True, bulk=True),
            filters=("json", "to_json", "to_nice_json", "json_encode", "jsonify", "dump", "to_pretty_json"),
        ),
    )
