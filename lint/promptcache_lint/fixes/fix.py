"""A fix: a few replacements of text in one file that make a finding go away."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from promptcache_lint.places import Place

__all__ = ["Edit", "Fix"]


@dataclass(frozen=True, slots=True)
class Edit:
    """Replaces the text at ``place`` by ``content``; an empty place is an insertion."""

    place: Place
    content: str


@dataclass(frozen=True, slots=True)
class Fix:
    """What to change and why; ``safe`` when the prompt's meaning stays what it was."""

    message: str
    safe: bool
    edits: tuple[Edit, ...]

    def to_dict(self) -> dict[str, Any]:
        """The JSON form; rows and columns count from 1."""
        return {
            "message": self.message,
            "applicability": "safe" if self.safe else "unsafe",
            "edits": [
                {
                    "filename": edit.place.path,
                    "location": {"row": edit.place.row, "column": edit.place.column},
                    "end_location": {"row": edit.place.end_row, "column": edit.place.end_column},
                    "content": edit.content,
                }
                for edit in self.edits
            ],
        }
