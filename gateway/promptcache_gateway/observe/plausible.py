"""Whether an upstream's counts can be true of the prompt that was sent.

More cached than prompt tokens may mean that the provider counts them apart, or that the figures are
wrong. A token stands for at least one byte, so a prompt of plain text bounds its own count, and beyond it
they are wrong: what was read is then unknown, and no rate is made of it. How providers count is the SDK's
business (`promptcache.usage`).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from promptcache_gateway.observe.settings import KEPT_ELSEWHERE

if TYPE_CHECKING:
    from promptcache.usage import Usage
    from promptcache_gateway.observe.prompt import Prompt

_HIDDEN_TOKENS = 16_384
"""What a provider may put around a prompt on its own: instructions for tools, for reasoning, for safety."""

_MEDIA = re.compile(r'"type":"[a-z_]*(?:image|audio|video|file|document|container|reference)')


def believed(usage: Usage, prompt: Prompt | None) -> Usage:
    """The usage, or what is left of it where its counts are more than the prompt can hold."""
    if prompt is None or usage.total_input is None or usage.convention != "exclusive":
        return usage
    most = prompt.total_bytes + _HIDDEN_TOKENS
    if usage.total_input <= most or not _is_all_text(prompt):
        return usage
    return usage.within(most)


def is_whole(prompt: Prompt) -> bool:
    """Whether all of the prompt stands in the request, pictures included: no stored conversation."""
    return KEPT_ELSEWHERE.isdisjoint(prompt.parameters)


def is_edited_by_provider(prompt: Prompt) -> bool:
    """Whether the provider was asked to clear old results or thoughts out of the prompt on its own."""
    return "context_management" in prompt.parameters


def _is_all_text(prompt: Prompt) -> bool:
    """Whether everything the model was given stands in the request: no image, no stored conversation."""
    if not is_whole(prompt):
        return False
    return not any(
        segment.text.find('{"') >= 0 and _MEDIA.search(segment.text) for segment in prompt.segments
    )
