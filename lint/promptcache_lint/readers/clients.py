"""Which source files talk to a model, by what they import: that one cannot be parsed is worth a word."""

from __future__ import annotations

import re

__all__ = ["imports_client"]

_PYTHON = re.compile(
    r"^[ \t]*(?:from|import)[ \t]+(?:openai|anthropic|litellm|langchain\w*|langgraph|llama_index|pydantic_ai|"
    r"cohere|google\.genai|google\.generativeai|mistralai|groq|ollama|instructor|dspy|agents)\b",
    re.MULTILINE,
)
_TYPESCRIPT = re.compile(
    r"""\b(?:from|require\(|import\(?)\s*["'](?:openai|@anthropic-ai/[\w-]+|ai|@ai-sdk/[\w-]+|langchain|"""
    r"""@langchain/[\w-]+|@google/gen\w+|cohere-ai|@mistralai/\w+|groq-sdk|ollama|llamaindex|@openai/agents\w*)"""
    r"""(?:/[\w./-]*)?["']"""
)


def imports_client(text: str) -> bool:
    """Whether a Python or TypeScript file imports a library that sends requests to a model."""
    return _PYTHON.search(text) is not None or _TYPESCRIPT.search(text) is not None
