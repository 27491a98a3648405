"""What a call makes or sends, by the name of what is called: a template, a tool, a request to a model.

Messages are `speakers`' business; what becomes of the call is `sinks`'.
"""

from __future__ import annotations

import ast
import re
from functools import lru_cache
from typing import Literal

__all__ = ["is_request", "kind_of_call", "path_of"]

_API = re.compile(
    r".*\.(?:chat\.completions|messages|responses|completions|ChatCompletion|Completion|models)"
    r"(?:\.batches|\.with_raw_response|\.with_streaming_response)?"
    r"\.(?:create|acreate|stream|parse|generate_content\w*|count_tokens)"
    r"|(?:litellm\.)?a?completion|litellm\.(?:a?completion|a?responses|a?text_completion)|.*\.converse(?:_stream)?"
)
_TOOL_CLASS = re.compile(
    r"(?:.*\.)?(?:Structured|Function|QueryEngine|Base|Callable|Retriever|Dynamic)?Tool(?:Metadata|Definition|Param)?"
    r"(?:\.from_(?:function|defaults))?|(?:.*\.)?create_retriever_tool|(?:.*\.)?FunctionDeclaration"
)
_TEMPLATE_CLASS = re.compile(r"(?:.*\.)?(?:Chat)?PromptTemplate(?:\.from_template)?")


@lru_cache(maxsize=32_768)
def kind_of_call(path: str) -> Literal["template", "tool", "request", ""]:
    """What a call of ``path``, a name or chain of attributes, makes or sends; empty if nothing known."""
    if _TEMPLATE_CLASS.fullmatch(path):
        return "template"
    if _TOOL_CLASS.fullmatch(path):
        return "tool"
    return "request" if _API.fullmatch(path) else ""


_VERBS = frozenset(
    {
        *("create", "acreate", "stream", "parse", "count_tokens", "converse", "converse_stream"),
        *("completion", "acompletion", "responses", "aresponses", "text_completion", "atext_completion"),
    }
)


def is_request(node: ast.Call) -> bool:
    """Whether a call sends a request to a model; most are told by their last name, without the whole path."""
    func = node.func
    last = func.attr if isinstance(func, ast.Attribute) else func.id if isinstance(func, ast.Name) else ""
    likely = last in _VERBS or last.startswith("generate_content")
    return likely and kind_of_call(path_of(func)) == "request"


def path_of(node: ast.expr) -> str:
    """The attributes that lead to what is called: ``client.messages.create``; ``?`` for what is no name."""
    names: list[str] = []
    while isinstance(node, ast.Attribute):
        names.append(node.attr)
        node = node.value
    names.append(node.id if isinstance(node, ast.Name) else "?")
    return ".".join(reversed(names))
