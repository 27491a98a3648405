"""JSON written by a program: whether its keys may come in another order next time.

What becomes of the text afterwards is left to the interpreter.
"""

from __future__ import annotations

import ast
import re
from dataclasses import replace
from typing import TYPE_CHECKING

from promptcache_lint.findings import Severity
from promptcache_lint.prompts import Trait
from promptcache_lint.readers.python import strings
from promptcache_lint.readers.python.values import Map, Seq, Thing, traits_of

if TYPE_CHECKING:
    from promptcache_lint.places import Place
    from promptcache_lint.readers.python.calls import Call
    from promptcache_lint.readers.python.frame import Frame
    from promptcache_lint.readers.python.interpreter import Interpreter
    from promptcache_lint.readers.python.values import Value

__all__ = ["dumped"]

_WRITTEN_IN_CODE = re.compile(
    r"schema|propert|field|model_description|signature|param|(?:^|[._])tools?(?:_?(?:info|def\w*|list|spec\w*))?(?:$|\.)"
    r"|function|example|demo|template|definition|manifest|grammar|arguments|(?:^|[._])args$|rubric|criteria|labels"
    r"|(?:^|[._])(?:default|expected|expectation)$|contract|columns?$|few_?shots?",
    re.IGNORECASE,
)
_OF_THE_TURN = re.compile(
    r"(?:^|[._])(?:batch|items?|records?|rows?|samples?|entry|entries|pairs?|conversations?|messages|history"
    r"|transcript|results?|outputs?|responses?|predictions?|findings|observations?|payload|events?|request|body"
    r"|feedback|side_info|trajector(?:y|ies)|traces?|snapshots?)$",
    re.IGNORECASE,
)
"""Data that a prompt is asked about: new in each request, whatever the order of its keys."""
_KEYLESS = re.compile(
    r"(?:Optional\[)?(?:str|int|float|bool|(?:list|List|Sequence|Iterable|tuple|Tuple|set|Set)"
    r"\[(?:str|int|float)(?:, \.\.\.)?\])\]?(?: \| None)?"
)
_TEXTS = re.compile(
    r"(?:^|[._])(?:questions?|query|queries|answer|text|texts|content|message|names?|titles?|ids?|urls?|files?|paths?"
    r"|filenames|strings?|lines|words|tags|labels?|statements|keywords|phrases|sentences)$",
    re.IGNORECASE,
)
_DETERMINISTIC = re.compile(
    r"(?:.*\.)?(?:model_dump\w*|\w*schema\w*|asdict|to_dict|as_dict|dict|__dict__|load|loads|safe_load|vars)"
)


def dumped(machine: Interpreter, made: Call, frame: Frame, place: Place) -> Value:
    """The text that ``json.dumps`` makes of its argument, marked where its keys may change their order."""
    value = made.argument(0, "obj") or Thing()
    label = frame.module.label(made.node)
    if _sorts_keys(made):
        kept = tuple(t for t in traits_of(value) if t.mark.code != "PC201")
        if isinstance(value, Map):
            kept = tuple(t for t in kept if t not in value.traits or not t.mark.order)
        return Thing(label, kept, settled=True)
    traits = traits_of(value)
    mark = machine.vocabulary.call(made.dotted)
    ordered = any(trait.mark.order for trait in traits) or not _of_unknown_order(value, made)
    if mark is None or ordered or _has_no_keys(made, frame):
        return Thing(label, traits, settled=True)
    named = strings.naming(made.arguments[0][1]) if made.arguments else ""
    if _WRITTEN_IN_CODE.search(named) or _OF_THE_TURN.search(named) or _is_cut(made):
        mark = replace(mark, severity=Severity.INFO)  # in the order of the source, or new in any case
    return Thing(label, (*traits, Trait(mark, place, label)))


def _is_cut(made: Call) -> bool:
    """Whether only the first few of a list are written: the best that were found, and so the turn's own."""
    given = made.arguments[0][1] if made.arguments else None
    return isinstance(given, ast.Subscript) and isinstance(given.slice, ast.Slice)


def _has_no_keys(made: Call, frame: Frame) -> bool:
    """Whether what is dumped is a text or a list of texts, by its annotation or its name."""
    node = made.arguments[0][1] if made.arguments else None
    if node is None:
        return False
    if isinstance(node, ast.Name) and frame.function is not None:
        given = frame.function.node.args
        parameters = [*given.posonlyargs, *given.args, *given.kwonlyargs]
        said = next((p.annotation for p in parameters if p.arg == node.id and p.annotation), None)
        if said is not None and _KEYLESS.fullmatch(ast.unparse(said)):
            return True
    return _TEXTS.search(strings.naming(node)) is not None


def _sorts_keys(made: Call) -> bool:
    for name, (value, expression) in made.named.items():
        if name == "sort_keys":
            return not (isinstance(value, Thing) and value.constant in {"False", "None"})
        if name == "option" and "OPT_SORT_KEYS" in ast.unparse(expression):
            return True
    return any(not isinstance(value, Map) for value in made.spread)


def _of_unknown_order(value: Value, made: Call) -> bool:
    """Whether the keys in ``value`` may come in another order next time, as far as the source shows."""
    given = made.arguments[0][1] if made.arguments else None
    if isinstance(given, ast.ListComp | ast.GeneratorExp) and isinstance(given.elt, ast.Call):
        return _DETERMINISTIC.fullmatch(ast.unparse(given.elt.func)) is None
    match value:
        case Thing(constant=None, settled=False):
            expression = made.arguments[0][1] if made.arguments else None
            text = ast.unparse(expression.func) if isinstance(expression, ast.Call) else ""
            return not (text and _DETERMINISTIC.fullmatch(text)) and not _DETERMINISTIC.fullmatch(
                value.type or " "
            )
        case Seq():
            return any(_of_unknown_order(item, made) for item in value.items)
        case Map():
            return any(
                _of_unknown_order(item, made) and isinstance(item, Seq | Map) for _, item in value.pairs
            )
        case _:
            return False
