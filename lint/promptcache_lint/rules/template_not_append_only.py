"""# Chat template is not append-only

## What it does
Renders a model's chat template over short made-up conversations, in a sandbox, and finds templates whose
next turn does not begin with the turn before.

## Why is this bad?
What an engine holds after a turn is the rendered prompt and what the model wrote. A template that marks the
last message, moves the tools, or closes earlier turns in another way rewrites text that was there, and
everything from there on is computed again in each turn. Reasoning that is left out of earlier turns is
reported as PC505.

## Example
```jinja
{%- for message in messages -%}
{{ '<|' + message.role + '|>' }}{{ '(newest) ' if loop.last else '' }}{{ message.content + '<|end|>' }}
{%- endfor -%}
{%- if add_generation_prompt -%}{{ '<|assistant|>' }}{%- endif -%}
```

## Use instead
```jinja
{%- for message in messages -%}
{{ '<|' + message.role + '|>' + message.content + '<|end|>' }}
{%- endfor -%}
{%- if add_generation_prompt -%}{{ '<|assistant|>' }}{%- endif -%}
```
"""

from __future__ import annotations

from promptcache_lint.rule import PracticeRule


class TemplateNotAppendOnly(PracticeRule):
    """PC508."""

    code = "PC508"
