"""Judges a model's chat template: is turn n, as the model saw and wrote it, a prefix of turn n+1?

What a cache holds after a turn is the rendered prompt with what the model generated. If the next rendering
does not extend that, the template (or what it was given) rewrites history. Prompts of one's own are
`promptcache.template`; requests are compared in `promptcache.divergence`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NoReturn

from promptcache.bounded_jinja import BoundedEnvironment, BoundExceededError, with_budget
from promptcache.divergence.evidence import common_prefix, excerpt
from promptcache.errors import TemplateBoundError, TemplateError

if TYPE_CHECKING:
    import jinja2

__all__ = ["TemplateReport", "check_chat_template"]

_REASONING_FIELDS = ("reasoning", "reasoning_content", "thinking")
_THINK = re.compile(r"(.*?)</(?:think|thinking|reasoning)>", re.DOTALL)
_OPENING = re.compile(r"<(?:think|thinking|reasoning)>\s*")
_NEAR = 64

Messages = Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class TemplateReport:
    """Whether a template only appends.

    ``offset`` is where the next rendering leaves what the cache holds, in code points; ``before`` and
    ``after`` are excerpts there. ``cause`` is PC504 (a parameter switched, named in ``details``), PC505
    (reasoning is not rendered again) or PC508 (the template rewrites history); None when it only appends.
    """

    append_only: bool
    cause: str | None = None
    offset: int | None = None
    before: str | None = None
    after: str | None = None
    details: Mapping[str, Any] = field(default_factory=dict)


def check_chat_template(
    source: str,
    earlier: Messages,
    later: Messages,
    *,
    generated: str = "",
    parameters: Mapping[str, Any] | None = None,
    later_parameters: Mapping[str, Any] | None = None,
) -> TemplateReport:
    """Render two turns and compare.

    ``generated`` is what the model wrote after the first, end mark included. ``parameters`` are the
    template's other variables, ``later_parameters`` those of the second turn where they differ.
    Raises `TemplateError` when the template cannot be rendered.
    """
    template = _compile(source)
    first = dict(parameters or {})
    second = first if later_parameters is None else dict(later_parameters)

    def render_later(variables: Mapping[str, Any]) -> str:
        return _render(template, later, variables, answer=False)

    held = _render(template, earlier, first, answer=True) + generated
    rendered = render_later(second)
    if rendered.startswith(held):
        return TemplateReport(append_only=True)
    offset = common_prefix(held, rendered)
    switched = _switched(held, rendered, render_later, (first, second))
    cause = "PC504" if switched else "PC508"
    if not switched and _reasoning_lost(held, rendered, _reasoning(later, generated)):
        cause = "PC505"
    return TemplateReport(
        append_only=False,
        cause=cause,
        offset=offset,
        before=excerpt(held, offset),
        after=excerpt(rendered, offset),
        details={"parameter": switched} if switched else {},
    )


def _switched(
    held: str,
    rendered: str,
    render_later: Callable[[Mapping[str, Any]], str],
    parameters: tuple[Mapping[str, Any], Mapping[str, Any]],
) -> str | None:
    """The switched parameter whose old value, put back alone, makes more match again; None if none does."""
    first, second = parameters
    reached: dict[str | None, int] = {None: common_prefix(held, rendered)}
    for name in {**first, **second}:
        if first.get(name) != second.get(name):
            reached[name] = common_prefix(held, render_later({**second, name: first.get(name)}))
    return max(reached, key=reached.__getitem__)


def _reasoning_lost(held: str, rendered: str, reasoning: list[str]) -> bool:
    """Whether reasoning that the cache holds is missing in the next rendering, right where the two part."""
    offset = common_prefix(held, rendered)
    for text in reasoning:
        place = held.rfind(text)
        near = place >= 0 and place - _NEAR <= offset <= place + len(text)
        if near and not rendered.startswith(text, place):
            return True
    return False


def _reasoning(later: Messages, generated: str) -> list[str]:
    """Reasoning texts: what the model wrote before closing its thoughts, and what messages carry."""
    written = [_OPENING.sub("", found) for found in _THINK.findall(generated)]
    carried = [message.get(name) for message in later for name in _REASONING_FIELDS]
    return [text.strip() for text in [*written, *carried] if isinstance(text, str) and text.strip()]


# --- rendering ------------------------------------------------------------------------------------------


def _compile(source: str) -> jinja2.Template:
    """Compile as model servers do: sandboxed, blocks trimmed, ``tojson`` in the given key order; bounded."""
    environment = BoundedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols"]
    )
    environment.add_filter("tojson", _tojson)
    environment.globals["raise_exception"] = _raise
    try:
        return environment.from_string(source)
    except Exception as error:  # a number of 5,000 digits, brackets a thousand deep: Jinja2 lets it through
        raise TemplateError("chat template", f"it does not compile ({error})") from error


def _render(
    template: jinja2.Template, messages: Messages, parameters: Mapping[str, Any], *, answer: bool
) -> str:
    variables = {"bos_token": "", "eos_token": "", **parameters}
    variables |= {"messages": messages, "add_generation_prompt": answer}
    try:
        return template.render(with_budget(variables))
    except TemplateError:
        raise
    except BoundExceededError as error:
        raise TemplateBoundError("chat template", str(error.message)) from error
    except Exception as error:  # a template is a program: whatever it runs into is its own fault
        raise TemplateError("chat template", f"it cannot be rendered ({error})") from error


def _tojson(value: object, indent: int | None = None) -> str:
    return json.dumps(value, ensure_ascii=False, indent=indent)


def _raise(message: str) -> NoReturn:
    raise TemplateError("chat template", f"it refuses these messages ({message})")
