"""Many requests with one long prefix that are started at once, before the first of them has been answered.

The prefix must be seen to be shared and to be kept: marked as a prefix, or a text of the module that is long
enough. Nothing is said where one request goes ahead, or only so many run at a time.
"""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from promptcache_lint.findings import Severity
from promptcache_lint.prompts import Practice
from promptcache_lint.readers.python.conversations.facts import called_name, constant, is_model_call, spell
from promptcache_lint.readers.python.walking import nodes_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from promptcache_lint.readers.python.program import Function, Module

__all__ = ["fan_outs"]

_STARTS = ("gather(", "create_task(", "start_soon(", ".map(", "submit(")
_STARTED = re.compile(
    r"(?:.*\.)?(?:gather|create_task|start_soon)|(?:.*\.)?(?:pool|executor|ex|tpe)\w*\.(?:map|submit)"
)
_MARKS = ("cache_control", "cachePoint", "cache_point", "prompt_cache_breakpoint")
_HEADS = {"system", "tools", "instructions", "messages", "input"}
_BOUNDED = re.compile(r"[Ss]emaphore|\bsem\b|[Ll]imiter|rate_?limit|throttl|max_workers=1\b")
_PRIMES = re.compile(r"(?:warm|prime|prefill|fan_?out)\w*\(", re.IGNORECASE)
_ENOUGH = 4096
"""So many characters are about the 1,024 tokens below which nothing is kept."""
_FEW = 2
_DEEPEST = 2
_SAYS = (
    "`{}` starts these requests at once: none can read the shared prefix before the first answer begins, "
    "so that each computes it."
)


def fan_outs(module: Module) -> Iterator[Practice]:
    """PC608, at the calls that start the requests."""
    text = module.source.text
    starts = [start for start in _STARTS if start in text]
    if not starts:
        return
    methods = [method for cls in module.classes.values() for method in cls.methods.values()]
    for function in [*module.functions.values(), *methods]:
        if not any(start in function.text for start in starts) or _BOUNDED.search(function.text):
            continue
        for node in function.kinds.get(ast.Call, ()):
            assert isinstance(node, ast.Call)
            if not _STARTED.fullmatch(called_name(node)):
                continue
            asked = [found for name in _each(node, function) if (found := _asking(name, module, _DEEPEST))]
            if asked and _shares_a_prefix(*asked[0], module):
                if _PRIMES.search(text):
                    return
                says = _SAYS.format(called_name(node))
                yield Practice("PC608", Severity.WARNING, module.place(node.func), says)
                break


def _each(node: ast.Call, function: Function) -> Iterator[str]:
    """The functions that are started once for each item, where none of them was asked by itself before."""
    if called_name(node).endswith((".map", ".submit")):
        iterated = node.args[1:2] if called_name(node).endswith(".map") else []
        if node.args and not any(_goes_ahead(each) for each in iterated):
            yield from _unprimed(spell(node.args[0]), node, function)
        return
    given = [argument.value if isinstance(argument, ast.Starred) else argument for argument in node.args]
    names = {spell(each) for each in given} - {""}
    given += [
        other.value
        for other in function.kinds.get(ast.Assign, ())
        if isinstance(other, ast.Assign) and names & set(map(spell, other.targets))
    ]
    for each in given:
        for made in ast.walk(each):
            match made:
                case ast.ListComp(elt=ast.Call() as call) | ast.GeneratorExp(elt=ast.Call() as call):
                    if not _goes_ahead(made.generators[0].iter):
                        tasks = [argument for argument in call.args if isinstance(argument, ast.Call)]
                        for inner in [call, *tasks]:
                            yield from _unprimed(spell(inner.func), node, function)
                case ast.Call(func=ast.Name(id="map"), args=[each_one, items]) if not _goes_ahead(items):
                    yield from _unprimed(spell(each_one), node, function)
    for loop in function.kinds.get(ast.For, ()):
        if not isinstance(loop, ast.For) or _goes_ahead(loop.iter):
            continue
        around = loop.lineno <= node.lineno <= (loop.end_lineno or loop.lineno)
        if around and any(inner is node for inner in ast.walk(loop)):
            for each in given[:1]:
                yield from _unprimed(spell(each.func if isinstance(each, ast.Call) else each), node, function)


def _goes_ahead(iterable: ast.expr) -> bool:
    """Whether only the rest of the items is gone through, or there are next to none."""
    match iterable:
        case ast.Subscript(slice=ast.Slice(lower=ast.expr())):
            return True
        case ast.List(elts=elements) | ast.Tuple(elts=elements):
            return len(elements) <= _FEW
        case ast.Call(func=ast.Name(id="range"), args=[count]):
            return isinstance(number := constant(count), int) and number <= _FEW
        case _:
            return False


def _unprimed(name: str, start: ast.Call, function: Function) -> Iterator[str]:
    """The name, unless a request was made and awaited in front of the others."""
    ahead = any(
        isinstance(node, ast.Await)
        and isinstance(node.value, ast.Call)
        and spell(node.value.func) == name
        and node.lineno < start.lineno
        for node in function.kinds.get(ast.Await, ())
    )
    if name and not ahead:
        yield name


def _asking(name: str, module: Module, room: int) -> tuple[ast.Call, Function] | None:
    """The request that a function of the module makes, itself or by another one."""
    last = name.rpartition(".")[2]
    found = [module.functions.get(last)] if "." not in name else []
    found += [cls.methods.get(last) for cls in module.classes.values()] if name.startswith("self.") else []
    for function in filter(None, found):
        if _BOUNDED.search(function.text):
            return None
        calls = [node for node in function.kinds.get(ast.Call, ()) if isinstance(node, ast.Call)]
        for call in calls:
            if is_model_call(call) and any(keyword.arg in _HEADS for keyword in call.keywords):
                return call, function
        for call in calls if room > 1 else ():
            inner = _asking(called_name(call), module, room - 1)
            if inner is not None:
                return inner
    return None


def _shares_a_prefix(call: ast.Call, function: Function, module: Module) -> bool:
    """Whether all these requests begin with the same text: a long one, or a marked one of unknown length."""
    arguments = (node for node in function.kinds.get(ast.arg, ()) if isinstance(node, ast.arg))
    own = {node.arg for node in arguments} - {"self", "cls"}
    for keyword in call.keywords:
        if keyword.arg not in _HEADS:
            continue
        head = _head(keyword.value)
        if head is None or own & {spell(inner) for inner in ast.walk(head) if isinstance(inner, ast.Name)}:
            continue
        long, known = _length(head, module)
        written = ast.unparse(call) + "".join(ast.unparse(value) for value in _constants(head, module))
        if long >= _ENOUGH or (not known and any(mark in written for mark in _MARKS)):
            return True
    return False


def _head(value: ast.expr) -> ast.expr | None:
    """What comes first: of a list of messages the first one, else the whole."""
    if isinstance(value, ast.List):
        return value.elts[0] if len(value.elts) > 1 or not _is_user(value.elts) else None
    return value if not isinstance(value, ast.Call) else None


def _is_user(elements: list[ast.expr]) -> bool:
    first = elements[0] if elements else None
    return first is None or (isinstance(first, ast.Dict) and "user" in map(constant, first.values))


def _length(head: ast.expr, module: Module) -> tuple[int, bool]:
    """The characters of the texts in a prefix, and whether all of it is seen."""
    known, size = True, 0
    for value in [head, *_constants(head, module)]:
        for node in ast.walk(value):
            text = constant(node)
            size += len(text) if isinstance(text, str) else 0
            known = known and not isinstance(node, ast.Call | ast.Attribute | ast.JoinedStr)
    names = {spell(node) for node in ast.walk(head) if isinstance(node, ast.Name)}
    return size, known and len(names) <= len(_constants(head, module))


def _constants(head: ast.expr, module: Module) -> list[ast.expr]:
    """What the module gives the names in a prefix, and the names in that."""
    found: list[ast.expr] = []
    names = {spell(node) for node in nodes_of(head) if isinstance(node, ast.Name)}
    for _ in range(2):
        values = [
            statement.value
            for statement in module.tree.body
            if isinstance(statement, ast.Assign) and names & set(map(spell, statement.targets))
        ]
        found += [value for value in values if value not in found]
        names = {spell(node) for value in values for node in ast.walk(value) if isinstance(node, ast.Name)}
    return found
