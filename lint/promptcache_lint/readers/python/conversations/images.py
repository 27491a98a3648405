"""Images that come in other bytes, under another signature, or in another detail when they are sent again."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from promptcache_lint.findings import Severity
from promptcache_lint.readers.python.conversations.facts import called_name, constant, spell
from promptcache_lint.readers.python.conversations.image_makers import gives_part, made_by

if TYPE_CHECKING:
    from collections.abc import Iterator

    from promptcache_lint.prompts import Practice
    from promptcache_lint.readers.python.conversations.facts import Facts

__all__ = ["images"]

_SIGNS = re.compile(
    r"(?:.*\.)?(?:generate_presigned_url|generate_signed_url|create_presigned_url|get_presigned_url|presign(?:ed)?_?\w*|"
    r"sign_url|get_signed_url|presigned_get_object|generate_blob_sas|signed_url)"
)
_OF_SIGNS = ("presign", "sign_url", "signed_url", "generate_blob_sas")
_OF_ENCODERS = ("imencode", ".save")
"""What is in every call of one of them."""
_IMAGE = re.compile(r"image|img|photo|picture|screenshot|attachment", re.IGNORECASE)
_SIGNED = (
    "`{}` signs the image's address anew: the same image comes under another address each time it is sent."
)
_ENCODED = (
    "`{}` encodes an image of an earlier message anew for each request; its bytes may differ, and cost time."
)
_DETAILS = {"low", "high", "auto", "original"}
_DETAIL = "`{}` gives the same image another detail in a later request, and with it other tokens."


def images(facts: Facts) -> Iterator[Practice]:
    """PC701 and PC702."""
    for node in facts.of(ast.Call, ast.Dict, ast.Assign):
        match node:
            case ast.Assign(targets=[ast.Subscript() as target]) if constant(target.slice) == "detail":
                yield from _lowered(node, target, facts)
            case ast.Call() if _SIGNS.fullmatch(called_name(node)):
                yield from _signed(node, facts)
            case ast.Call() if _encodes(node):
                yield from _encoded(node, facts)
            case ast.Call():
                yield from _through_helper(node, facts)
            case ast.Dict():
                yield from _detail(node, facts)


def _over_history(node: ast.AST, facts: Facts) -> bool:
    """Whether this happens for every message of a history, each time it is sent."""
    for outer in facts.around(node):
        iterables = [generator.iter for generator in getattr(outer, "generators", ())]
        if isinstance(outer, ast.For | ast.AsyncFor):
            iterables.append(outer.iter)
        for iterable in iterables:
            if any(facts.conviction(inner) for inner in ast.walk(iterable)):
                return True
    return False


def _signed(node: ast.Call, facts: Facts) -> Iterator[Practice]:
    """A signed address in an image part.

    An error where the whole history is signed again for each request.
    """
    again = _over_history(node, facts)
    if again or _in_image(node, facts):
        severity = Severity.ERROR if again else Severity.WARNING
        yield facts.practice("PC701", severity, node, _SIGNED.format(facts.label(node)))


def _in_image(node: ast.AST, facts: Facts) -> bool:
    """Whether a value stands in an image part of a message, directly or through a name."""
    names = {""}
    for outer in facts.around(node):
        if isinstance(outer, ast.Dict) and _is_image_part(outer):
            return True
        if isinstance(outer, ast.Assign):
            names |= {spell(target) for target in outer.targets}
    names.discard("")
    return any(
        isinstance(other, ast.Dict)
        and _is_image_part(other)
        and any(spell(inner) in names for inner in ast.walk(other) if isinstance(inner, ast.Name))
        for other in facts.nodes
    )


def _is_image_part(node: ast.Dict) -> bool:
    """Whether a dict says that it is a part of a message; a record may have an ``image_url`` as well."""
    members = {constant(key): value for key, value in zip(node.keys, node.values, strict=True)}
    if constant(members.get("type")) in {"image_url", "input_image", "image"}:
        return True
    within = members.get("image_url")
    return isinstance(within, ast.Dict) and any(constant(key) == "url" for key in within.keys)


def _through_helper(node: ast.Call, facts: Facts) -> Iterator[Practice]:
    """``{"url": link(turn.key)}``, where `link` signs; ``encode(turn.path)``, where it compresses."""
    name = called_name(node)
    if name.startswith("?") or not (node.args or node.keywords):
        return
    signed = made_by(name, facts, lambda call: _SIGNS.fullmatch(called_name(call)) is not None, _OF_SIGNS)
    if signed is not None:
        if _in_image(node, facts):
            severity = Severity.ERROR if _over_history(node, facts) else Severity.WARNING
            yield facts.practice("PC701", severity, signed, _SIGNED.format(facts.label(signed)), source=node)
        return
    saved = made_by(name, facts, _encodes, _OF_ENCODERS)
    sent = saved is not None and (_in_image(node, facts) or gives_part(name, facts, _is_image_part))
    if saved is not None and sent and _is_earlier(node, facts):
        yield facts.practice("PC701", _loss(saved), saved, _ENCODED.format(facts.label(saved)), source=node)


def _encodes(node: ast.Call) -> bool:
    """``image.save(buffer, format="JPEG")``, ``cv2.imencode(".jpg", frame)``."""
    if called_name(node).endswith("imencode"):
        return True
    is_save = isinstance(node.func, ast.Attribute) and node.func.attr == "save" and bool(node.args)
    return is_save and any(keyword.arg in {"format", "quality"} for keyword in node.keywords)


def _encoded(node: ast.Call, facts: Facts) -> Iterator[Practice]:
    """An image that is compressed where it is sent, in front of the history or all through it."""
    part = _part_with(node, facts)
    if _over_history(node, facts) or (part is not None and _is_in_front(part, facts)):
        yield facts.practice("PC701", _loss(node), node, _ENCODED.format(facts.label(node)))


def _loss(node: ast.Call) -> Severity:
    """How grave it is to encode again: where nothing is lost, the bytes are the same."""
    formats = [constant(keyword.value) for keyword in node.keywords if keyword.arg == "format"]
    return Severity.INFO if formats == ["PNG"] else Severity.WARNING


def _is_earlier(node: ast.AST, facts: Facts) -> bool:
    """Whether an image stands in each message of a history that is built anew, or in front of a history."""
    return _over_history(node, facts) or any(
        _is_in_front(outer, facts) for outer in facts.around(node) if isinstance(outer, ast.Dict)
    )


def _part_with(node: ast.Call, facts: Facts) -> ast.Dict | None:
    """The image part that is made of what a call has written into a buffer."""
    names = {spell(argument) for argument in node.args} - {""}
    for _ in range(3):
        names |= {
            spell(target)
            for other in facts.of(ast.Assign)
            if isinstance(other, ast.Assign)
            and any(spell(inner) in names for inner in ast.walk(other.value) if isinstance(inner, ast.Name))
            for target in other.targets
        }
    for other in facts.of(ast.Dict):
        assert isinstance(other, ast.Dict)
        held = {spell(inner) for inner in ast.walk(other) if isinstance(inner, ast.Name)}
        if _is_image_part(other) and held & names:
            return other
    return None


def _is_in_front(part: ast.Dict, facts: Facts) -> bool:
    """Whether a message is written in front of a history that is put into the same list."""
    inner: ast.AST = part
    for outer in facts.around(part):
        if isinstance(outer, ast.List) and inner in outer.elts:
            behind = outer.elts[outer.elts.index(inner) + 1 :]
            if any(isinstance(each, ast.Starred) and facts.conviction(each.value) for each in behind):
                return True
        if isinstance(outer, ast.BinOp) and inner is outer.left and facts.conviction(outer.right):
            return True
        if isinstance(outer, ast.stmt):
            return False
        inner = outer
    return False


def _detail(node: ast.Dict, facts: Facts) -> Iterator[Practice]:
    """``{"detail": "low" if … else "high"}``, also over a name that the function gives either."""
    for key, value in zip(node.keys, node.values, strict=True):
        chosen = _chosen(value, facts) if constant(key) == "detail" else None
        if chosen is not None:
            severity = Severity.ERROR if _over_history(node, facts) else Severity.WARNING
            yield facts.practice("PC702", severity, chosen, _DETAIL.format(facts.label(chosen)))


def _chosen(value: ast.expr, facts: Facts) -> ast.IfExp | None:
    """The choice between two details, where a value is one."""
    name = spell(value) if isinstance(value, ast.Name) else ""
    given = [
        node.value
        for node in facts.of(ast.Assign)
        if name and isinstance(node, ast.Assign) and any(spell(target) == name for target in node.targets)
    ]
    for choice in [value, *given]:
        if isinstance(choice, ast.IfExp) and {constant(choice.body), constant(choice.orelse)} <= _DETAILS:
            return choice
    return None


def _lowered(node: ast.Assign, target: ast.Subscript, facts: Facts) -> Iterator[Practice]:
    """``part["image_url"]["detail"] = "low"`` for messages that were sent before."""
    if constant(node.value) in _DETAILS and _over_history(node, facts) and not _is_new(node, facts):
        yield facts.practice("PC702", Severity.WARNING, target, _DETAIL.format(facts.label(target)))


def _is_new(node: ast.AST, facts: Facts) -> bool:
    """Whether a part was written here, or gets its detail because it has none yet: what is set once stays."""
    target = node.targets[0] if isinstance(node, ast.Assign) else None
    owner = spell(target.value) if isinstance(target, ast.Subscript) else ""
    written = (other for other in facts.of(ast.Assign) if isinstance(other, ast.Assign))
    if owner and any(
        isinstance(other.value, ast.Dict) and spell(other.targets[0]) == owner for other in written
    ):
        return True
    return any(
        isinstance(outer, ast.If) and "detail" in ast.unparse(outer.test) for outer in facts.around(node)
    )
