"""What the entries of a map in a data file are: does a name, or a text under it, belong to a prompt?"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from promptcache_lint.readers.placeholders import has_placeholder
from promptcache_lint.readers.tree import Entries, Items, Node, Scalar
from promptcache_lint.wording import opens_like_prompt, role_of_name

if TYPE_CHECKING:
    from promptcache_lint.prompts import Role

__all__ = ["is_said_to_a_model", "role_of_key"]

_TEMPLATE_KEYS = frozenset({"template", "text", "content", "value", "body", "raw"})
_SAID_OF = frozenset(
    (
        "info",
        "description",
        "display_name",
        "title",
        "label",
        "help",
        "tooltip",
        "placeholder",
        "hint",
        "comment",
    )
)
"""What a form or a schema says of a prompt, and what is no part of it."""
_PATH = re.compile(r"(?:[\w-]+\.){2,}[\w-]+")


def role_of_key(key: str) -> Role | None:
    """The role a key suggests; a path (``form.system_prompt.info``) is the key of a translated label."""
    return None if _PATH.fullmatch(key) else role_of_name(key)


def is_said_to_a_model(key: str, node: Node) -> bool:
    """Whether an entry below a prompt-like name is prompt text itself, and no setting or word beside it."""
    if key in _SAID_OF:
        return False
    if key in _TEMPLATE_KEYS or not isinstance(node, Scalar) or not isinstance(node.value, str):
        return key in _TEMPLATE_KEYS or isinstance(node, Entries | Items)
    return "\n" in node.value or has_placeholder(node.value) or opens_like_prompt(node.value)
