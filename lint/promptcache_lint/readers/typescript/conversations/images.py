"""Images that TypeScript sends again in other bytes, under another address, or in another detail."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from promptcache_lint.findings import Severity
from promptcache_lint.readers.typescript.conversations.choosing import alternatives
from promptcache_lint.readers.typescript.conversations.names import around, function_of, walk
from promptcache_lint.readers.typescript.module import FUNCTIONS, unquoted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tree_sitter import Node

    from promptcache_lint.prompts import Practice
    from promptcache_lint.readers.typescript.conversations.facts import Facts

__all__ = ["IMAGES", "images"]

IMAGES = re.compile(r"image_url|input_image|[\"']image[\"']|mediaType|inlineData")
_SIGNS = re.compile(
    r"(?:.*\.)?(?:getSignedUrl|createSignedUrl|generatePresignedUrl|createPresignedUrl|presignedGetObject|"
    r"presignUrl|presign|signUrl|generateSasUrl|getPresignedUrl)"
)
_ENCODES = re.compile(r"\bsharp\(|\.toDataURL\(|Jimp\.read\(")
_PART = re.compile(r"image_url|input_image")
_IMAGE = re.compile(r"type[\"']?\s*:\s*[\"']image[\"']")
_CARRIED = re.compile(
    r"[{,\s][\"']?(?:image|source|url|data)[\"']?\s*:|[{,]\s*(?:image|source|url|data)\s*[,}]"
)
"""What a part of a message holds its image under; a card of a page has another name for it."""
_HISTORY = re.compile(
    r"messages?|msgs|history|conversation|turns|thread|transcript|rows|entries|dialog", re.IGNORECASE
)
_DETAILS = re.compile(r"[\"'](?:low|high|auto|original)[\"']")
_PLACE = re.compile(r"\.length\b|\.at\(-1\)|\blast\w*\b|isLast|newest|latest", re.IGNORECASE)
_SIGNED = (
    "{} signs the image's address anew: the same image comes under another address each time it is sent."
)
_ENCODED = (
    "{} encodes an image of an earlier message anew for each request; its bytes may differ, and cost time."
)
_DETAIL = "{} gives the same image another detail in a later request, and with it other tokens."


def images(facts: Facts) -> Iterator[Practice]:
    """PC701 and PC702."""
    for node in facts.names.nodes:
        if node.type == "pair" and unquoted(facts.names.text(node.child_by_field_name("key"))) == "detail":
            yield from _detail(node, facts)
        elif node.type == "call_expression":
            path = facts.names.path(node.child_by_field_name("function"))
            if _SIGNS.fullmatch(path) and _makes_part(node, facts) and _is_sent_again(node, facts):
                yield facts.practice("PC701", Severity.WARNING, node, _SIGNED)
            elif path.rpartition(".")[2] in {"toBuffer", "toDataURL", "getBufferAsync"}:
                said = facts.names.text(node)
                if _ENCODES.search(said) and _makes_part(node, facts) and _over_history(node, facts):
                    yield facts.practice("PC701", Severity.WARNING, node, _ENCODED)


def _makes_part(node: Node, facts: Facts) -> bool:
    """Whether the function around a value writes it into an image part of a message."""
    names = {facts.names.text(node)}
    for outer in around(node):
        if outer.type == "variable_declarator":
            target = outer.child_by_field_name("name")
            names = (
                {facts.names.text(each) for each in walk(target) if "identifier" in each.type}
                if target
                else names
            )
            break
        if outer.type == "object" and _is_part(facts.names.text(outer)):
            return True
        if outer.type in FUNCTIONS:
            break
    function = function_of(node)
    for inner in walk(function) if function is not None else ():
        if inner.type == "object" and _is_part(facts.names.text(inner)):
            words = {facts.names.text(each) for each in walk(inner) if "identifier" in each.type}
            if words & names:
                return True
    return False


def _is_part(written: str) -> bool:
    """Whether an object is an image part of a message."""
    return bool(_PART.search(written)) or bool(_IMAGE.search(written) and _CARRIED.search(written))


def _is_sent_again(node: Node, facts: Facts) -> bool:
    """Whether an image belongs to a conversation that goes on, and not to one request alone."""
    return _over_history(node, facts) or any(map(facts.converses, facts.calls))


def _over_history(node: Node, facts: Facts) -> bool:
    """Whether this happens for each message of a history, each time it is sent."""
    for outer in around(node):
        if outer.type == "for_in_statement":
            return _HISTORY.search(facts.names.text(outer.child_by_field_name("right"))) is not None
        if outer.type in FUNCTIONS:
            through = _mapped_over(outer, facts)
            if through:
                return _HISTORY.search(through) is not None
    return False


def _mapped_over(function: Node, facts: Facts) -> str:
    """The list whose ``map`` a function is given to, directly or by its name."""
    users = [function] if function.parent is not None and function.parent.type == "arguments" else []
    if not users:
        users = [
            node
            for key in facts.names.called.get(function.id, ())
            for node in facts.names.uses.get(key, ())
            if node.type == "identifier" and node.parent is not None and node.parent.type == "arguments"
        ]
    for user in users:
        call = user.parent.parent if user.parent is not None else None
        called = call.child_by_field_name("function") if call is not None else None
        if called is not None and facts.names.text(called.child_by_field_name("property")) in {
            "map",
            "flatMap",
        }:
            return facts.names.text(called.child_by_field_name("object"))
    return ""


def _detail(pair: Node, facts: Facts) -> Iterator[Practice]:
    """``detail: i === photos.length - 1 ? "high" : "low"``: it depends on where the image stands."""
    value = pair.child_by_field_name("value")
    choice = alternatives(value, facts) if value is not None else None
    if choice is None:
        return
    test, chosen = choice
    details = len(_DETAILS.findall(facts.names.text(chosen))) > 1
    if details and _PLACE.search(facts.names.text(test)):
        yield facts.practice("PC702", Severity.WARNING, chosen, _DETAIL)
