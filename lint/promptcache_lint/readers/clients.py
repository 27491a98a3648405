"""Which source files talk to a model, by what they import: that one cannot be parsed is worth a word."""

from __future__ import annotations

import re

__all__ = ["imports_client", "python_imports_client", "sends_to_model"]

_PYTHON_NAMES = (
    *("openai", "anthropic", "litellm", "langchain", "langgraph", "llama_index", "pydantic_ai", "cohere"),
    *("google.gen", "mistralai", "groq", "ollama", "instructor", "dspy", "agents"),
)
"""The names below, without their form: none is in most files."""

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


_ADDRESS = re.compile(
    r"/chat/completions|/v1/messages|/v1/responses|/api/(?:chat|generate)\b|generativelanguage|openrouter\.ai"
    r"|api\.(?:openai|anthropic|mistral|deepseek|groq)\.|bedrock-runtime|invoke_model|chat\.completions"
    r"|(?:messages|responses)\.create|generate_content|generateContent|generateText|streamText"
    r"|(?:transformers|vllm) import"
    r"|\b(?:a?completion|a?invoke|a?generate|a?chat|a?complete)\("
)
"""Where requests to a model go, or the calls that send them."""


def sends_to_model(text: str) -> bool:
    """Whether a program sends requests to a model: by a library, or to an address that answers them."""
    return imports_client(text) or _ADDRESS.search(text) is not None


def imports_client(text: str) -> bool:
    """Whether a Python or TypeScript file imports a library that sends requests to a model."""
    return python_imports_client(text) or _TYPESCRIPT.search(text) is not None


def python_imports_client(text: str) -> bool:
    """Whether a Python file imports a library that sends requests to a model."""
    return any(name in text for name in _PYTHON_NAMES) and _PYTHON.search(text) is not None
