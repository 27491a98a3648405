"""What an answer's text must be: a JSON schema, a regular expression, one of some texts, or a grammar.

These are plain values with a name for their content. What enforces them is in ``constraints``.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self, TypeAlias

from promptcache_engine.errors import GrammarError

GrammarKind: TypeAlias = Literal["json_schema", "regex", "lark"]


@dataclass(frozen=True, slots=True)
class Grammar:
    """One constraint.

    Attributes:
        kind: how ``source`` is to be read: ``json_schema`` (JSON text), ``regex``, or ``lark`` (the dialect
            of Lark that llguidance documents, with the rule ``start``).
        source: the text.
    """

    kind: GrammarKind
    source: str

    @classmethod
    def json_schema(cls, schema: Mapping[str, Any]) -> Self:
        """JSON that a schema admits, written with ``", "`` and ``": "`` and no other space.

        Raises:
            GrammarError: it is nested too deeply to be written down.
        """
        try:
            return cls("json_schema", json.dumps(schema, ensure_ascii=False))
        except RecursionError as error:
            raise GrammarError("the schema is nested too deeply") from error

    @classmethod
    def json_object(cls) -> Self:
        """Any JSON object."""
        return cls.json_schema({"type": "object"})

    @classmethod
    def regex(cls, pattern: str) -> Self:
        """A text the whole of which matches ``pattern``."""
        return cls("regex", pattern)

    @classmethod
    def choice(cls, texts: Sequence[str]) -> Self:
        """One of ``texts``."""
        return cls("lark", "start: " + " | ".join(json.dumps(text, ensure_ascii=False) for text in texts))

    @classmethod
    def lark(cls, source: str) -> Self:
        """What a grammar generates."""
        return cls("lark", source)

    @property
    def key(self) -> str:
        """A name for this content, equal for equal grammars."""
        return hashlib.sha256(f"{self.kind}\0{self.source}".encode("utf-8", "surrogatepass")).hexdigest()
