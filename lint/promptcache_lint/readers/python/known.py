"""Functions whose effect on texts and orders is known: of the language, and of its standard library."""

from __future__ import annotations

import ast
import re
from dataclasses import replace
from typing import TYPE_CHECKING

from promptcache_lint.prompts import Trait
from promptcache_lint.readers.python import strings
from promptcache_lint.readers.python.ambient import slot
from promptcache_lint.readers.python.commands import RUNNING, answered
from promptcache_lint.readers.python.counters import ENDLESS
from promptcache_lint.readers.python.dumping import dumped
from promptcache_lint.readers.python.program import Function
from promptcache_lint.readers.python.prompt_templates import made_template
from promptcache_lint.readers.python.retrieving import as_found, asks_store
from promptcache_lint.readers.python.streams import printed
from promptcache_lint.readers.python.values import (
    Map,
    Ref,
    Seq,
    Str,
    Thing,
    Traits,
    element_of,
    order_traits,
    traits_of,
    with_traits,
    without_order,
)

if TYPE_CHECKING:
    from promptcache_lint.places import Place
    from promptcache_lint.readers.python.calls import Call
    from promptcache_lint.readers.python.frame import Frame
    from promptcache_lint.readers.python.interpreter import Interpreter
    from promptcache_lint.readers.python.values import Value

__all__ = ["as_set", "environment", "known_function"]

_TEMPLATES = (
    *("PromptTemplate", ".from_template", ".from_messages", "RunnablePassthrough.assign", "RunnableParallel"),
    *("RunnableMap", "RunnableLambda", "LLMChain"),
)
_GOOGLE = re.compile(r"google\..*types\.(?:Part(?:\.from_text)?|(?:User)?Content)")


def known_function(machine: Interpreter, made: Call, frame: Frame, place: Place) -> Value | None:  # noqa: C901 - a table
    """Functions whose effect on texts and orders matters."""
    first = made.arguments[0][0] if made.arguments else None
    match made.dotted:
        case "str" | "repr" | "textwrap.dedent" | "inspect.cleandoc" | "textwrap.indent" | "format":
            return _as_text(machine, made, frame)
        case "sorted" | "builtins.sorted" | "natsort.natsorted":
            return without_order(_as_list(first))
        case "list" | "tuple" | "reversed" | "collections.deque" | "iter" | "itertools.chain" | "filter":
            return _as_list(made.arguments[-1][0] if made.dotted == "filter" and made.arguments else first)
        case "itertools.count":
            kept = frame.at_module_level or frame.owner is not None
            return Thing(frame.module.label(made.node), type=ENDLESS if kept else "", settled=True)
        case "next" if isinstance(first, Thing) and first.type == ENDLESS:
            return machine.counters.next_of(made.node, frame)
        case "enumerate":
            return _pairs(Thing(constant="1", settled=True), element_of(first or Thing()), first)
        case "zip":
            items = tuple(element_of(value) for value in made.values)
            return Seq((Seq(items, kind="tuple"),), partial=True)
        case "map":
            return _mapped(machine, made, frame, place)
        case "set" | "frozenset":
            items = (
                first.items if isinstance(first, Seq) else (element_of(first),) if first is not None else ()
            )
            return as_set(machine, items, made.node, frame)
        case "dict" | "collections.OrderedDict":
            pairs = first.pairs if isinstance(first, Map) else ()
            named = tuple((name, value) for name, (value, _) in made.named.items())
            return Map((*pairs, *named), partial=bool(made.spread) or (first is not None and not pairs))
        case "dict.fromkeys":
            return Map(((None, element_of(first or Thing())),), traits_of(first or Thing()), partial=True)
        case "functools.partial":
            return _partial(made)
        case "asyncio.to_thread" | "asyncio.run" | "asyncio.create_task" | "asyncio.wait_for":
            return _deferred(machine, made, frame, place)
        case "asyncio.gather":
            return Seq(tuple(made.values), partial=True)
        case "string.Template" | "Template" if isinstance(first, Str | Thing):
            return first
        case "io.StringIO" | "StringIO":
            return Seq(() if first is None else (first,))
        case "print" if "file" in made.named:
            return printed(machine, made, frame)
        case name if name.endswith(_TEMPLATES):
            return made_template(machine, made, frame)
        case "open" | "io.open" | "os.path.dirname" | "os.path.basename" if first is not None:
            return Thing(frame.module.label(made.node), order_traits(first), settled=True)
        case "os.getenv" | "os.environ.get":
            return environment(machine, first or Thing(), made.node, frame)
        case "json.dumps" | "orjson.dumps" | "ujson.dumps" | "simplejson.dumps" | "rapidjson.dumps":
            return dumped(machine, made, frame, place)
        case "yaml.dump" | "yaml.safe_dump":
            return without_order(Thing(frame.module.label(made.node), traits_of(first or Thing())))
        case "random.Random" | "numpy.random.default_rng" | "random.SystemRandom" | "pathlib.Path":
            return _typed(made, frame)
        case "random.seed" if made.arguments and first is not None and not traits_of(first):
            frame.store("random.seed()", Thing(settled=True))
            return Thing()
        case "random.shuffle" | "numpy.random.shuffle":
            return _shuffle(machine, made, frame, place)
        case name if name.startswith("google.") and _GOOGLE.fullmatch(name):
            text = {} if first is None else {"text": first}
            return Map(tuple((text | {key: value for key, (value, _) in made.named.items()}).items()))
        case "contextvars.ContextVar.set" if first is not None:
            frame.store(slot(machine.spelling(made.node.func)[: -len(".set")]), first)
            return Thing()
        case "contextvars.ContextVar.get":
            return machine.ambient.context(machine.spelling(made.node.func)[: -len(".get")], frame, place)
        case "getattr":
            return Thing(frame.module.label(made.node), traits_of(first) if first is not None else ())
        case name if name in RUNNING:
            return answered(machine, made, frame, place)
        case _ if asks_store(machine, made):
            return as_found(machine, made, frame, place)
        case "min" | "max" | "sum":
            return Thing(frame.module.label(made.node), _values_only(made))
        case _:
            return None


def _values_only(made: Call) -> Traits:
    """What a number computed from values keeps: not their order."""
    return tuple(t for value in made.values for t in traits_of(value) if not t.mark.order)


def _as_text(machine: Interpreter, made: Call, frame: Frame) -> Value:
    if not made.arguments:
        return Str(())
    value, expression = made.arguments[0]
    if isinstance(value, Thing) and value.constant is None:
        # Still one value: methods and names keep their meaning.
        return replace(value, type="")
    return Str(strings.parts_of(machine, value, expression, frame))


def _as_list(value: Value | None) -> Value:
    match value:
        case None:
            return Seq(())
        case Seq():
            return replace(value, kind="list")
        case Map():
            return Seq(tuple(_key_value(key) for key, _ in value.pairs), value.traits, partial=value.partial)
        case Str():
            return Seq((Thing("", traits_of(value)),), partial=True)
        case _:
            return value


def _key_value(key: str | None) -> Value:
    return Thing(constant=key, settled=True) if key is not None else Thing()


def _pairs(first: Value, second: Value, iterable: Value | None) -> Value:
    order = iterable.traits if isinstance(iterable, Seq | Map) else ()
    return Seq((Seq((first, second), kind="tuple"),), order, partial=True)


def _mapped(machine: Interpreter, made: Call, frame: Frame, place: Place) -> Value:
    if len(made.arguments) < 2:
        return Thing()
    callee, iterable = made.values[0], made.values[1]
    item = element_of(iterable)
    if isinstance(callee, Ref) and isinstance(callee.target, Function):
        item, _ = machine.invoke(callee.target, [item], {}, frame, place, bound=callee.bound)
    return Seq((item,), iterable.traits if isinstance(iterable, Seq) else (), partial=True)


def _partial(made: Call) -> Value:
    if made.arguments and isinstance(made.values[0], Ref):
        named = tuple((name, value) for name, (value, _) in made.named.items())
        return replace(made.values[0], given=tuple(made.values[1:]), named=named)
    return Thing()


def _deferred(machine: Interpreter, made: Call, frame: Frame, place: Place) -> Value:
    """Functions that are handed over and run elsewhere: their result arrives here."""
    if not made.arguments:
        return Thing()
    target = made.values[0]
    if isinstance(target, Ref) and isinstance(target.target, Function):
        outer = frame if isinstance(target.target.node, ast.Lambda) else None
        return machine.invoke(
            target.target, made.values[1:], {}, frame, place, bound=target.bound, outer=outer
        )[0]
    if made.dotted == "asyncio.to_thread":
        return Thing(frame.module.label(made.node), tuple(t for v in made.values for t in traits_of(v)))
    return target


def _typed(made: Call, frame: Frame) -> Value:
    """Objects whose methods are known by their type; a generator with a fixed seed is no source."""
    traits = tuple(trait for value in made.values for trait in traits_of(value))
    seeded = bool(made.arguments or made.named) and made.dotted in {
        "random.Random",
        "numpy.random.default_rng",
    }
    return Thing(frame.module.label(made.node), traits, "" if seeded else made.dotted, settled=seeded)


def _shuffle(machine: Interpreter, made: Call, frame: Frame, place: Place) -> Value:
    mark = machine.vocabulary.call(made.dotted)
    if made.arguments and mark is not None and frame.find("random.seed()") is None:
        value, expression = made.arguments[0]
        spelling = machine.spelling(expression)
        if spelling:
            trait = Trait(mark, place, frame.module.label(made.node))
            frame.set(spelling, with_traits(value, (trait,), spelling))
    return Thing(constant="None")


def environment(machine: Interpreter, key: Value, node: ast.expr, frame: Frame) -> Value:
    """The value of an environment variable."""
    label = frame.module.label(node)
    name = key.parts[0].text if isinstance(key, Str) and key.parts and hasattr(key.parts[0], "text") else ""
    mark = machine.vocabulary.environment(name)
    traits = (Trait(mark, frame.module.place(node), label),) if mark is not None else ()
    return Thing(label, traits, settled=True)


def as_set(machine: Interpreter, items: tuple[Value, ...], node: ast.expr, frame: Frame) -> Value:
    """A set; one of numbers only has the same order in every process."""
    inherited = tuple(trait for item in items for trait in traits_of(item))
    numbers = bool(items) and all(isinstance(item, Thing) and item.constant is not None for item in items)
    mark = machine.vocabulary.call("set")
    if mark is None or (
        numbers and all(str(getattr(item, "constant", "")).strip("-").isdigit() for item in items)
    ):
        return Seq(items, inherited, "set")
    trait = Trait(mark, frame.module.place(node), frame.module.label(node))
    return Seq(items, (trait, *(t for t in inherited if t.mark.order)), "set", partial=True)
