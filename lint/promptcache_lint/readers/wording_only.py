"""Texts that only begin like a prompt: nothing names them so, and nothing is seen to send them.

"You are now following Ann" begins like one too. Such a text counts only in a module that has to do with
models, and what is wrong with it is never certain.
"""

from __future__ import annotations

import re
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING

from promptcache_lint.findings import Severity
from promptcache_lint.prompts import Branch, Hole

if TYPE_CHECKING:
    from promptcache_lint.places import Source
    from promptcache_lint.prompts import Part

__all__ = ["doubted", "talks_to_model"]

_MODELS = re.compile(
    r"""openai|anthropic|\bclaude|\bgpt\b|gpt-\d|gemini|mistral|ollama|langchain|llama_?index|genkit|bedrock"""
    r"""|vertexai|google\.generativeai|pydantic_ai|crewai|autogen|semantic_kernel|dspy|haystack|transformers|vllm"""
    r"""|@ai-sdk|from\s*["']ai["']|cohere|deepseek|\bgroq|mastra|huggingface|\bllms?\b|language ?model"""
    r"""|(?:generate|stream)(?:Text|Object)|generateContent|chat\.?completions?|completions\.create|(?:messages|responses)\.create|\w+_prompt\b|\bprompt_\w+|generate_content"""
    r"""|\brole["']?\s*[:=]\s*["'](?:system|developer|assistant|user)["']|system_?(?:prompt|message|instruction)""",
    re.IGNORECASE,
)
_PROMPTS = re.compile(r"Prompts?\b|[a-z]Prompt|PROMPT|\b(?:LLM|Llm)")
_PROMPT_PATH = re.compile(r"prompt|persona|(?:^|[/_.-])(?:llm|agents?)(?=[/_.-])", re.IGNORECASE)


def talks_to_model(source: Source) -> bool:
    """Whether a module's text or path has to do with models or with prompts for them."""
    return _talks(source.called, source.text)


@lru_cache(maxsize=8)  # asked for each function of a module, one module after another
def _talks(called: str, text: str) -> bool:
    patterns = ((_PROMPT_PATH, called), (_MODELS, text), (_PROMPTS, text))
    return any(pattern.search(where) is not None for pattern, where in patterns)


def doubted(parts: tuple[Part, ...]) -> tuple[Part, ...]:
    """The parts of a text that may be no prompt: what is wrong with them is a warning at most."""
    return tuple(map(_doubted, parts))


def _doubted(part: Part) -> Part:
    match part:
        case Hole() if part.traits:
            traits = tuple(
                replace(trait, mark=replace(trait.mark, severity=min(trait.mark.severity, Severity.WARNING)))
                for trait in part.traits
            )
            return replace(part, traits=traits)
        case Branch():
            return replace(part, options=tuple(tuple(map(_doubted, option)) for option in part.options))
        case _:
            return part
