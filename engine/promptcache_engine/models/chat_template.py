"""From a list of messages to the text a model was trained on, by the model's own Jinja template.

The environment is the one Hugging Face's tokenizers use, so a template written for them renders the same
here: sandboxed, blocks trimmed, ``tojson`` that keeps Unicode. Some differences are deliberate. There is no
clock unless the caller gives one: templates guard ``strftime_now`` with ``is defined`` and then write a fixed
date, and a prompt that starts with today's date cannot be reused tomorrow. A value that says how it was
written (``json_text``) is written so by ``tojson``. A rendering has a budget, for templates come with files
that nobody vouches for. And every failure is one error.
"""

import json
import traceback
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

from jinja2 import TemplateError

from promptcache_engine.models.errors import ChatTemplateError
from promptcache_engine.models.template_budget import Budget, BudgetExceededError
from promptcache_engine.models.template_sandbox import BUDGET, TemplateSandbox

_FAULTS = (TemplateError, TypeError, ValueError, LookupError, AttributeError, ArithmeticError)
"""What a template's own expressions can raise on messages they do not expect."""
_ENDLESS = (BudgetExceededError, RecursionError, MemoryError)
_FILE = "<template>"
"""How Jinja calls the file of a template that has none, in tracebacks."""


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
        except (*_FAULTS, *_ENDLESS, SyntaxError) as error:  # numbers too long, brackets too deep
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
        names["add_generation_prompt"] = add_generation_prompt
        try:
            return self._template.render({**names, BUDGET: Budget.for_names(names)})
        except _ENDLESS as error:
            raise ChatTemplateError(
                f"the chat template{_line(error)} takes more steps or memory than any prompt needs",
                "Give another with --chat-template FILE",
            ) from error
        except _FAULTS as error:
            raise ChatTemplateError(f"the chat template refuses these messages: {error}") from error


def _environment() -> TemplateSandbox:
    environment = TemplateSandbox()
    environment.add_filter("tojson", _tojson)
    environment.globals["raise_exception"] = _raise_exception
    return environment


def _line(error: BaseException) -> str:
    """Where in the template an error came from: `` (line 7)``."""
    frames = traceback.extract_tb(error.__traceback__)
    line = next((frame.lineno for frame in reversed(frames) if frame.filename == _FILE), None)
    return "" if line is None else f" (line {line})"


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
