"""What writes a value out as it is, and what makes another one of it: an hour of a time, or what is kept."""

from __future__ import annotations

import ast
import re

from promptcache_lint.readers.python.walking import nodes_of

__all__ = ["FIELDS", "KEEPS", "PLAIN", "WRITES", "is_by_the_hour", "tells_hours_only"]

WRITES = {
    *("strftime", "isoformat", "ctime", "timestamp", "astimezone", "replace", "time", "timetuple"),
    *("format", "format_map", "join", "strip", "lstrip", "rstrip", "upper", "lower", "title", "encode"),
    *("decode", "removeprefix", "removesuffix", "split", "substitute", "safe_substitute", "render", "invoke"),
    *("format_messages", "format_prompt", "format_datetime", "dumps", "hexdigest", "model_dump", "copy"),
    *(
        "to_iso8601_string",
        "to_datetime_string",
        "localize",
        "from_messages",
        "from_template",
        "from_text",
        "localtime",
    ),
    *("gmtime", "getvalue", "dedent", "cleandoc", "escape", "partial"),
}
"""Methods that write a value out, or put it into a text, and add nothing that would make it another one."""
PLAIN = {"str", "repr", "int", "float", "round", "format", "dict", "list", "tuple", "dedent", "cleandoc"}
FIELDS = {"minute", "second", "microsecond", "hex", "int", "node", "tm_min", "tm_sec"}
KEEPS = re.compile(r"cach|memo|once|lru|ttl|lazy|singleton|reify|persist", re.IGNORECASE)
"""Decorators that keep a result, by their names."""
_BY_THE_MINUTE = re.compile(r"%[-#0]?[MSfsXcTRrN]")


def is_by_the_hour(call: ast.Call) -> bool:
    """Whether a call writes a time that only changes with the hour: ``now.strftime("%d.%m. %H:00")``."""
    match call:
        case ast.Call(func=ast.Attribute(attr="replace"), keywords=[*given]):
            return bool({keyword.arg for keyword in given} & {"hour", "minute"})
        case ast.Call(func=ast.Attribute(attr="strftime") | ast.Name(id="strftime"), args=[first, *_]):
            return tells_hours_only(first)
        case _:
            return False


def tells_hours_only(written: ast.expr) -> bool:
    """Whether a format is of hours and days, and of no minutes."""
    formats = [node.value for node in nodes_of(written) if isinstance(node, ast.Constant)]
    text = "".join(each for each in formats if isinstance(each, str))
    return "%" in text and _BY_THE_MINUTE.search(text) is None
