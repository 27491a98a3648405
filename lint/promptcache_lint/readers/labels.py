"""Files of labels: what a program shows to people, in their language, under names of its own.

Their names say what a label is for, not who speaks (``joined_group_system``, ``error_message``), and their
placeholders are filled in for the eye. A prompt may stand among them; it says so by its name or by its
opening.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import PurePath

__all__ = ["holds_labels", "is_prompts_name"]

_FOLDER = re.compile(r"_?(?:locales?|i18n|l10n|intl|translations?|[\w-]+\.lproj)", re.IGNORECASE)
_FOLDER_OF_TAGS = re.compile(r"langs?|languages?|messages|strings|nls", re.IGNORECASE)
_LANGUAGES = (
    "ar|az|bg|bn|bs|ca|cs|cy|da|de|el|en|eo|es|et|eu|fa|fi|fil|fr|ga|gl|gu|he|hi|hr|hu|hy|id|it|ja|ka|kk|km|kn|ko|ky"
    "|lo|lt|lv|mk|ml|mn|mr|ms|nb|ne|nl|nn|pa|pl|pt|ro|ru|si|sk|sl|sq|sr|sv|sw|ta|te|th|tl|tr|uk|ur|uz|vi|zh"
)
_TAG = rf"(?:{_LANGUAGES})(?:[-_](?:[a-z]{{2}}|[A-Z]{{2}}|[A-Z][a-z]{{3}}|\d{{3}}))?"
_NAMED = re.compile(rf"(?:i18n|intl|l10n|app|messages?|strings?|locale|lang|translations?)[._-]{_TAG}")
_LANGUAGE = re.compile(_TAG)
_PROMPT = re.compile(r"(?:^|_|\b)(?:prompts?|instructions?)(?:_|\b|$)", re.IGNORECASE)
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def holds_labels(path: PurePath) -> bool:
    """Whether a file lies where labels lie, or is named for a language as theirs are.

    >>> from pathlib import PurePath
    >>> holds_labels(PurePath("assets/locale/i18n_en.json")), holds_labels(PurePath("prompts/en.json"))
    (True, False)
    """
    folders = path.parts[:-1]
    if any(_PROMPT.search(name) for name in (*folders, path.stem)):
        return False
    if _NAMED.fullmatch(path.stem) or any(map(_FOLDER.fullmatch, folders)):
        return True
    return _LANGUAGE.fullmatch(path.stem) is not None and any(map(_FOLDER_OF_TAGS.fullmatch, folders))


def is_prompts_name(name: str) -> bool:
    """Whether a label's name says that it is a prompt (``systemPrompt``, ``chat_instructions``)."""
    return _PROMPT.search(_CAMEL.sub("_", name)) is not None
