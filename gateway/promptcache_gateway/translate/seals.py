"""What a model of Anthropic's thought, signed as it must come back, inside an item of OpenAI's Responses API.

It travels as the item's ``encrypted_content``, which callers hand back as it is.
"""

from __future__ import annotations

import base64
import binascii
from typing import TYPE_CHECKING, Any

import orjson

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_OURS = "thinking_blocks."
_KINDS = ("thinking", "redacted_thinking")


def sealed(blocks: Iterable[Mapping[str, Any]]) -> str:
    """The ``encrypted_content`` that holds the blocks; their numbers in a stream are left out."""
    kept = [{name: value for name, value in block.items() if name != "index"} for block in blocks]
    return _OURS + base64.b64encode(orjson.dumps(kept)).decode()


def unsealed(item: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The blocks in a reasoning item; none where it holds another provider's."""
    content = item.get("encrypted_content")
    if not isinstance(content, str) or not content.startswith(_OURS):
        return []
    try:
        blocks = orjson.loads(base64.b64decode(content.removeprefix(_OURS), validate=True))
    except (binascii.Error, ValueError):
        return []
    blocks = blocks if isinstance(blocks, list) else []
    return [block for block in blocks if isinstance(block, dict) and block.get("type") in _KINDS]
