"""`Template`: a Jinja2 prompt template that says which of its variables change.

Static variables shape the beginning, volatile ones come last. The part before the first volatile variable is
the prefix: a text of its own, with a hash, equal in every process. What a template renders depends on its
variables alone: `tojson` writes canonical JSON, sets are sorted, a missing variable is an error, and nothing
random exists. Where turns are kept is `promptcache.conversation`.
"""

from __future__ import annotations

import warnings
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import jinja2

from promptcache.causes import get_cause
from promptcache.errors import CanonicalJSONError, ConversationError, PromptCacheWarning, TemplateError
from promptcache.rendering.environment import make_environment, settled
from promptcache.rendering.layout import Layout, Splitter
from promptcache.turns import given
from promptcache.turns.static import check_static

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Mapping

__all__ = ["Template"]

_STRANDED_LIMIT: Final = 160
"""So many characters of literal text behind the first volatile variable are an ending and no fault."""


class Template:
    """A prompt template with declared variables.

    ``static`` and ``volatile`` name the variables; every variable the source uses must be in one of them.
    ``includes`` are further sources by name, for ``{% include %}`` and ``{% import %}``. ``known_static``
    lists literals that look volatile and are not.

    Literals before the first volatile variable that will change, and much static text behind it, are
    warnings (`promptcache.errors.PromptCacheWarning`); with ``strict`` they are errors. Raises
    `promptcache.errors.TemplateError` for bad syntax and undeclared variables.

    >>> hello = Template("hello", "You serve {{ shop }}. It is {{ now }}.", static=["shop"], volatile=["now"])
    >>> hello.render(shop="Lark Bikes", now="18:04")
    'You serve Lark Bikes. It is 18:04.'
    >>> hello.prefix(shop="Lark Bikes")
    'You serve Lark Bikes. It is '
    """

    def __init__(
        self,
        name: str,
        source: str,
        *,
        static: Iterable[str] = (),
        volatile: Iterable[str] = (),
        includes: Mapping[str, str] | None = None,
        known_static: Iterable[str] = (),
        strict: bool = False,
    ) -> None:
        for where, value in (("name", name), ("source", source)):
            if not isinstance(value, str):
                raise TemplateError(
                    str(name), f"its {where} is a {type(value).__name__}", remedy="Give a str."
                )
        self.name = name
        self.source = source
        self.static = self._names("static", static)
        self.volatile = self._names("volatile", volatile)
        known = self._names("known_static", known_static)
        self._includes = dict(includes or {})
        self._environment = make_environment(jinja2.DictLoader({**self._includes, name: source}))
        try:
            layout = Splitter(self._environment, self.volatile).split(name)
            self._whole = self._environment.get_template(name)
            self._head = self._compiled(layout)
        except jinja2.TemplateError as error:
            raise self._failure(error) from error
        self._check_names(layout)
        self._check_order(layout, strict=strict)
        texts = [(f"the template {name!r}", text) for text in layout.literals]
        check_static(texts, known=known, strict=strict, stacklevel=2)

    @classmethod
    def load(cls, path: str | os.PathLike[str], **declarations: Any) -> Template:
        """Read a template from a file; its includes are looked up beside it.

        ``declarations`` are the keywords of the class. The name is the file's, without its endings.
        """
        path = Path(path)
        try:
            source = path.read_text(encoding="utf-8")
            beside = {file.name: file for file in path.parent.iterdir() if file.is_file() and file != path}
            includes = {
                name: beside[name].read_text(encoding="utf-8") for name in _referenced(source, beside)
            }
        except (OSError, UnicodeDecodeError) as error:
            raise TemplateError(str(path), f"it cannot be read ({error})") from error
        return cls(path.name.split(".")[0], source, includes=includes, **declarations)

    @property
    def hash(self) -> str:
        """A hash of the source, its includes and its declarations: 12 hex digits."""
        parts = [self.source, *sorted(self.static), "", *sorted(self.volatile), ""]
        for name in sorted(self._includes):
            parts += [name, self._includes[name]]
        return _digest("\0".join(parts), 6)

    @property
    def identity(self) -> str:
        """``name@hash``: another source is another template."""
        return f"{self.name}@{self.hash}"

    def render(self, **variables: Any) -> str:
        """Return the whole text; raises `promptcache.errors.TemplateError` when a variable is missing."""
        return self._rendered(self._whole, variables, self.static | self.volatile)

    def prefix(self, **variables: Any) -> str:
        """Return the part that only static variables shape; every rendering with them begins with it."""
        return self._rendered(self._head, variables, self.static)

    def prefix_hash(self, **variables: Any) -> str:
        """Return a hash of `prefix` with these variables: 32 hex digits, the same in every process."""
        return _digest(self.prefix(**variables), 16)

    def __repr__(self) -> str:
        return f"<Template {self.identity}>"

    def _compiled(self, layout: Layout) -> jinja2.Template:
        code = self._environment.compile(layout.head, self.name)
        return jinja2.Template.from_code(self._environment, code, self._environment.make_globals(None))

    def _rendered(self, template: jinja2.Template, variables: dict[str, Any], needed: frozenset[str]) -> str:
        missing, unknown = (
            sorted(needed - variables.keys()),
            sorted(variables.keys() - self.static - self.volatile),
        )
        if missing or unknown:
            what = f"{missing[0]!r} is missing" if missing else f"{unknown[0]!r} is not declared"
            raise TemplateError(self.name, what, remedy=self._declared())
        try:
            return template.render({name: settled(variables[name]) for name in needed})
        except (jinja2.TemplateError, CanonicalJSONError) as error:
            raise self._failure(error) from error

    def _names(self, where: str, names: Iterable[str]) -> frozenset[str]:
        """Return names given as a list or the like; one text is refused, not taken apart."""
        try:
            return frozenset(given.texts(list(names) if isinstance(names, dict) else names, where))
        except ConversationError as error:
            raise TemplateError(self.name, error.message.rstrip("."), remedy=error.remedy) from None

    def _check_names(self, layout: Layout) -> None:
        both = sorted(self.static & self.volatile)
        undeclared = sorted(layout.undeclared - self.static - self.volatile)
        if both:
            raise TemplateError(self.name, f"{both[0]!r} is declared both static and volatile")
        if undeclared:
            remedy = "Declare each variable in static= or volatile=."
            raise TemplateError(self.name, f"{', '.join(map(repr, undeclared))} not declared", remedy=remedy)
        if layout.extends:
            remedy = "Use include: then the order of the text stands in one file."
            raise TemplateError(
                self.name, "it extends another template, which hides its order", remedy=remedy
            )

    def _check_order(self, layout: Layout, *, strict: bool) -> None:
        if layout.stranded <= _STRANDED_LIMIT:
            return
        problem = f"{layout.stranded} characters of static text stand behind the first volatile variable"
        remedy = get_cause("PC401").remedy
        if strict:
            raise TemplateError(self.name, f"{problem} (PC401)", remedy=remedy)
        message = f"In the template {self.name!r} {problem}."
        warnings.warn(PromptCacheWarning(message, code="PC401", remedy=remedy), stacklevel=3)

    def _failure(self, error: Exception) -> TemplateError:
        line = getattr(error, "lineno", None)
        where = f"line {line}: " if line else ""
        problem = getattr(error, "problem", None) or getattr(error, "message", None) or str(error)
        return TemplateError(self.name, f"{where}{problem}".rstrip("."))

    def _declared(self) -> str:
        static, volatile = (", ".join(sorted(names)) or "none" for names in (self.static, self.volatile))
        return f"Declared static: {static}; volatile: {volatile}."


def _referenced(source: str, beside: Mapping[str, Path]) -> set[str]:
    """Return the names of the files a source refers to, and those they refer to."""
    found: set[str] = set()
    waiting = [source]
    environment = make_environment(jinja2.DictLoader({}))
    while waiting:
        try:
            names = jinja2.meta.find_referenced_templates(environment.parse(waiting.pop()))
        except jinja2.TemplateSyntaxError:
            continue  # reported with its line when the template is made
        for name in names:
            if name is not None and name in beside and name not in found:
                found.add(name)
                waiting.append(beside[name].read_text(encoding="utf-8"))
    return found


def _digest(text: str, size: int) -> str:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=size).hexdigest()
