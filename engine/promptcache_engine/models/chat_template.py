"""From a list of messages to the text a model was trained on, by the model's own Jinja template.

The environment is the one Hugging Face's tokenizers use, so a template written for them renders the same
here: sandboxed, blocks trimmed, ``tojson`` that keeps Unicode. Some differences are deliberate. There is no
clock unless the caller gives one: templates guard ``strftime_now`` with ``is defined`` and then write a fixed
date, and a prompt that starts with today's date cannot be reused tomorrow. A value that says how it was
written (``json_text``) is written so by ``tojson``. And every failure is one error.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

from jinja2 import Environment, TemplateError, TemplateRuntimeError, nodes
from jinja2.ext import Extension
from jinja2.parser import Parser
from jinja2.runtime import Context
from jinja2.sandbox import ImmutableSandboxedEnvironment

from promptcache_engine.models.errors import ChatTemplateError

_FAULTS = (TemplateError, TypeError, ValueError, LookupError, AttributeError, ArithmeticError, RecursionError)
"""What a template's own expressions can raise on messages they do not expect."""
_LONGEST = 10_000_000
"""Characters or items that a template's ``*`` may make: more than any prompt holds."""
_WIDEST = 4096
"""Bits of the largest whole number that a template's ``*`` and ``**`` may make."""


class ChatTemplate:
    """A compiled chat template.

    ``tokens`` are names the template may use, such as ``bos_token`` and ``eos_token``. ``strftime_now``
    formats the present time; without it the name is undefined.
    """

    def __init__(
        self,
        source: str,
        *,
        tokens: Mapping[str, str] | None = None,
        strftime_now: Callable[[str], str] | None = None,
    ) -> None:
        self.source = source
        self._tokens = dict(tokens or {})
        environment = _environment()
        if strftime_now is not None:
            environment.globals["strftime_now"] = strftime_now
        try:
            self._template = environment.from_string(source)
        except (*_FAULTS, SyntaxError, MemoryError) as error:  # numbers too long, brackets too deep
            line = f" (line {lineno})" if (lineno := getattr(error, "lineno", None)) else ""
            raise ChatTemplateError(
                f"the chat template does not compile{line}: {error}",
                "Correct it, or give another with --chat-template FILE",
            ) from error

    def render(
        self,
        messages: Sequence[Mapping[str, Any]],
        tools: Sequence[Mapping[str, Any]] | None = None,
        add_generation_prompt: bool = True,  # noqa: FBT001, FBT002 - the name and order users of chat templates know
        **extra: Any,
    ) -> str:
        """Render ``messages`` (role and content mappings) to the prompt's text.

        ``add_generation_prompt`` appends what begins the assistant's answer. ``extra`` are further names for
        the template. Raises ChatTemplateError when the template refuses the messages or cannot handle them.
        """
        names = {**self._tokens, **extra, "messages": messages, "tools": tools, "documents": None}
        try:
            return self._template.render(names, add_generation_prompt=add_generation_prompt)
        except _FAULTS as error:
            raise ChatTemplateError(f"the chat template refuses these messages: {error}") from error


class _GenerationTag(Extension):
    """``{% generation %}`` marks the assistant's tokens for training; here only its body counts."""

    tags = {"generation"}  # noqa: RUF012 - declared so by jinja2

    def parse(self, parser: Parser) -> list[nodes.Node]:
        next(parser.stream)
        return parser.parse_statements(("name:endgeneration",), drop_needle=True)


class _Sandbox(ImmutableSandboxedEnvironment):
    """The sandbox, in which no product is huge: not of a template that runs, and not while it is compiled."""

    intercepted_binops = frozenset({"*", "**"})

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        """Multiply, or raise to a power, what makes no huge value. Raises TemplateRuntimeError for others."""
        if operator == "**":
            wide = _bits(left) * abs(right) if isinstance(right, int) else 0
        else:
            wide = _bits(left) + _bits(right)
        if wide > _WIDEST or (operator == "*" and max(_copied(left, right), _copied(right, left)) > _LONGEST):
            raise TemplateRuntimeError(f"the result of {operator} is larger than any prompt needs")
        return super().call_binop(context, operator, left, right)


def _bits(value: Any) -> int:
    return value.bit_length() if isinstance(value, int) else 0


def _copied(sequence: Any, times: Any) -> int:
    """How long a text or list is when it is repeated; 0 for anything else."""
    return len(sequence) * times if isinstance(sequence, str | list | tuple) and isinstance(times, int) else 0


def _environment() -> Environment:
    environment = _Sandbox(
        trim_blocks=True,
        lstrip_blocks=True,
        optimized=False,
        extensions=[_GenerationTag, "jinja2.ext.loopcontrols"],
    )
    environment.filters["tojson"] = _tojson
    environment.globals["raise_exception"] = _raise_exception
    return environment


def _raise_exception(message: str) -> NoReturn:
    raise TemplateError(message)


def _tojson(
    value: Any,
    ensure_ascii: bool = False,  # noqa: FBT001, FBT002 - templates pass these by position too
    indent: int | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,  # noqa: FBT001, FBT002
) -> str:
    written = getattr(value, "json_text", None)
    if isinstance(written, str) and indent is None and not sort_keys:
        return written  # a call that is replayed keeps the bytes it was made with
    return json.dumps(
        value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys
    )
