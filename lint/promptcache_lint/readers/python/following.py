"""Whether a conversation goes on behind what is sent, as a function and its class write it out.

Values tell it where a list of messages is of unknown length. Here the source does: what was said before is
put behind the message, by a name that says so, or the list that is sent is kept and gets the answers.
"""

from __future__ import annotations

import ast
import re
from functools import lru_cache
from typing import TYPE_CHECKING

from promptcache_lint.readers.python import blocks
from promptcache_lint.readers.python.requests import TALKS, literal
from promptcache_lint.readers.python.values import Seq, Str, Thing
from promptcache_lint.readers.python.walking import nodes_of
from promptcache_lint.readers.talks import says_history

if TYPE_CHECKING:
    from promptcache_lint.readers.python.frame import Frame
    from promptcache_lint.readers.python.values import Value

__all__ = ["goes_on", "is_history"]

_STORED = re.compile(r"(?:Chat|Conversation)?Messages?|Turns?")
"""Classes of what is stored of a conversation: ``Message.query.filter_by(…)``."""
_ASKED = {"user", "system", "developer"}
_LOOPS = (ast.For, ast.AsyncFor, ast.While)
_GROWS = {"append", "extend"}
_ADDS = {*_GROWS, "insert"}


def goes_on(sent: ast.AST | None, frame: Frame, *, seen: bool, before: bool) -> bool:
    """Whether what is sent grows with a conversation behind it.

    ``seen``: its value says so. ``before``: it is made in front of the rounds in which it is sent; then what
    was said before has to stand in it already.
    """
    node = frame.function.node if frame.function is not None else None
    if sent is None or node is None or isinstance(node, ast.Lambda):
        return seen and not before
    owner = frame.function.owner if frame.function is not None else None
    here = _Here(node, owner.node if owner is not None else None)
    if before:
        return isinstance(sent, ast.List) and here.is_followed(sent)
    return seen or here.is_followed(sent) or here.sends_more(sent)


def is_history(item: Value) -> bool:
    """Whether an item of a template stands for what was said before: ``MessagesPlaceholder("history")``."""
    match item:
        case Thing(label=label) if label.startswith("MessagesPlaceholder"):
            return _says_talk(label.removeprefix("MessagesPlaceholder"))
        case Seq(items=[Str() as speaker, Str() as said]) if literal(speaker) == "placeholder":
            return _says_talk(literal(said))
        case _:
            return False


class _Here:
    """A function, and the class that it is a method of."""

    def __init__(self, function: ast.FunctionDef | ast.AsyncFunctionDef, owner: ast.ClassDef | None) -> None:
        self._function = function
        self._owner = owner

    def is_followed(self, message: ast.AST) -> bool:
        """Whether what was said before stands right behind a message, or in a list of them.

        What stands between may be another in each turn; then only the whole list can tell.
        """
        above = blocks.parents_of(self._function)
        if isinstance(message, ast.List) and self._has_talk(message.elts):
            return True
        at, outer = message, above.get(message)
        while outer is not None:
            match outer:
                case ast.List(elts=items):
                    behind = items[[each is at for each in items].index(True) + 1 :]
                    following = next((each for each in behind if not _is_written(each)), None)
                    if following is not None:
                        return self._has_talk([following])
                case ast.BinOp(op=ast.Add(), left=left, right=right):
                    if left is at and self._is_talk(right):
                        return True
                case ast.Call(
                    func=ast.Attribute(value=owner, attr="insert"), args=[ast.Constant(value=0), _]
                ):
                    return self._is_talk(owner)
                case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
                    return self._gets_talk(name, outer.lineno)
                case _:
                    return False
            at, outer = outer, above.get(outer)
        return False

    def sends_more(self, request: ast.AST) -> bool:
        """Whether a request sends a list that is kept, or that its own rounds add to."""
        if not isinstance(request, ast.Call):
            return False
        sent = [keyword.value for keyword in request.keywords if keyword.arg in TALKS]
        return any(self._grows(each, request) for each in sent)

    def _grows(self, node: ast.expr, request: ast.Call) -> bool:
        match node:
            case ast.Attribute(value=ast.Name(id="self"), attr=name):
                return self._is_kept(name)
            case ast.BinOp(op=ast.Add(), left=left, right=right):
                return self._grows(left, request) or self._grows(right, request)
            case ast.List(elts=items):
                stars = (each.value for each in items if isinstance(each, ast.Starred))
                return any(self._grows(each, request) for each in stars)
            case ast.Name(id=name):
                return self._is_stored(name) or self._is_of_rounds(name, request)
            case ast.Call(func=ast.Attribute(value=ast.Name(id="self"), attr=name), args=[], keywords=[]):
                return self._gives_kept(name)
            case _:
                return False

    def _gives_kept(self, name: str) -> bool:
        """Whether a method of the object gives back its messages, with others in front."""
        for method in self._methods():
            given = [each.value for each in blocks.own_nodes(method) if isinstance(each, ast.Return)]
            if method.name == name and len(given) == 1 and given[0] is not None:
                kept = (blocks.name_of(each) for each in _parts(given[0]) if _is_own(each))
                return any(self._is_kept(each) for each in kept)
        return False

    def _is_kept(self, attribute: str) -> bool:
        """Whether the object keeps messages: answers are added, and nothing here begins anew."""
        if self._owner is None or not _says_talk(attribute):
            return False
        called = {
            blocks.name_of(each.func) for each in nodes_of(self._function) if isinstance(each, ast.Call)
        }
        answered, begins = _kept_in(self._owner, attribute)
        return answered and begins.isdisjoint({*called, self._function.name})

    def _methods(self) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
        body = self._owner.body if self._owner is not None else []
        return [each for each in body if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef)]

    def _is_stored(self, name: str) -> bool:
        """Whether a list is looked up among those of all conversations, and the answer is added to it."""
        bases, _ = blocks.definitions(name, self._function)
        values = [each.value for each in bases if isinstance(each, ast.Assign | ast.AnnAssign)]
        own = list(blocks.own_nodes(self._function))
        back = any(
            isinstance(each, ast.Assign)
            and isinstance(each.targets[0], ast.Subscript)
            and isinstance(each.value, ast.Name)
            and each.value.id == name
            for each in own
        )
        if len(values) != 1 or values[0] is None:
            return False
        if not any(_looks_up(each, back=back) for each in nodes_of(values[0])):
            return False
        return any(_adds_answer(each, name) for each in own)

    def _is_of_rounds(self, name: str, request: ast.Call) -> bool:
        """Whether the rounds in which a list is sent add the answers to it."""
        around = blocks.around(request, blocks.parents_of(self._function), self._function)
        loops = [outer for outer, _ in around if isinstance(outer, _LOOPS)]
        if not loops:
            return False
        bases, _ = blocks.definitions(name, self._function)
        fresh = any(blocks.is_in(each, loops[-1], blocks.parents_of(self._function)) for each in bases)
        return bool(bases) and not fresh and any(_adds_answer(each, name) for each in nodes_of(loops[-1]))

    def _has_talk(self, items: list[ast.expr]) -> bool:
        return any(isinstance(each, ast.Starred) and self._is_talk(each.value) for each in items)

    def _gets_talk(self, name: str, row: int) -> bool:
        """Whether what was said before is added to a list behind a row, and nothing else before it."""
        behind = [each for each in blocks.own_nodes(self._function) if getattr(each, "lineno", 0) >= row]
        for node in sorted(behind, key=lambda each: getattr(each, "lineno", 0)):
            match node:
                case ast.Call(func=ast.Attribute(value=ast.Name(id=to), attr=attr), args=[*_, it]):
                    if to == name and attr in _ADDS and not _is_written(it):
                        return attr == "extend" and self._is_talk(it)
                case ast.AugAssign(target=ast.Name(id=to), op=ast.Add(), value=it):
                    if to == name and not _is_written(it):
                        return self._is_talk(it)
                case ast.For(iter=it) | ast.AsyncFor(iter=it):
                    if any(_adds_answer(each, name) for each in nodes_of(node)) and self._is_talk(it):
                        return True
                case _:
                    continue
        return False

    def _is_talk(self, node: ast.expr) -> bool:
        """Whether something is what was said before, by its name, or that of what it is read from."""
        if isinstance(node, ast.List | ast.Dict | ast.Constant):
            return False
        if isinstance(node, ast.ListComp | ast.GeneratorExp):
            return self._is_talk(node.generators[0].iter)
        if any(map(_says_talk, map(blocks.name_of, _parts(node)))):
            return True
        if not isinstance(node, ast.Name):
            return False
        bases, _ = blocks.definitions(node.id, self._function)
        values = [each.value for each in bases if isinstance(each, ast.Assign) and len(bases) == 1]
        names = (blocks.name_of(part) for value in values for part in _parts(value))
        return any(_says_talk(each) or _STORED.fullmatch(each) is not None for each in names)


def _is_written(node: ast.AST) -> bool:
    """Whether a message stands in the source as it is sent, and is the same each time."""
    return not any(
        isinstance(each, ast.Call | ast.Attribute | ast.Starred)
        or (isinstance(each, ast.Name) and not each.id.isupper())
        for each in nodes_of(node)
    )


def _parts(node: ast.AST) -> list[ast.expr]:
    return [each for each in nodes_of(node) if isinstance(each, ast.Name | ast.Attribute)]


def _says_talk(name: str) -> bool:
    return bool(name) and says_history([name], [name])


def _is_own(node: ast.AST) -> bool:
    return isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self"


def _binds(node: ast.AST, attribute: str) -> bool:
    """Whether a statement gives an attribute a value that is not made of the one it has."""
    if not isinstance(node, ast.Assign | ast.AnnAssign) or node.value is None:
        return False
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    bound = any(isinstance(each, ast.Attribute) and each.attr == attribute for each in targets)
    return bound and attribute not in map(blocks.name_of, _parts(node.value))


def _adds_answer(node: ast.AST, name: str) -> bool:
    """Whether a list, by the last part of its name, gets more than questions: ``history.append(answer)``."""
    match node:
        case ast.Call(func=ast.Attribute(value=owner, attr=attr), args=[added]) if attr in _GROWS:
            return blocks.name_of(owner) == name and not _is_asked(added)
        case ast.AugAssign(target=target, op=ast.Add(), value=added):
            return blocks.name_of(target) == name and not _is_asked(added)
        case _:
            return False


def _is_asked(added: ast.expr) -> bool:
    if isinstance(added, ast.List):
        return all(map(_is_asked, added.elts))
    if not isinstance(added, ast.Dict):
        return isinstance(added, ast.Constant | ast.JoinedStr)
    roles = [
        value
        for key, value in zip(added.keys, added.values, strict=True)
        if isinstance(key, ast.Constant) and key.value == "role"
    ]
    return bool(roles) and isinstance(roles[0], ast.Constant) and roles[0].value in _ASKED


def _looks_up(node: ast.AST, *, back: bool) -> bool:
    """Whether a node looks up what is kept under a key; ``back``: it is put back there."""
    match node:
        case ast.Call(func=ast.Attribute(attr="setdefault"), args=[_, ast.List(elts=[])]):
            return True
        case ast.Call(func=ast.Attribute(attr="get")):
            return back
        case ast.Subscript(value=ast.Name() | ast.Attribute(), slice=ast.Name() | ast.Attribute()):
            return True
        case _:
            return False


@lru_cache(maxsize=64)  # a class has many methods that send
def _kept_in(owner: ast.ClassDef, attribute: str) -> tuple[bool, frozenset[str]]:
    """Whether answers are added to an attribute of a class, and by which methods it begins anew."""
    nodes = nodes_of(owner)
    functions = [each for each in nodes if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef)]
    begins = (
        function.name
        for function in functions
        if any(_binds(each, attribute) for each in blocks.own_nodes(function))
    )
    return any(_adds_answer(each, attribute) for each in nodes), frozenset(begins)
