"""Running calls: definitions of the program, known functions and methods, sources, and everything else."""

from __future__ import annotations

import ast
import re
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING

from promptcache_lint.prompts import Trait
from promptcache_lint.quick import quick_value
from promptcache_lint.readers.once import sets_up
from promptcache_lint.readers.placeholders import date_only
from promptcache_lint.readers.python import methods
from promptcache_lint.readers.python.callees import path_of
from promptcache_lint.readers.python.known import known_function
from promptcache_lint.readers.python.objects import kept_by_object
from promptcache_lint.readers.python.program import Class, Function
from promptcache_lint.readers.python.prompt_templates import method_of_chain
from promptcache_lint.readers.python.querying import queried
from promptcache_lint.readers.python.retrieving import found_for
from promptcache_lint.readers.python.values import (
    Instance,
    Map,
    Ref,
    Seq,
    Str,
    Thing,
    Traits,
    map_traits,
    traits_of,
    with_traits,
)

if TYPE_CHECKING:
    from promptcache_lint.readers.python.frame import Frame
    from promptcache_lint.readers.python.interpreter import Interpreter
    from promptcache_lint.readers.python.values import Value

__all__ = ["Call", "call"]

_PASSING = re.compile(
    r"(?:.*\.)?(?:str|repr|ascii|dedent|indent|fill|shorten|wrap|escape|unescape|fromisoformat|fromtimestamp"
    r"|utcfromtimestamp|naturaltime|humanize|strftime|ctime|asctime|isoformat|localize|astimezone|to_thread"
    r"|b64encode|hexdigest|sha256|md5|sha1|encode|decode|quote|Path|PurePath|basename|dirname|join|relpath"
    r"|read_text|read|open|load|loads|safe_load|dumps|dump|format\w*|render\w*|fmt\w*|as_\w+|to_\w+|next|iter"
    r"|reversed|enumerate|zip|map|filter|chain|islice|round|int|float|abs|print_tree|datetime|date|timedelta"
    r"|int|pformat|tuple|list|deque|copy|deepcopy|HTML|Markup|prompt\w*|get_prompt|build_\w+|make_\w+)",
    re.IGNORECASE,
)

_ASKING = frozenset({"len", "bool", "isinstance", "hasattr", "callable", "any", "all", "range", "type"})
"""Functions of the language whose result keeps nothing of what they are given."""
_LOGGING = frozenset({"debug", "info", "warning", "warn", "error", "exception", "critical"})
_OF_LOGS = frozenset({"exc_info", "stack_info", "stacklevel", "extra"})


@quick_value
class Call:
    """A call with its arguments evaluated; ``named`` holds keyword arguments with their expressions.

    ``dotted`` is the name the rules know; ``path`` the attributes as written, for what has no such name.
    """

    node: ast.Call
    dotted: str
    path: str
    callee: Value
    arguments: tuple[tuple[Value, ast.expr], ...]
    named: dict[str, tuple[Value, ast.expr]]
    spread: tuple[Value, ...] = ()

    @property
    def values(self) -> list[Value]:
        """The positional arguments."""
        return [value for value, _ in self.arguments]

    def values_given(self) -> list[Value]:
        """All arguments, positional and named."""
        return [*self.values, *(value for value, _ in self.named.values()), *self.spread]

    def argument(self, index: int, name: str) -> Value | None:
        """An argument by position or name."""
        if name in self.named:
            return self.named[name][0]
        return self.arguments[index][0] if index < len(self.arguments) else None


def call(machine: Interpreter, node: ast.Call, frame: Frame, *, taken: bool = True) -> Value:
    """The value of a call; where nobody takes it, functions that leave no trace are not run."""
    receiver = None
    if isinstance(node.func, ast.Attribute):
        receiver = machine.meant(machine.evaluate(node.func.value, frame), frame)
    callee = _callee(machine, node, receiver, frame)
    dotted = _dotted(callee, receiver, node)
    if dotted in _ASKING or (not taken and _only_logs(node, receiver)):
        for given in (*node.args, *(keyword.value for keyword in node.keywords)):
            machine.run_for_effect(given, frame)
        return machine.counters.length(node, frame) if taken else Thing()
    made = _evaluate_arguments(machine, node, callee, dotted, frame)
    machine.sinks.called(made, frame)
    if not taken and isinstance(callee, Ref) and not _leaves_trace(machine, made, callee, frame):
        return Thing()
    return _run(machine, made, receiver, frame)


def _only_logs(node: ast.Call, receiver: Value | None) -> bool:
    """Whether a call that nobody takes the result of tells a log, or the terminal, and nobody else."""
    match node.func:
        case ast.Name(id="print"):
            return all(keyword.arg != "file" for keyword in node.keywords)
        case ast.Attribute(attr=name) if name in _LOGGING:
            foreign = isinstance(receiver, Thing) or (isinstance(receiver, Ref) and receiver.target is None)
            return foreign and all(keyword.arg in _OF_LOGS for keyword in node.keywords)
        case _:
            return False


def _leaves_trace(machine: Interpreter, made: Call, ref: Ref, frame: Frame) -> bool:
    if not isinstance(ref.target, Function) or frame.find_nested(ref.target.name) is ref.target:
        return True
    given = [*ref.given, *made.values_given(), *(value for _, value in ref.named)]
    return machine.traces.matters(ref.target, given, ref.bound, machine.running)


def _callee(machine: Interpreter, node: ast.Call, receiver: Value | None, frame: Frame) -> Value:
    if receiver is None or isinstance(receiver, Ref | Instance):
        callee = machine.evaluate(node.func, frame)
        if isinstance(callee, Ref) and callee.target is None and isinstance(node.func, ast.Name):
            return machine.defined(callee, frame)
        return callee
    return Thing()


def _dotted(callee: Value, receiver: Value | None, node: ast.Call) -> str:
    """The name by which rules know what is called: through imports, or by the type of the receiver."""
    if isinstance(callee, Ref) and callee.target is None:
        return callee.dotted
    if isinstance(node.func, ast.Attribute):
        match receiver:
            case Thing(type=str() as kind) if kind:
                return f"{kind}.{node.func.attr}"
            case Str():
                return f"str.{node.func.attr}"
            case Seq(kind=kind):
                return f"{kind}.{node.func.attr}"
            case Map():
                return f"dict.{node.func.attr}"
        return f"?.{node.func.attr}"
    return callee.dotted if isinstance(callee, Ref) else ""


def _evaluate_arguments(
    machine: Interpreter, node: ast.Call, callee: Value, dotted: str, frame: Frame
) -> Call:
    arguments: list[tuple[Value, ast.expr]] = []
    for argument in node.args:
        value = machine.evaluate(argument, frame)
        if isinstance(argument, ast.Starred) and isinstance(value, Seq):
            arguments += [(item, argument) for item in value.items]
        else:
            arguments.append((value, argument))
    named: dict[str, tuple[Value, ast.expr]] = {}
    spread: list[Value] = []
    for keyword in node.keywords:
        value = machine.evaluate(keyword.value, frame)
        if keyword.arg is not None:
            named[keyword.arg] = (value, keyword.value)
        elif isinstance(value, Map):
            spread.append(value)
            named |= {key: (inner, keyword.value) for key, inner in value.pairs if key is not None}
        else:
            spread.append(value)
    path = dotted if dotted and not dotted.startswith("?") else path_of(node.func)
    return Call(node, dotted, path, callee, tuple(arguments), named, tuple(spread))


def _run(machine: Interpreter, made: Call, receiver: Value | None, frame: Frame) -> Value:
    place = frame.module.place(made.node)
    match made.callee:
        case Ref(target=Function() as function) as ref:
            return found_for(machine, made, function, _invoke(machine, made, ref, function, frame), frame)
        case Ref(target=Class() as cls):
            named = {name: value for name, (value, _) in made.named.items()}
            environment = machine.jinja.derived(cls, made)
            return environment or machine.objects.instantiate(cls, made.values, named, frame, place)
    if isinstance(receiver, Ref) and isinstance(made.node.func, ast.Attribute):
        name = made.node.func.attr
        filled = machine.jinja.method(made, receiver, name, frame) or method_of_chain(
            machine, made, receiver, name, frame
        )
        if filled is not None:
            return filled
    known = machine.jinja.made(made, frame) or known_function(machine, made, frame, place)
    if known is not None:
        return known
    rows = queried(machine, made, receiver, frame, place)
    if rows is not None:
        return rows
    mark = machine.vocabulary.call(made.dotted) if made.dotted else None
    if mark is not None:
        return _source(machine, made, Trait(mark, place, frame.module.label(made.node)), frame)
    if receiver is not None:
        result = methods.method(machine, made, receiver, frame)
        if result is not None:
            return result
    return _unknown(made, frame)


def _invoke(machine: Interpreter, made: Call, ref: Ref, function: Function, frame: Frame) -> Value:
    place = frame.module.place(made.node)
    named = dict(ref.named) | {name: value for name, (value, _) in made.named.items()}
    nested = frame.find_nested(function.name) is function or isinstance(function.node, ast.Lambda)
    outer = ref.closure or (frame if nested else None)
    value, left = machine.invoke(
        function, [*ref.given, *made.values], named, frame, place, bound=ref.bound, outer=outer
    )
    if left is not None:
        _write_back(machine, made, ref, left, frame)
    return value


def _write_back(machine: Interpreter, made: Call, ref: Ref, left: Frame, frame: Frame) -> None:
    """Changes a function makes to the lists, dicts and objects it is given are seen by its caller."""
    function: Function = ref.target
    parameters = [parameter.arg for parameter in (*function.node.args.posonlyargs, *function.node.args.args)]
    if ref.bound is not None and parameters:
        owner = machine.spelling(made.node.func)[: -len(function.name) - 1]
        prefix = parameters[0] + "."
        if owner:
            once = sets_up(function.name)
            for name, value in left.names.items():
                if name.startswith(prefix):
                    stored = map_traits(value, kept_by_object) if once else value
                    frame.store(f"{owner}.{name[len(prefix) :]}", stored)
        parameters = parameters[1:]
    pairs = [*zip(parameters[len(ref.given) :], made.arguments, strict=False)]
    pairs += [(name, pair) for name, pair in made.named.items() if name in parameters]
    for name, (before, expression) in pairs:
        after = left.names.get(name)
        spelling = machine.spelling(expression)
        same_kind = isinstance(before, Seq | Map) and type(after) is type(before)
        if after is not None and same_kind and after != before and spelling in frame.names:
            frame.set(spelling, after)


def _source(machine: Interpreter, made: Call, trait: Trait, frame: Frame) -> Value:
    """A call that yields a volatile value."""
    if made.dotted.startswith("random.") and frame.find("random.seed()") is not None:
        return Thing(trait.label, settled=True)
    if made.dotted == "time.strftime" and len(made.arguments) > 1:
        traits: Traits = tuple(t for value in made.values[1:] for t in traits_of(value))
    else:
        traits = (trait,)
    pattern = _literal(made.values[0]) if made.dotted == "time.strftime" and made.arguments else ""
    if pattern:
        marks = ((t, date_only(t.mark, pattern, machine.vocabulary)) for t in traits)
        traits = tuple(replace(t, mark=mark) for t, mark in marks if mark is not None)
    if trait.mark.bulk and made.arguments and isinstance(made.values[0], Seq) and trait.mark.code == "PC103":
        return with_traits(made.values[0], traits)
    return Thing(trait.label, traits, made.dotted)


def _literal(value: Value) -> str:
    if isinstance(value, Str) and len(value.parts) == 1 and hasattr(value.parts[0], "text"):
        return str(value.parts[0].text)
    return ""


@lru_cache(maxsize=32_768)
def _passes_on(name: str) -> bool:
    """Whether a function of this name gives back what it is given, in another form."""
    return _PASSING.fullmatch(name) is not None


def _unknown(made: Call, frame: Frame) -> Value:
    """A function nobody knows: formatting functions pass on what they are given, others do not."""
    label = frame.module.label(made.node)
    traits: Traits = ()
    name = made.dotted.removeprefix("?.")
    if _passes_on(name):
        traits = tuple(dict.fromkeys(t for value in made.values for t in traits_of(value)))
    return Thing(label, traits, made.dotted if not made.dotted.startswith("?") else "")
