"""Whether a conversation goes on behind what is sent, as a function and its class write it out.

As in Python: the list that is sent is kept by the object and gets the answers, the rounds in which it is sent
add to it, or what was said before is put into it one by one.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from promptcache_lint.readers.talks import says_history
from promptcache_lint.readers.typescript import blocks
from promptcache_lint.readers.typescript.conversations.names import around, bare, function_of, walk
from promptcache_lint.readers.typescript.finding_nodes import name_of

if TYPE_CHECKING:
    from tree_sitter import Node

    from promptcache_lint.readers.typescript.module import Module

__all__ = ["goes_on"]

_CLASSES = {"class_declaration", "abstract_class_declaration", "class"}
_TALKS = ("messages", "input", "contents", "history")
_ASKED = {"user", "system", "developer"}


def goes_on(sent: Node, module: Module) -> bool:
    """Whether the messages that a request sends, or a list of them, are more with each turn or round."""
    if sent.type == "array":
        return any(_grows(bare(each), sent, module) for each in _spread(sent))
    given = sent.child_by_field_name("arguments")
    options = next((each for each in given.named_children if each.type == "object"), None) if given else None
    if options is None:
        return False
    talks = (blocks.in_object(options, name, module) for name in _TALKS)
    return any(_grows(bare(each), sent, module) for each in talks if each is not None)


def _spread(array: Node) -> list[Node]:
    return [each for each in array.named_children if each.type == "spread_element"]


def _grows(node: Node | None, sent: Node, module: Module) -> bool:
    if node is None:
        return False
    match node.type:
        case "array":
            return any(_grows(bare(each), sent, module) for each in _spread(node))
        case "member_expression":
            return _is_kept(module.text(node), sent, module)
        case "identifier" | "shorthand_property_identifier":
            name = module.text(node)
            return _is_of_rounds(name, sent, module) or _gets_talk(name, sent, module)
        case _:
            return False


def _is_kept(field: str, sent: Node, module: Module) -> bool:
    """Whether the object keeps messages: answers are added, and nothing here begins anew."""
    owner = next((each for each in around(sent) if each.type in _CLASSES), None)
    name = field.removeprefix("this.")
    if owner is None or name == field or not says_history([name], [name]):
        return False
    here = [each for each in around(sent) if each.type == "method_definition"][:1]
    called = {blocks.called(each, module)[1] for method in here for each in walk(method) if _is_call(each)}
    answered, begins = _kept_in(owner, field, module)
    return answered and begins.isdisjoint({*called, *(name_of(each, module) for each in here)})


@lru_cache(maxsize=64)  # a class has many methods that send
def _kept_in(owner: Node, field: str, module: Module) -> tuple[bool, frozenset[str]]:
    """Whether answers are added to a field of a class, and by which methods it begins anew."""
    nodes = list(walk(owner))
    methods = [each for each in nodes if each.type == "method_definition"]
    begins = (
        name_of(each, module) for each in methods if any(_binds(node, field, module) for node in walk(each))
    )
    return any(_adds_answer(each, field, module) for each in nodes), frozenset(begins) - {"constructor"}


def _is_of_rounds(name: str, sent: Node, module: Module) -> bool:
    """Whether the rounds in which a list is sent add the answers to it."""
    function = function_of(sent)
    loop = next((each for each in around(sent) if each.type in blocks.LOOPS), None)
    if function is None or loop is None or not _is_in(loop, function):
        return False
    bases, _ = blocks.definitions(name, function, module)
    fresh = any(_is_in(each, loop) for each in bases)
    return bool(bases) and not fresh and any(_adds_answer(each, name, module) for each in walk(loop))


def _gets_talk(name: str, sent: Node, module: Module) -> bool:
    """Whether what was said before is put into a list, one by one: ``for (const turn of history) …``."""
    function = function_of(sent)
    for loop in walk(function) if function is not None else ():
        through = loop.child_by_field_name("right") if loop.type == "for_in_statement" else None
        if through is None or not any(_adds_answer(each, name, module) for each in walk(loop)):
            continue
        names = [module.text(each) for each in walk(through) if each.type.endswith("identifier")]
        if any(says_history([each], [each]) for each in names):
            return True
    return False


def _is_call(node: Node) -> bool:
    return node.type == "call_expression"


def _is_in(node: Node, outer: Node) -> bool:
    return outer.start_byte <= node.start_byte and node.end_byte <= outer.end_byte


def _binds(node: Node, field: str, module: Module) -> bool:
    """Whether a field is given a value that is not made of the one it has."""
    left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
    if node.type != "assignment_expression" or left is None or module.text(left) != field:
        return False
    return right is None or field not in {module.text(each) for each in walk(right)}


def _adds_answer(node: Node, name: str, module: Module) -> bool:
    """Whether a list gets more than questions: ``history.push(answer)``."""
    if not _is_call(node):
        return False
    owner, method = blocks.called(node, module)
    given = node.child_by_field_name("arguments")
    if method != "push" or owner is None or module.text(owner) != name or given is None:
        return False
    return any(not _is_asked(each, module) for each in given.named_children if each.type != "comment")


def _is_asked(message: Node, module: Module) -> bool:
    if message.type != "object":
        return message.type in {"string", "template_string"}
    role = blocks.in_object(message, "role", module)
    return role is not None and module.text(role).strip("\"'`") in _ASKED
