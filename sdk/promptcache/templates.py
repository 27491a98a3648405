"""Chat templates in one question each: what does this conversation look like, and does each turn extend the
last?

A plain face on `promptcache.chat_templates`, which also says where and why a template rewrites history.
Templates run in a sandbox, as model servers run them.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

from promptcache import chat_templates

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    Messages = Sequence[Mapping[str, Any]]

__all__ = ["is_append_only", "render_chat_template"]


def render_chat_template(
    template: str, messages: Messages, *, add_generation_prompt: bool = False, **kwargs: Any
) -> str:
    """Render ``messages`` with a template's source; ``kwargs`` are its other variables (``tools``,
    ``bos_token``).

    Raises `promptcache.errors.TemplateError` when the template does not compile or refuses the messages.
    """
    compiled = chat_templates._compile(template)  # noqa: SLF001 - the same package
    return chat_templates._render(compiled, messages, kwargs, answer=add_generation_prompt)  # noqa: SLF001


def is_append_only(
    template: str, turns: Sequence[Messages], *, generated: Sequence[str] = (), **kwargs: Any
) -> bool:
    """Whether each turn, as the model saw it, is a prefix of the next.

    ``turns`` are whole lists of messages, oldest first; ``generated[i]`` is what the model wrote after turn
    i, end mark included (nothing where it is not given). ``kwargs`` are the template's other variables.
    Raises `promptcache.errors.TemplateError` when a turn cannot be rendered.
    """
    for index, (earlier, later) in enumerate(pairwise(turns)):
        written = generated[index] if index < len(generated) else ""
        report = chat_templates.check_chat_template(
            template, earlier, later, generated=written, parameters=kwargs
        )
        if not report.append_only:
            return False
    return True
