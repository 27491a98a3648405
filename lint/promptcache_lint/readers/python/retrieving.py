"""What is found for the turn's question: by a store of vectors, by a memory, by a function that searches.

A function of the program that looks something up for a question gives what belongs to that question, whatever
it does in between; so its name and its argument decide, and its text need not be followed.
"""

from __future__ import annotations

import ast
import re
from dataclasses import replace
from typing import TYPE_CHECKING

from promptcache_lint.prompts import Trait
from promptcache_lint.readers.python.values import Map, Seq, Str, Thing, Traits, traits_of, with_traits

if TYPE_CHECKING:
    from promptcache_lint.places import Place
    from promptcache_lint.readers.python.calls import Call
    from promptcache_lint.readers.python.frame import Frame
    from promptcache_lint.readers.python.interpreter import Interpreter
    from promptcache_lint.readers.python.program import Function
    from promptcache_lint.readers.python.values import Value

__all__ = ["as_found", "asks_store", "found_for"]

_RECALLING = re.compile(
    r"(?:.*[._])?(?:memory|memories|mem0|retriever|vector_?(?:store|db|index)|knowledge(?:_?base)?|kb|rag)"
    r"\.a?(?:search|retrieve|recall|invoke|query|lookup)(?:_memories)?",
    re.IGNORECASE,
)
_LOOKING_UP = re.compile(r"(?:.*[._])?(?:index|store)\.a?(?:search|retrieve|query|lookup)", re.IGNORECASE)
_FINDING = re.compile(
    r"_?a?(?:similarity_search\w*|(?:semantic|vector|hybrid|keyword|web)_search|search(?:_(?:docs|documents|passages"
    r"|chunks|kb|index|knowledge(?:_base)?|notes|memory|memories))?|retrieve(?:_\w+)?|recall(?:_\w+)?"
    r"|(?:find|get|fetch|load)_(?:relevant|similar|matching|related|nearest)(?:_\w+)?"
    r"|(?:get|fetch)_(?:context|passages|excerpts|snippets))"
)
"""Functions that find something for a question, by their names."""
_TURN = "PC401"
_FOUND = "PC402"
_OF_VECTORS = {"query_texts", "query_embeddings", "query_vector", "near_vector"}
"""What a store of vectors is asked with."""
_ASKS = (".query", ".search", ".search_batch", ".near_vector")
_FINDS = re.compile(
    r"(?:.*\.)?(?:query_points(?:_groups)?|similarity_search_by_vector\w*|near_(?:text|vector))"
)
"""Methods of stores of vectors that do nothing else."""


def asks_store(machine: Interpreter, made: Call) -> bool:
    """Whether a call asks a store of vectors or a memory for what belongs to a question."""
    if _FINDS.fullmatch(made.path) or (made.path.endswith(_ASKS) and _OF_VECTORS & made.named.keys()):
        return True
    if made.path.endswith(".query") and {"vector", "top_k"} <= made.named.keys():
        return True
    asked = bool(made.arguments or made.named.keys() & {"query", "q", "question"})
    if asked and (_LOOKING_UP.fullmatch(made.path) or _FINDING.fullmatch(made.path)):
        return _is_asked(machine, made)
    return asked and _RECALLING.fullmatch(made.path) is not None


def found_for(machine: Interpreter, made: Call, function: Function, value: Value, frame: Frame) -> Value:
    """What a function of the program gives back; what it has found for a question is new with each."""
    if _FINDING.fullmatch(function.name) is None or not _is_asked(machine, made):
        return value
    return _marked(value, as_found(machine, made, frame, frame.module.place(made.node)))


def _marked(value: Value, found: Thing) -> Value:
    """What is found, in the shape in which it is given: beside it may stand how long that took."""
    match value:
        case Str():
            return with_traits(value, found.traits)
        case Seq(kind="tuple"):
            return replace(value, items=tuple(_marked(each, found) for each in value.items))
        case Map() if value.pairs and all(isinstance(key, str) for key, _ in value.pairs):
            return replace(value, pairs=tuple((key, _marked(each, found)) for key, each in value.pairs))
    traits = (trait for trait in traits_of(value) if not trait.mark.order and trait.mark.code != _FOUND)
    return Thing(found.label, (*found.traits, *traits))


def as_found(machine: Interpreter, made: Call, frame: Frame, place: Place) -> Thing:
    """What a call finds for a question."""
    mark = machine.vocabulary.mark(_FOUND)
    label = frame.module.label(made.node)
    traits: Traits = (Trait(mark, place, label),) if mark is not None else ()
    return Thing(label, traits)


def _is_asked(machine: Interpreter, made: Call) -> bool:
    given = (*made.arguments, *made.named.values())
    return any(_is_question(machine, *each, made.path) for each in given)


def _is_question(machine: Interpreter, value: Value, node: ast.expr, path: str) -> bool:
    """Whether an argument is what was asked in this turn; the ``query`` of a ``query`` may be one of SQL."""
    if any(trait.mark.code == _TURN for trait in traits_of(value)):
        return True
    name = node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""
    mark = machine.vocabulary.name(name) if name else None
    return mark is not None and mark.code == _TURN and not (name == "query" and path.endswith("query"))
