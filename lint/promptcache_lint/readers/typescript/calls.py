"""Running calls: functions of the program, known functions and methods, sources, and everything else."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from promptcache_lint.findings import Severity
from promptcache_lint.prompts import Trait
from promptcache_lint.readers.python.values import Instance, Map, Ref, Seq, Str, Thing, traits_of
from promptcache_lint.readers.typescript import expressions, known, members, methods
from promptcache_lint.readers.typescript.declared import declared_value
from promptcache_lint.readers.typescript.module import FUNCTIONS, Class, Closure
from promptcache_lint.readers.typescript.querying import queried, queried_by_tag
from promptcache_lint.readers.typescript.signs import age_mark, call_mark, normal

if TYPE_CHECKING:
    from tree_sitter import Node

    from promptcache_lint.places import Place
    from promptcache_lint.readers.python.values import Value
    from promptcache_lint.readers.typescript.frame import Frame
    from promptcache_lint.readers.typescript.machine import Machine

__all__ = ["Call", "call", "construct"]

_SAME_TEXT = re.compile(
    r"(?:.*\.)?(?:dedent|outdent|stripIndents?|trim\w*|indent\w*|truncate\w*|normalize\w*|clean\w*|oneLine"
    r"|format(?:Prompt|Text)?|compact|raw|limit\w*|clip\w*|sanitize\w*|interpolate)",
    re.IGNORECASE,
)
_PASSING = re.compile(
    r"(?:.*\.)?(?:format\w*|to[A-Z]\w*|stringify\w*|safeStringify|truncate\w*|escape\w*|encode\w*|capitalize"
    r"|wrap\w*|render\w*|fill\w*|build\w*|make\w*|serialize\w*|dump|compact|concat|merge\w*|prompt\w*|String"
    r"|add|sub|set\w*|tz|utc|local|startOf\w*|endOf\w*|plus|minus|parse\w*|from[A-Z]\w*|slugify|sprintf|inspect)"
)
_WRAPPERS = re.compile(
    r"(?:.*\.)?(?:useCallback|(?:unstable_)?cache\w*|memo\w*|pMemoize|once|traceable|observe|wrap\w*|with[A-Z]\w*)"
)
_UNWRAPPERS = re.compile(r"(?:.*\.)?(?:useMemo|lazy|runInAction|untracked|withSpan|startActiveSpan|trace)")
_BARE = {"parenthesized_expression", "non_null_expression", "as_expression"}


@dataclass(frozen=True, slots=True)
class Call:
    """A call with its arguments evaluated.

    ``dotted`` is the name the tables know, ``path`` the members as written, ``name`` the last of them.
    """

    node: Node
    dotted: str
    path: str
    name: str
    callee: Value
    receiver: Value | None
    target: Node | None
    arguments: tuple[tuple[Value, Node], ...]
    made: bool = False

    @property
    def values(self) -> list[Value]:
        """The arguments' values."""
        return [value for value, _ in self.arguments]

    @property
    def first(self) -> Value | None:
        """The first argument."""
        return self.arguments[0][0] if self.arguments else None

    def option(self, key: str) -> Value | None:
        """The entry ``key`` of the first argument that is an object."""
        given = next((value for value, _ in self.arguments if isinstance(value, Map)), None)
        return given.get(key) if given is not None else None


def call(machine: Machine, node: Node, frame: Frame) -> Value:
    """The value of a call."""
    function = node.child_by_field_name("function")
    given = node.child_by_field_name("arguments")
    if function is None or given is None:
        return Thing()
    while function.type in _BARE and function.named_children:
        function = function.named_children[0]
    if given.type == "template_string":
        machine.evaluate(function, frame)
        written = machine.evaluate(given, frame)
        rows = queried_by_tag(machine, node, written, _path(function, frame), frame)
        return rows if rows is not None else written
    receiver: Value | None = None
    target: Node | None = None
    name = ""
    if function.type == "member_expression":
        target = function.child_by_field_name("object")
        name = members.key_of(function, frame)
        receiver = machine.evaluate(target, frame) if target is not None else None
        callee = _method_value(machine, receiver, name, function, frame)
    elif function.type == "import":
        callee = Ref("require")
    elif function.type in FUNCTIONS:
        callee = expressions.closure(function, "", frame)
    else:
        callee = machine.evaluate(function, frame)
    arguments = _arguments(machine, given, frame)
    dotted = (
        normal(callee.dotted) if isinstance(callee, Ref) and callee.target is None else _typed(receiver, name)
    )
    made = Call(node, dotted, _path(function, frame), name, callee, receiver, target, arguments)
    machine.sinks.called(made, frame)
    return _run(machine, made, frame)


def construct(machine: Machine, node: Node, frame: Frame) -> Value:
    """The value of ``new X(…)``."""
    constructor = node.child_by_field_name("constructor")
    given = node.child_by_field_name("arguments")
    if constructor is None:
        return Thing()
    callee = machine.evaluate(constructor, frame)
    arguments = _arguments(machine, given, frame) if given is not None else ()
    dotted = normal(callee.dotted) if isinstance(callee, Ref) and callee.target is None else ""
    path = _path(constructor, frame)
    made = Call(node, dotted, path, path.rpartition(".")[2], callee, None, None, arguments, made=True)
    machine.sinks.called(made, frame)
    if isinstance(callee, Ref) and isinstance(callee.target, Class):
        return machine.objects.instantiate(callee.target, made.values, frame, frame.module.place(node))
    value = known.constructed(made, frame)
    if value is None:
        value = _source(machine, made, frame)
    return value if value is not None else Thing(frame.module.label(node), type=dotted)


def _method_value(machine: Machine, receiver: Value | None, name: str, node: Node, frame: Frame) -> Value:
    """What a method call calls, where the receiver says so."""
    target = node.child_by_field_name("object")
    if target is not None and target.type == "this":
        stored = frame.this_frame().names.get(f"this.{name}")
        if stored is not None:
            return stored
    if isinstance(receiver, Ref | Instance):
        return members.member_of(machine, receiver, name, node, frame)
    if isinstance(receiver, Map):
        found = receiver.get(name)
        return found if isinstance(found, Ref) else Thing()
    return Thing()


def _typed(receiver: Value | None, name: str) -> str:
    if isinstance(receiver, Thing) and receiver.type:
        return f"{receiver.type}.{name}"
    return f"?.{name}" if name else ""


def _path(node: Node, frame: Frame) -> str:
    """The members that lead to what is called: ``client.messages.create``; ``?`` for what is no name."""
    match node.type:
        case "identifier" | "this":
            return frame.module.text(node)
        case "member_expression":
            target, key = node.child_by_field_name("object"), node.child_by_field_name("property")
            head = _path(target, frame) if target is not None else "?"
            return f"{head}.{frame.module.text(key)}" if key is not None else head
        case "non_null_expression" | "parenthesized_expression" | "await_expression" | "as_expression":
            return _path(node.named_children[0], frame) if node.named_children else "?"
        case _:
            return "?"


def _arguments(machine: Machine, given: Node, frame: Frame) -> tuple[tuple[Value, Node], ...]:
    found: list[tuple[Value, Node]] = []
    for child in given.named_children:
        if child.type == "comment":
            continue
        value = machine.evaluate(child, frame)
        if child.type == "spread_element" and isinstance(value, Seq):
            found += [(item, child) for item in value.items]
        else:
            found.append((value, child))
    return tuple(found[:50])


def _run(machine: Machine, made: Call, frame: Frame) -> Value:
    place = frame.module.place(made.node)
    value = declared_value(made, machine.vocabulary, frame)
    if value is not None:
        return value
    if isinstance(made.callee, Ref):
        value = machine.call(made.callee, made.values, frame, place)
        if value is not None:
            return value
    if age_mark(made.dotted, machine.vocabulary) is not None:
        return _source(machine, made, frame) or Thing()
    value = known.function(machine, made, frame, place) or queried(machine, made, frame)
    if value is not None:
        return value
    if made.receiver is not None and not isinstance(made.callee, Ref):
        value = methods.method(machine, made, made.receiver, frame)
        if value is not None:
            return value
    value = _source(machine, made, frame)
    return value if value is not None else _unknown(machine, made, frame, place)


def _source(machine: Machine, made: Call, frame: Frame) -> Value | None:
    """A call that yields a volatile value."""
    if made.name == "toLocaleString" and made.arguments:
        return None  # the locale is named: the number is the same everywhere
    age = age_mark(made.dotted, machine.vocabulary)
    mark = call_mark(made.dotted, machine.vocabulary) if age is None else age
    if mark is None:
        return None
    if made.name == "toLocaleString":  # a server keeps its locale, and so do its replicas, as a rule
        mark = replace(mark, severity=min(mark.severity, Severity.INFO))
    label = frame.module.label(made.node)
    trait = Trait(mark, frame.module.place(made.node), label, guessed=age is not None)
    if mark.order:
        return Seq((Thing("", settled=True),), (trait,), partial=True)
    return Thing(label, (trait,), made.dotted)


def _unknown(machine: Machine, made: Call, frame: Frame, place: Place) -> Value:
    """A function nobody knows: some pass on what they are given, others do not."""
    label = frame.module.label(made.node)
    name = made.name or made.dotted
    first = made.first
    if isinstance(first, Ref) and isinstance(first.target, Closure):
        if _WRAPPERS.fullmatch(name):
            return first
        if _UNWRAPPERS.fullmatch(name):
            value = machine.call(first, [], frame, place)
            return value if value is not None else Thing(label)
    if isinstance(first, Str) and _SAME_TEXT.fullmatch(name):
        return first
    if _PASSING.fullmatch(name):
        given = [*made.values, *([made.receiver] if made.receiver is not None else [])]
        traits = tuple(dict.fromkeys(trait for value in given for trait in traits_of(value)))
        return Thing(label, traits)
    return Thing(label, type="" if made.dotted.startswith("?") else made.dotted)
