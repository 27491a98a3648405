"""Objects of the program's own classes: how they are made, and what their attributes and methods are.

An attribute is what the constructor or another method stores, a property's result, or the class's own field.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from promptcache_lint.findings import Severity
from promptcache_lint.prompts import Stability
from promptcache_lint.readers.once import is_kept, sets_up
from promptcache_lint.readers.python.factories import factory_call
from promptcache_lint.readers.python.frame import Frame
from promptcache_lint.readers.python.program import Class
from promptcache_lint.readers.python.slices import Slices
from promptcache_lint.readers.python.values import Instance, Ref, Str, Thing, map_traits

if TYPE_CHECKING:
    import ast

    from promptcache_lint.places import Place
    from promptcache_lint.prompts import Part, Trait
    from promptcache_lint.readers.python.interpreter import Interpreter
    from promptcache_lint.readers.python.program import Function
    from promptcache_lint.readers.python.values import Value

__all__ = ["Objects", "kept_by_object", "settled", "settled_parts", "with_attributes"]

_DEEPEST = 6


class Objects:
    """The classes of a program, as its interpreter sees them."""

    def __init__(self, machine: Interpreter) -> None:
        self._machine = machine
        self._fields: dict[tuple[Class, str], Value | None] = {}
        self._bases: dict[Class, list[Class]] = {}
        self._setters: dict[Class, dict[str, list[Function]]] = {}
        self._slices = Slices(self._assigned_by)

    def forget(self) -> None:
        """Let go of all classes."""
        self._fields.clear()
        self._bases.clear()
        self._setters.clear()
        self._slices.forget()

    def instantiate(
        self, cls: Class, arguments: list[Value], named: dict[str, Value], frame: Frame, place: Place
    ) -> Value:
        """An object of a class of the program, with the attributes its constructor gives it."""
        constructor = self.method(cls, "__init__")
        if constructor is None:
            attributes = {**dict(zip(self._all_fields(cls), arguments, strict=False)), **named}
            return Instance(cls, tuple((attributes | self._made_anew(cls, attributes)).items()))
        _, left = self._machine.invoke(constructor, arguments, named, frame, place, bound=Instance(cls))
        stored = own_attributes(left) if left is not None else ()
        if is_kept(cls.name):
            stored = tuple((name, map_traits(value, kept_by_object)) for name, value in stored)
        return Instance(cls, stored)

    def _made_anew(self, cls: Class, given: dict[str, Value]) -> dict[str, Value]:
        """The fields that a factory fills for each object: ``field(default_factory=uuid4)``."""
        found: dict[str, Value] = {}
        for name, (owner, expression) in self._all_fields(cls).items():
            made = factory_call(expression) if name not in given else None
            if made is not None:
                found[name] = self._machine.evaluate(made, self._definition_frame(owner))
        return found

    def _all_fields(self, cls: Class, depth: int = 0) -> dict[str, tuple[Class, ast.expr | None]]:
        """The fields of a class and of its bases in the tree, those of the bases first."""
        found: dict[str, tuple[Class, ast.expr | None]] = {}
        for base in reversed(self.bases(cls)) if depth < _DEEPEST else ():
            found |= self._all_fields(base, depth + 1)
        return found | {name: (cls, expression) for name, expression in cls.fields.items()}

    @staticmethod
    def as_left(value: Value, function: Function, left: Frame) -> Value:
        """The result of a method, or its object as the method has left it, if it gives that back."""
        first = [*function.node.args.posonlyargs, *function.node.args.args][:1]
        if not isinstance(value, Instance) or not first or left.names.get(first[0].arg) is not value:
            return value
        return with_attributes(value, first[0].arg, left)

    def method(self, cls: Class, name: str, depth: int = 0) -> Function | None:
        """A method of a class or of its bases in the tree."""
        if name in cls.methods:
            return cls.methods[name]
        for base in self.bases(cls) if depth < _DEEPEST else ():
            found = self.method(base, name, depth + 1)
            if found is not None:
                return found
        return None

    def bases(self, cls: Class) -> list[Class]:
        """The base classes that the tree defines."""
        if cls not in self._bases:
            self._bases[cls] = []  # what a class that derives from itself finds
            self._bases[cls] = self._find_bases(cls)
        return self._bases[cls]

    def _find_bases(self, cls: Class) -> list[Class]:
        found = []
        for node in cls.node.bases:
            frame = self._definition_frame(cls)
            value = self._machine.evaluate(node, frame)
            if isinstance(value, Ref) and value.target is None:
                value = self._machine.defined(value, frame)
            if isinstance(value, Ref) and isinstance(value.target, Class) and value.target is not cls:
                found.append(value.target)
        return found

    def attribute(self, instance: Instance, name: str, frame: Frame, place: Place) -> Value | None:
        """An attribute of an object: given, a property, set by a method, or a field of the class."""
        value = instance.get(name)
        if value is not None:
            return value
        cls: Class = instance.cls
        method = self.method(cls, name)
        if method is not None:
            if "property" in method.decorators or "cached_property" in method.decorators:
                return self._machine.invoke(method, [], {}, frame, place, bound=instance)[0]
            return Ref(f"{cls.name}.{name}", method, instance)
        return self._machine.counters.of_class(cls).get(name) or self._stored(cls, name)

    def _stored(self, cls: Class, name: str, depth: int = 0) -> Value | None:
        key = (cls, name)
        if key in self._fields:
            return self._fields[key]
        self._fields[key] = None
        value = self._assigned_by_methods(cls, name)
        if value is None and cls.fields.get(name) is not None:
            expression = cls.fields[name]
            assert expression is not None
            made, frame = factory_call(expression), self._definition_frame(cls)
            value = self._machine.evaluate(made or expression, frame)
            value = settled(value) if made is None else map_traits(value, kept_by_object)
        value = self._machine.clients.field(value, cls, name)
        if value is None and depth < _DEEPEST:
            found = (self._stored(base, name, depth + 1) for base in self.bases(cls))
            value = next((inner for inner in found if inner is not None), None)
        self._fields[key] = value
        return value

    def _assigned_by_methods(self, cls: Class, name: str) -> Value | None:
        for method in self._assigning(cls).get(name, ()):
            if method in self._machine.running:
                continue
            frame = self._machine.run_only(method, self._slices.deciding(method, name))
            value = frame.names.get(f"self.{name}")
            if value is not None:
                return map_traits(value, kept_by_object) if sets_up(method.name) else value
        return None

    def _assigning(self, cls: Class) -> dict[str, list[Function]]:
        """The methods of a class that assign each attribute, the constructor first."""
        known = self._setters.get(cls)
        if known is None:
            known = self._setters[cls] = {}
            for method in sorted(cls.methods.values(), key=lambda method: method.name != "__init__"):
                for name in method.attributes:
                    known.setdefault(name, []).append(method)
        return known

    def _assigned_by(self, caller: Function, name: str) -> frozenset[str]:
        """The attributes that a method called ``name`` of the caller's object assigns."""
        method = self.method(caller.owner, name) if caller.owner is not None else None
        return method.attributes if method is not None else frozenset()

    @staticmethod
    def _definition_frame(owner: Class) -> Frame:
        return Frame(owner.module, owner=owner)


def kept_by_object(trait: Trait) -> Trait:
    """What an object takes when it is made holds as long as the object: for a conversation, as a rule."""
    if trait.mark.severity <= Severity.WARNING:
        return trait
    mark = replace(trait.mark, severity=Severity.WARNING, stability=Stability.CONVERSATION)
    return replace(trait, mark=mark)


def with_attributes(value: Instance, name: str, frame: Frame) -> Instance:
    """An object with the attributes that have been stored under its name."""
    prefix = f"{name}."
    stored = {key[len(prefix) :]: inner for key, inner in frame.names.items() if key.startswith(prefix)}
    return Instance(value.cls, tuple((dict(value.attributes) | stored).items())) if stored else value


def own_attributes(left: Frame) -> tuple[tuple[str, Value], ...]:
    """What a constructor or method has stored on ``self``."""
    return tuple((name[5:], value) for name, value in left.names.items() if name.startswith("self."))


def settled_parts(parts: tuple[Part, ...]) -> tuple[Part, ...]:
    """The parts of a text that is made once."""
    value = settled(Str(parts))
    assert isinstance(value, Str)
    return value.parts


def settled(value: Value) -> Value:
    """A value computed once, when its module was loaded. A text that a function built is only milder."""

    def once(trait: Trait) -> Trait:
        if trait.built:
            return replace(
                trait, mark=replace(trait.mark, severity=min(trait.mark.severity, Severity.WARNING))
            )
        return replace(trait, once=True) if not trait.mark.order else trait

    if isinstance(value, Thing) and value.constant is None and not value.traits:
        return Thing(value.label, (), value.type, None, settled=True)
    return map_traits(value, once)
