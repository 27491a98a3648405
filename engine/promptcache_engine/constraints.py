"""Keeps an answer to a grammar: which tokens may come next, and whether the text is complete.

The work is llguidance's, loaded when the first grammar comes. Compiled grammars are kept by content; each
answer gets a copy that begins anew. A place in a schema that is at fault is found in ``schema_faults``.
"""

import json
import threading
from collections import OrderedDict
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from promptcache_engine.errors import GrammarError
from promptcache_engine.grammar_endings import find_endless
from promptcache_engine.grammars import Grammar
from promptcache_engine.schema_faults import locate
from promptcache_engine.schema_limits import find_limit, inline_schemas
from promptcache_engine.tokenizer import Tokenizer

KEPT_GRAMMARS = 64
"""Compiled grammars kept for the next request that brings the same."""

_STUCK = "NoExtensionBias"
"""The library's word for a text that no token can follow."""
_NOTHING_FOLLOWS = "nothing can follow the text that it admitted so far"

# As Python's json module writes by default and chat templates read back: a replayed answer keeps its tokens.
_JSON_OPTIONS = {"item_separator": ", ", "key_separator": ": ", "whitespace_flexible": False}


class Constraint:
    """The course of one answer through its grammar.

    Args:
        matcher: llguidance's matcher, at its start.
    """

    def __init__(self, matcher: Any) -> None:
        self._matcher = matcher

    @property
    def complete(self) -> bool:
        """Whether no further token may come."""
        return bool(self._matcher.is_stopped())

    def allowed(self, vocab_size: int) -> NDArray[np.bool_]:
        """As ``allowed_bits``, as [vocab] of bool."""
        allowed = np.zeros(vocab_size, np.bool_)
        known = np.unpackbits(self.allowed_bits(), bitorder="little")[:vocab_size]
        allowed[: len(known)] = known
        return allowed

    def allowed_bits(self) -> NDArray[np.uint8]:
        """Which tokens may come next, end tokens where the text may end: a bit for each, the lowest first.

        Raises:
            GrammarError: the matcher gave up, for example on a grammar that is too ambiguous.
        """
        bits = np.frombuffer(self._matcher.compute_bitmask(), np.uint8).copy()
        self._check()
        return bits

    def accept(self, token: int) -> None:
        """Take the token that was chosen; raise GrammarError for one that was not allowed."""
        self._matcher.consume_token(token)
        self._check()

    def _check(self) -> None:
        if self._matcher.is_error():
            told = _first_line(self._matcher.get_error())
            raise GrammarError(_NOTHING_FOLLOWS if told == _STUCK else told)


class GrammarCompiler:
    """Makes constraints for one tokenizer; for any thread.

    Args:
        tokenizer: the model's.
        vocab_size: width of the model's logits.
    """

    def __init__(self, tokenizer: Tokenizer, vocab_size: int) -> None:
        self._tokenizer = tokenizer
        self._vocab_size = vocab_size
        self._lock = threading.Lock()
        self._vocabulary_lock = threading.Lock()
        self._vocabulary: Any = None
        self._compiled: OrderedDict[str, Any] = OrderedDict()

    def prepare(self, grammar: Grammar) -> None:
        """Compile a grammar if it is not yet; may take long the first time.

        Raises:
            GrammarError: it cannot be enforced, or llguidance is not installed.
        """
        self._find(grammar)

    def start(self, grammar: Grammar) -> Constraint:
        """A constraint at the beginning of an answer; raises as ``prepare``."""
        found = self._find(grammar)
        with self._lock:
            return Constraint(found.deep_copy())

    def _find(self, grammar: Grammar) -> Any:
        """The compiled grammar; nobody waits for another's to be compiled."""
        key = grammar.key
        with self._lock:
            found = self._compiled.get(key)
            if found is not None:
                self._compiled.move_to_end(key)
                return found
        made = self._compile(grammar)
        with self._lock:
            self._compiled[key] = made
            if len(self._compiled) > KEPT_GRAMMARS:
                self._compiled.popitem(last=False)
        return made

    def _compile(self, grammar: Grammar) -> Any:
        library = _library()
        _check_limits(grammar)
        with self._vocabulary_lock:
            if self._vocabulary is None:
                self._vocabulary = library.LLTokenizer(
                    _Vocabulary(self._tokenizer),
                    n_vocab=max(self._vocab_size, self._tokenizer.vocab_size),
                    eos_token=list(self._tokenizer.eos_token_ids) or None,
                )
        matcher, fault = self._try(library, grammar)
        if fault is None and grammar.kind == "lark" and (rule := find_endless(grammar.source)) is not None:
            fault = f"the rule '{rule}' is never complete: whichever way it is written, it holds itself"
        if fault is None:
            return matcher
        place = ""
        if grammar.kind == "json_schema":
            place, fault = locate(
                json.loads(grammar.source), fault, lambda part: self._fault_of(library, part)
            )
        raise GrammarError(fault, place)

    def _fault_of(self, library: Any, schema: object) -> str | None:
        return self._try(library, Grammar("json_schema", json.dumps(schema)))[1]

    def _try(self, library: Any, grammar: Grammar) -> tuple[Any, str | None]:
        """The matcher, and what is wrong with the grammar."""
        try:
            matcher = library.LLMatcher(self._vocabulary, _source(library, grammar), log_level=0)
        except ValueError as error:
            return None, _first_line(str(error))
        if matcher.is_error():
            return None, _first_line(matcher.get_error())
        # What leads to itself before any character is found only when the first token is asked for.
        trial = matcher.deep_copy()
        trial.compute_bitmask()
        if trial.is_error():
            return None, f"no answer can begin ({_first_line(trial.get_error())})"
        return matcher, None


def _check_limits(grammar: Grammar) -> None:
    """Refuse what the compiler must not see."""
    is_schema = grammar.kind == "json_schema"
    for schema in [json.loads(grammar.source)] if is_schema else inline_schemas(grammar.source):
        if (limit := find_limit(schema)) is not None:
            raise GrammarError(limit[1], limit[0] if is_schema else "")


def _source(library: Any, grammar: Grammar) -> str:
    match grammar.kind:
        case "json_schema":
            made = library.LLMatcher.grammar_from_json_schema(grammar.source, overrides=_JSON_OPTIONS)
        case "regex":
            made = library.LLMatcher.grammar_from_regex(grammar.source)
        case "lark":
            made = library.LLMatcher.grammar_from_lark(grammar.source)
    return str(made)


def _library() -> Any:
    try:
        return import_module("llguidance")
    except ImportError as error:
        raise GrammarError(
            "the package llguidance is not installed", remedy="pip install 'promptcache[engine]'"
        ) from error


def _first_line(text: str) -> str:
    """The library's word for it: without the listing of the grammar that follows."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    told = next((line for line in lines if line.startswith("error:")), lines[0] if lines else "unknown fault")
    return told.removeprefix("error:").strip().rstrip(".")[:300]


class _Vocabulary:
    """The tokenizer as llguidance wants it: bytes of every token, control tokens by name and apart."""

    is_tokenizer_wrapper = True

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        size = tokenizer.vocab_size
        self.eos_token_id = next(iter(tokenizer.eos_token_ids), 0)
        self.bos_token_id = tokenizer.bos_token_id
        self.special_token_ids = [token for token in range(size) if not tokenizer.token_bytes(token)]
        self.tokens = [
            tokenizer.token_bytes(token) or tokenizer.token_text(token).encode() for token in range(size)
        ]

    def __call__(self, text: bytes | str) -> list[int]:
        """The tokens of a text, which the library asks for where a grammar leaves no choice."""
        return self._tokenizer.encode(text if isinstance(text, str) else text.decode("utf-8", "replace"))
