"""Functions whose effect on texts, times and orders is known: of the language, Node and common packages."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from promptcache_lint.prompts import Trait
from promptcache_lint.readers.python.values import (
    Map,
    Ref,
    Seq,
    Str,
    Thing,
    element_of,
    order_traits,
    traits_of,
    with_traits,
    without_order,
)
from promptcache_lint.readers.typescript import texts
from promptcache_lint.readers.typescript.clocks import DAYS, coarser, literal, with_pattern
from promptcache_lint.readers.typescript.dumping import stringified
from promptcache_lint.readers.typescript.module import Import
from promptcache_lint.readers.typescript.naming import is_field
from promptcache_lint.readers.typescript.shapes import entries_of, keys_of, values_of
from promptcache_lint.readers.typescript.signs import call_mark, normal

if TYPE_CHECKING:
    from promptcache_lint.places import Place
    from promptcache_lint.readers.python.values import Traits, Value
    from promptcache_lint.readers.typescript.calls import Call
    from promptcache_lint.readers.typescript.frame import Frame
    from promptcache_lint.readers.typescript.machine import Machine

__all__ = ["MESSAGE", "constructed", "function"]

MESSAGE = re.compile(
    r"(?:.*\.)?(?P<role>System|Developer|Human|User|AI|Assistant)Message(?:PromptTemplate)?(?P<made>\.fromTemplate)?"
)
_TOOL = re.compile(r"(?:.*\.)?(?:tool|createTool|defineTool|dynamicTool|functionTool)")
_CLOCKS = re.compile(r"(?:dayjs|moment|luxon\.DateTime|DateTime|Temporal|date-fns)(?:\..*)?")
_READING = re.compile(
    r"(?:fs|fs-extra|Deno|Bun)\.(?:readFile|readFileSync|readTextFile|readTextFileSync|file|stat\w*)"
)
_SAME = {
    *(
        "JSON.parse",
        "structuredClone",
        "Object.freeze",
        "Object.seal",
        "Promise.resolve",
        "Promise.all",
        "decodeURIComponent",
    ),
    *(
        "Promise.allSettled",
        "Symbol",
        "lodash.cloneDeep",
        "lodash.uniq",
        "lodash.compact",
        "p-all",
        "lodash.chain",
    ),
}
_SORTS = {"lodash.sortBy", "lodash.orderBy", "remeda.sortBy", "es-toolkit.sortBy", "es-toolkit.orderBy"}
_STABLE = {"fast-json-stable-stringify", "json-stable-stringify", "safe-stable-stringify", "canonicalize"}
_SILENT = re.compile(
    r"(?:console|logger|log|Logger|Sentry|posthog|metrics|winston|Array\.isArray|Boolean)(?:\..*)?"
)


def function(machine: Machine, made: Call, frame: Frame, place: Place) -> Value | None:  # noqa: C901 - a table
    """The result of a function that is known; None for all others."""
    dotted, first, label = made.dotted, made.first, frame.module.label(made.node)
    match dotted:
        case "String" | "Number" | "parseInt" | "parseFloat" | "BigInt":
            return _as_text(machine, made, frame) if dotted == "String" else _number(machine, made, label)
        case "JSON.stringify":
            return stringified(machine, made, frame)
        case "Object.keys" | "Object.getOwnPropertyNames" | "Reflect.ownKeys" if first is not None:
            return keys_of(first)
        case "Object.values" if first is not None:
            return values_of(first)
        case "Object.entries" if first is not None:
            return entries_of(first)
        case "Object.fromEntries" if first is not None:
            return _from_entries(first)
        case "Object.assign":
            return _assigned(made)
        case "Array.from" | "Array.of":
            return _array_from(machine, made, frame, place)
        case "Promise.race" | "Promise.any" if first is not None:
            return _raced(machine, made, frame)
        case "require" if first is not None:
            return _require(machine, literal(first), frame)
        case "path.join" | "path.basename" | "path.relative" | "path.dirname" | "path.normalize":
            return Thing(label, tuple(t for value in made.values for t in traits_of(value)), settled=True)
        case "path.resolve" if any(traits_of(value) for value in made.values):
            return Thing(label, tuple(t for value in made.values for t in traits_of(value)), settled=True)
        case "Intl.DateTimeFormat":
            return _formatter(made, label)
        case "Date.parse" | "Date.UTC":
            return Thing(label, tuple(t for value in made.values for t in traits_of(value)))
        case "fileURLToPath" | "url.fileURLToPath" if first is not None:
            return Thing(label, traits_of(first), settled=True)
    if dotted in _SAME and first is not None:
        return first
    if dotted in _SORTS and first is not None:
        return without_order(first)
    if dotted in _STABLE and first is not None:
        return Thing(label, tuple(t for t in traits_of(first) if not t.mark.order), settled=True)
    if dotted.startswith("Math.") and dotted.count(".") == 1 and dotted != "Math.random":
        return _number(machine, made, label)
    if _READING.fullmatch(dotted):
        return Thing(label, order_traits(first) if first is not None else (), settled=True)
    if _SILENT.fullmatch(dotted):
        return Thing(settled=True)
    if _CLOCKS.fullmatch(dotted):
        return _time_library(machine, made, label, place)
    return _prompt_library(made, frame)


def constructed(made: Call, frame: Frame) -> Value | None:
    """The object that ``new`` of something known makes; None for all others."""
    first, label = made.first, frame.module.label(made.node)
    match made.dotted:
        case "Date" if made.arguments:
            traits = tuple(t for value in made.values for t in traits_of(value))
            return Thing(label, traits, "Date", settled=not traits and is_field(made.arguments[0][1]))
        case "Set" | "WeakSet":
            return _as_set(first)
        case "Map" | "WeakMap":
            return _from_entries(first) if first is not None else Map(())
        case "Array":
            return Seq((), partial=True)
        case "Intl.DateTimeFormat":
            return _formatter(made, label)
        case "Promise":
            return Thing(label)
        case "String" if first is not None:
            return first
        case "URL" | "URLSearchParams" | "Error":
            return Thing(label, tuple(t for value in made.values for t in traits_of(value)), settled=True)
    return _prompt_library(made, frame)


def _as_set(value: Value | None) -> Value:
    """A ``Set`` keeps the order of insertion: no fault of its own."""
    if value is None:
        return Seq((), kind="set")
    if isinstance(value, Seq):
        return replace(value, kind="set")
    return Seq((element_of(value),), order_traits(value), "set", partial=True)


def _as_text(machine: Machine, made: Call, frame: Frame) -> Value:
    if not made.arguments:
        return Str(())
    value, expression = made.arguments[0]
    return value if isinstance(value, Thing) else Str(texts.parts_of(machine, value, expression, frame))


def _number(machine: Machine, made: Call, label: str) -> Value:
    traits = tuple(dict.fromkeys(t for value in made.values for t in traits_of(value) if not t.mark.order))
    if isinstance(made.first, Thing) and made.first.type == DAYS:
        traits = coarser(traits, "day", machine.vocabulary)
    return Thing(label, traits, settled=not traits)


def _from_entries(value: Value) -> Value:
    """An object, or a ``Map``, made of pairs."""
    if isinstance(value, Seq):
        return Map(tuple(_pair(item) for item in value.items), value.traits, partial=value.partial)
    return Map((), traits_of(value), partial=True)


def _pair(item: Value) -> tuple[str | None, Value]:
    if isinstance(item, Seq) and len(item.items) == 2:
        return literal(item.items[0]), item.items[1]
    return None, element_of(item)


def _assigned(made: Call) -> Value:
    result = Map((), partial=True)
    for value in made.values:
        if isinstance(value, Map):
            for key, item in value.pairs:
                result = result.set(key, item)
            result = replace(result, traits=(*result.traits, *value.traits))
    return result


def _array_from(machine: Machine, made: Call, frame: Frame, place: Place) -> Value:
    value = made.first or Thing()
    if made.dotted == "Array.of":
        return Seq(tuple(made.values))
    if isinstance(value, Map):
        items: Value = (
            Seq((Thing(),), value.traits, partial=True) if value.get("length") else entries_of(value)
        )
    else:
        items = (
            value if isinstance(value, Seq) else Seq((element_of(value),), order_traits(value), partial=True)
        )
    if len(made.arguments) > 1 and isinstance(made.values[1], Ref) and isinstance(items, Seq):
        rows = [
            machine.call(made.values[1], [item, Thing()], frame, place, move=False)
            for item in items.items[:12]
        ]
        return Seq(tuple(row or Thing() for row in rows), items.traits, partial=items.partial)
    return replace(items, kind="list") if isinstance(items, Seq) else items


def _raced(machine: Machine, made: Call, frame: Frame) -> Value:
    """Who comes first is chance; a race against a timer only says how long to wait."""
    value = made.first or Thing()
    mark = call_mark(made.dotted, machine.vocabulary)
    label = frame.module.label(made.node)
    racers = value.items if isinstance(value, Seq) else ()
    timer = any("timeout" in label.lower() or isinstance(item, Ref) for item in racers) or len(racers) == 2
    if mark is None or timer or (isinstance(value, Seq) and not value.partial and len(racers) < 2):
        return racers[0] if racers else Thing(label)
    return with_traits(element_of(value), (Trait(mark, frame.module.place(made.node), label),), label)


def _require(machine: Machine, specifier: str | None, frame: Frame) -> Value:
    if specifier is None:
        return Thing()
    target = machine.program.followed(frame.module, Import(specifier, "*"))
    return machine.exported(*target) if target is not None else Ref(normal(specifier))


def _formatter(made: Call, label: str) -> Value:
    options = made.values[1] if len(made.values) > 1 else Map(())
    keys = {key for key, _ in options.pairs if key} if isinstance(options, Map) else {"hour"}
    return Thing(label, type="Intl:" + ",".join(sorted(keys)))


def _time_library(machine: Machine, made: Call, label: str, place: Place) -> Value | None:
    """dayjs, moment, luxon and date-fns: a time made of arguments, or a time written with a pattern."""
    vocabulary = machine.vocabulary
    traits: Traits = tuple(dict.fromkeys(t for value in made.values for t in traits_of(value)))
    name = made.dotted.rpartition(".")[2]
    if made.dotted.startswith("date-fns") and name in {
        "format",
        "lightFormat",
        "formatDate",
        "formatInTimeZone",
    }:
        return with_pattern(
            traits, literal(made.values[-1]) if len(made.values) > 1 else None, label, vocabulary
        )
    if name == "formatISO":
        day = literal(made.option("representation")) == "date"
        return with_pattern(traits, "DD" if day else None, label, vocabulary)
    if made.arguments and not (
        name in {"utc", "tz", "local", "now"} and not traits and len(made.arguments) > 1
    ):
        return Thing(label, traits, "Date")
    mark = call_mark(made.dotted, vocabulary)
    return None if mark is None else Thing(label, (Trait(mark, place, label),), "Date")


def _prompt_library(made: Call, frame: Frame) -> Value | None:
    """LangChain's messages and templates, and the wrappers around tools."""
    first, dotted = made.first, made.dotted
    path = made.path
    if (match := MESSAGE.fullmatch(path)) and first is not None and (made.made or match["made"]):
        content = first
        if isinstance(first, Map) and first.get("content") is not None:
            content = first.get("content") or first
        role = match["role"].lower()
        return Map((("role", texts.written(role, made.node, frame)), ("content", content)))
    if path.endswith(("PromptTemplate.fromTemplate", "ChatPromptTemplate.fromTemplate")) and isinstance(
        first, Str
    ):
        return first
    if path.endswith("PromptTemplate.fromMessages") and isinstance(first, Seq):
        return first
    if made.made and path.endswith("PromptTemplate"):
        template = made.option("template")
        return template if isinstance(template, Str) else Thing(frame.module.label(made.node))
    if _TOOL.fullmatch(dotted) or _TOOL.fullmatch(made.name):
        return next((value for value in made.values if isinstance(value, Map)), None)
    if dotted in {"jsonSchema", "zod.object"}:
        return first
    return None
