"""Jinja2 templates that a program renders: ``Template(text).render(now=…)``, ``env.get_template(name)``.

Where static text and fields stand is the Jinja2 reader's business; `jinja_scope` tells it what fills them. A
value that fills a field of a literal stands in the literal; one that fills a field of a file stands at the
call, and its way leads through the field.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from promptcache_lint.errors import UnreadableFileError
from promptcache_lint.readers.jinja_parts import TemplateWalker
from promptcache_lint.readers.python.frame import Frame
from promptcache_lint.readers.python.jinja_files import file_named, file_read, written_in
from promptcache_lint.readers.python.jinja_places import Literal, as_filled
from promptcache_lint.readers.python.jinja_scope import Filler
from promptcache_lint.readers.python.values import (
    Map,
    Ref,
    Seq,
    Str,
    Thing,
    traits_of,
    union_of,
)

if TYPE_CHECKING:
    import ast
    from pathlib import Path

    from promptcache_lint.readers.python.calls import Call
    from promptcache_lint.readers.python.interpreter import Interpreter
    from promptcache_lint.readers.python.program import Class
    from promptcache_lint.readers.python.values import Value

__all__ = ["Environment", "JinjaTemplates", "Template"]

_ENVIRONMENT = re.compile(
    r"jinja2\.(?:sandbox\.|nativetypes\.)?(?:Immutable)?(?:Sandboxed|Native)?Environment"
)
_TEMPLATE = re.compile(r"jinja2\.(?:nativetypes\.Native|environment\.)?Template(?:\.from_code)?")
_LOADER = re.compile(r"jinja2\.(?:loaders\.)?(?:FileSystem|Package|Dict|Choice|Prefix)Loader")
_FLASK = {"flask.render_template": False, "flask.render_template_string": True}
_RENDERING = {"render", "render_async", "generate", "generate_async", "stream"}
_BY_NAME = {"get_template", "select_template", "get_or_select_template"}
_DEEPEST = 3


@dataclass(eq=False)
class Environment:
    """A Jinja2 environment: what its loaders are told, and the globals that are stored in it."""

    loaders: tuple[Value, ...] = ()
    shared: Map = field(default_factory=lambda: Map(()))


@dataclass(frozen=True, eq=False)
class Template:
    """A template: a text of the program, or a file of the tree; neither where it is not known."""

    text: Str | None
    file: Path | None
    environment: Environment


@dataclass(frozen=True)
class _Globals:
    """``env.globals``."""

    environment: Environment


class JinjaTemplates:
    """Makes and renders the templates of a program."""

    def __init__(self, machine: Interpreter) -> None:
        self._machine = machine

    def made(self, made: Call, frame: Frame) -> Value | None:
        """An environment, a loader, a template or a rendered text that a call makes; None for any other."""
        if "jinja2" not in made.dotted and made.dotted not in _FLASK:
            return None
        if _ENVIRONMENT.fullmatch(made.dotted):
            return Ref(made.dotted, Environment(tuple(made.values_given())))
        if _LOADER.fullmatch(made.dotted):
            return Seq(tuple(made.values_given()))
        if _TEMPLATE.fullmatch(made.dotted) and made.arguments:
            return self._template(made.values[0], Environment(), frame)
        if made.dotted in _FLASK and made.arguments:
            of_text, first = _FLASK[made.dotted], made.values[0]
            make = self._template if of_text else self._named
            template = make(first, Environment(), frame)
            target = template.target if isinstance(template, Ref) else None
            return self._rendered(target, made, frame) if isinstance(target, Template) else None
        return None

    def derived(self, cls: Class, made: Call) -> Value | None:
        """The environment that an object of a class is which only derives from Jinja2's; None for others."""
        if "__init__" in cls.methods or "jinja2" not in cls.module.source.text:
            return None
        for base in cls.node.bases:
            known = self._machine.evaluate(base, Frame(cls.module, owner=cls))
            if isinstance(known, Ref) and _ENVIRONMENT.fullmatch(known.dotted):
                return Ref(known.dotted, Environment(tuple(made.values_given())))
        return None

    def attribute(self, environment: Environment, name: str) -> Value:
        """An attribute of an environment."""
        return Ref("jinja2.globals", _Globals(environment)) if name == "globals" else Thing(name)

    def stored(self, container: Value, key: object, value: Value) -> None:
        """``env.globals[key] = value``."""
        if isinstance(container, Ref) and isinstance(container.target, _Globals) and isinstance(key, str):
            environment = container.target.environment
            environment.shared = environment.shared.set(key, value)

    def method(self, made: Call, receiver: Ref, name: str, frame: Frame) -> Value | None:
        """What a method of an environment or a template gives; None if ``receiver`` is none."""
        match receiver.target:
            case Environment() as environment if made.arguments and name in _BY_NAME:
                return self._named(made.values[0], environment, frame)
            case Environment() as environment if made.arguments and name == "from_string":
                return self._template(made.values[0], environment, frame)
            case Template() as template if name in _RENDERING:
                return self._rendered(template, made, frame)
            case _Globals() if name in {"update", "setdefault"}:
                for key, value in _given(made).items():
                    self.stored(receiver, key, value[0])
                return Thing(constant="None")
            case _:
                return None

    def _template(self, value: Value, environment: Environment, frame: Frame) -> Value:
        """The template that a text makes: a literal, or what is read from a file."""
        if isinstance(value, Str):
            return Ref("jinja2.Template()", Template(value, None, environment))
        module = frame.module
        roots = self._machine.program.roots
        found = file_read(value.label, module.path.parent, roots) if isinstance(value, Thing) else None
        return Ref("jinja2.Template()", Template(None, found, environment))

    def _named(self, value: Value, environment: Environment, frame: Frame) -> Value:
        """The template that a loader finds under a name, or the first of several names that it finds."""
        names = value.items if isinstance(value, Seq) else (value,)
        for name in (text for item in names if isinstance(item, Str) for text in written_in(item)):
            for loader in environment.loaders:
                for text in _texts(loader, name):
                    return Ref("jinja2.Template()", Template(text, None, environment))
            folders = [text for loader in environment.loaders for text in written_in(loader)]
            roots = self._machine.program.roots
            found = file_named(name, frame.module.path.parent, folders, roots)
            if found is not None:
                return Ref("jinja2.Template()", Template(None, found, environment))
        return Ref("jinja2.Template()", Template(None, None, environment))

    def _rendered(self, template: Template, made: Call, frame: Frame) -> Value:
        """The text that a template gives when it is rendered by ``made``."""
        shared = {key: (value, made.node) for key, value in template.environment.shared.pairs if key}
        filler = Filler(self._machine, frame, {**shared, **_given(made)})
        program, place = self._machine.program, frame.module.place(made.node)
        unknown = Thing(
            frame.module.label(made.node), union_of(traits_of(value) for value, _ in _given(made).values())
        )
        try:
            if template.text is not None:
                literal = Literal(template.text.parts, frame.module, program)
                scope = filler.scope(literal.text)
                scope.blocks.update(literal.holes)
                walker = TemplateWalker(program.workspace, frame.module.path, literal.source)
                return Str(literal.placed(walker.parts(literal.text, scope)))
            if template.file is None:
                return unknown
            text = template.file.read_text(encoding="utf-8").replace("\r\n", "\n")
            walker = TemplateWalker(
                program.workspace, template.file, program.workspace.source(template.file, text)
            )
            return Str(as_filled(walker.parts(text, filler.scope(text)), place))
        except (OSError, ValueError, UnreadableFileError):
            return unknown


def _given(made: Call) -> dict[str, tuple[Value, ast.expr]]:
    """The values that a call hands to a template, by their names."""
    given: dict[str, tuple[Value, ast.expr]] = {}
    for value, expression in made.arguments:
        if isinstance(value, Map):
            given |= {key: (inner, expression) for key, inner in value.pairs if key is not None}
    return given | made.named


def _texts(loader: Value, name: str) -> tuple[Str, ...]:
    """The text that a loader of texts has for a template."""
    match loader:
        case Map():
            found = loader.get(name)
            return (found,) if isinstance(found, Str) else ()
        case Seq():
            return tuple(text for item in loader.items for text in _texts(item, name))
        case _:
            return ()
