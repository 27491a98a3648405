"""Objects of the program's own classes: how they are made, and what their fields, getters and methods are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from promptcache_lint.readers.python.objects import settled
from promptcache_lint.readers.python.values import Instance, Ref, Thing
from promptcache_lint.readers.typescript.frame import Frame
from promptcache_lint.readers.typescript.module import Class, Closure

if TYPE_CHECKING:
    from tree_sitter import Node

    from promptcache_lint.places import Place
    from promptcache_lint.readers.python.values import Value
    from promptcache_lint.readers.typescript.machine import Machine
    from promptcache_lint.readers.typescript.module import Function

__all__ = ["Objects"]

_DEEPEST = 6


class Objects:
    """The classes of a program, as its machine sees them."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._fields: dict[tuple[Class, str], Value | None] = {}
        self._bases: dict[Class, Class | None] = {}

    def define(self, node: Node, name: str, frame: Frame) -> Ref:
        """The class a node defines."""
        module = frame.module
        cls = Class(module, node, name, frame, _base_node(node))
        body = node.child_by_field_name("body")
        for member in body.named_children if body is not None else ():
            self._member(cls, member)
        return Ref(name, cls)

    def _member(self, cls: Class, member: Node) -> None:
        key = member.child_by_field_name("name") or member.child_by_field_name("property")
        if key is None:
            return
        name = cls.module.text(key).lstrip("#").strip("\"'`")
        if member.type == "method_definition":
            cls.methods.setdefault(name, cls.module.function(member, name, cls))
            if name == "constructor":
                cls.properties = _parameter_properties(cls, member)
        elif member.type in {"public_field_definition", "field_definition"}:
            static = any(child.type == "static" for child in member.children)
            cls.fields[name] = (member.child_by_field_name("value"), static)
            said = member.child_by_field_name("type")
            if said is not None:
                cls.types[name] = said

    def instantiate(self, cls: Class, arguments: list[Value], frame: Frame, place: Place) -> Value:
        """An object of a class of the program, with the fields its constructor gives it."""
        constructor = self.method(cls, "constructor")
        if constructor is None or constructor.owner is None:
            return Instance(cls)
        _, left = self._machine.invoke(
            constructor, constructor.owner.frame, arguments, frame, place, this=Instance(cls), must=True
        )
        return Instance(cls, _own(left) if left is not None else ())

    def method(self, cls: Class, name: str, depth: int = 0) -> Function | None:
        """A method of a class or of its bases in the tree."""
        if name in cls.methods:
            return cls.methods[name]
        base = self.base(cls) if depth < _DEEPEST else None
        return self.method(base, name, depth + 1) if base is not None else None

    def base(self, cls: Class) -> Class | None:
        """The base class, where the tree defines it."""
        if cls not in self._bases:
            self._bases[cls] = None  # what a class that derives from itself finds
            if cls.base is not None:
                value = self._machine.evaluate(cls.base, cls.frame)
                if isinstance(value, Ref) and isinstance(value.target, Class) and value.target is not cls:
                    self._bases[cls] = value.target
        return self._bases[cls]

    def attribute(self, instance: Instance, name: str, frame: Frame, place: Place) -> Value | None:
        """A member of an object: given, a getter, a method, or a field."""
        value = instance.get(name)
        if value is not None:
            return value
        cls: Class = instance.cls
        method = self.method(cls, name)
        if method is not None and method.owner is not None:
            if method.kind == "get":
                return self._machine.invoke(method, method.owner.frame, [], frame, place, this=instance)[0]
            return Ref(f"{cls.name}.{name}", Closure(method, method.owner.frame), instance)
        return self._stored(cls, name)

    def static(self, cls: Class, name: str, frame: Frame, place: Place) -> Value | None:
        """A member of the class itself."""
        method = self.method(cls, name)
        if method is not None and method.owner is not None:
            if method.kind == "get":
                return self._machine.invoke(
                    method, method.owner.frame, [], frame, place, this=Ref(cls.name, cls)
                )[0]
            return Ref(f"{cls.name}.{name}", Closure(method, method.owner.frame), Ref(cls.name, cls))
        value = self._stored(cls, name)
        return settled(value) if value is not None else None

    def _stored(self, cls: Class, name: str, depth: int = 0) -> Value | None:
        key = (cls, name)
        if key in self._fields:
            return self._fields[key]
        self._fields[key] = None
        value = self._initial(cls, name) or self._assigned(cls, name)
        value = self._machine.clients.field(value, cls, name)
        base = self.base(cls) if value is None and depth < _DEEPEST else None
        if base is not None:
            value = self._stored(base, name, depth + 1)
        self._fields[key] = value
        return value

    def _initial(self, cls: Class, name: str) -> Value | None:
        constructor = cls.methods.get("constructor")
        if name in cls.properties and constructor is not None:
            if constructor in self._machine.running:
                return Thing(name)
            return self._machine.run_alone(Closure(constructor, cls.frame)).names.get(f"this.{name}")
        node, static = cls.fields.get(name, (None, False))
        if node is None:
            return None
        frame = Frame(cls.module, cls.methods.get("constructor"), cls.frame, this=Instance(cls))
        value = self._machine.evaluate(node, frame)
        return settled(value) if static else value

    def _assigned(self, cls: Class, name: str) -> Value | None:
        methods = sorted(cls.methods.values(), key=lambda method: method.name != "constructor")
        for method in methods:
            if method in self._machine.running or f"this.{name}" not in method.text:
                continue
            if f"this.{name} =" not in method.text and f"this.{name}=" not in method.text:
                continue
            value = self._machine.run_alone(Closure(method, cls.frame)).names.get(f"this.{name}")
            if value is not None:
                return value
        return None


def _base_node(node: Node) -> Node | None:
    heritage = next((child for child in node.named_children if child.type == "class_heritage"), None)
    if heritage is None or not heritage.named_children:
        return None
    clause = heritage.named_children[0]
    return clause.child_by_field_name("value") if clause.type == "extends_clause" else clause


def _parameter_properties(cls: Class, method: Node) -> tuple[str, ...]:
    parameters = method.child_by_field_name("parameters")
    found = []
    for parameter in parameters.named_children if parameters is not None else ():
        words = {child.type for child in parameter.children}
        pattern = parameter.child_by_field_name("pattern")
        if pattern is not None and words & {"accessibility_modifier", "readonly"}:
            found.append(cls.module.text(pattern))
    return tuple(found)


def _own(left: Frame) -> tuple[tuple[str, Value], ...]:
    """What a constructor has stored on ``this``."""
    return tuple((name[5:], value) for name, value in left.names.items() if name.startswith("this."))
