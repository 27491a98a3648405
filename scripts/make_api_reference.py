"""Writes docs/reference/ from the docstrings of the SDK's public names.

    python scripts/make_api_reference.py          # writes the pages
    python scripts/make_api_reference.py --check  # says whether they are up to date, and writes nothing

A page holds the names in the ``__all__`` of its modules, each under the shortest path by which it can be
imported.
"""

from __future__ import annotations

import argparse
import dataclasses
import inspect
import re
import sys
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import promptcache

if TYPE_CHECKING:
    from collections.abc import Iterator

FOLDER = Path(__file__).parents[1] / "docs" / "reference"
PAGES = {
    "conversation": ("conversation", "turns.images", "turns.prefix_move", "forms.marks"),
    "template": ("template",),
    "canonical_json": ("canonical",),
    "many_requests": ("batches", "fan_out", "cache_keys"),
    "requests": ("segments", "divergence", "check", "breakpoints", "chat_templates"),
    "causes": ("causes", "detectors"),
    "usage": ("usage", "prices", "counters", "providers"),
    "errors": ("errors",),
}
GENERATED = "<!-- Written by scripts/make_api_reference.py from docstrings; change those. -->"


def pages() -> dict[str, str]:
    """Return every page's text by its file name."""
    written = {f"{name}.md": page(name, modules) for name, modules in PAGES.items()}
    written["causes.md"] += catalogue()
    return {"README.md": index(), **written}


def index() -> str:
    """Return the page that leads to the others."""
    rows = []
    for name, modules in PAGES.items():
        names = (f"`{public}`" for module in modules for public in names_of(module))
        rows.append(f"| [{name}]({name}.md) | {', '.join(dict.fromkeys(names))} |")
    head = (
        "# API reference of the SDK\n\nEverything public, from its docstrings.\n\n| page | names |\n|---|---|"
    )
    return f"{GENERATED}\n\n{head}\n" + "\n".join(rows) + "\n"


def page(name: str, modules: tuple[str, ...]) -> str:
    """Return the page of some modules."""
    sections = [f"{GENERATED}\n\n# {name.replace('_', ' ').capitalize()}\n"]
    for module in modules:
        home = import_module(f"promptcache.{module}")
        sections.append(f"{text_of(home)}\n")
        sections += [
            section(f"{shortest(module, public)}.{public}", getattr(home, public))
            for public in names_of(module)
        ]
    return "\n".join(sections)


def names_of(module: str) -> list[str]:
    """Return the public names of a module, classes and functions first."""
    home = import_module(f"promptcache.{module}")
    return sorted(home.__all__, key=lambda name: (not callable(getattr(home, name)), name.lower()))


def shortest(module: str, name: str) -> str:
    """Return the shortest path a name can be imported from."""
    return "promptcache" if name in promptcache.__all__ else f"promptcache.{module}"


def section(path: str, value: Any) -> str:
    """Return what is to be said of one name."""
    if inspect.isclass(value):
        return "\n".join([heading(2, path, signature(value)), text_of(value), "", *members(value)])
    if inspect.isroutine(value):
        return f"{heading(2, path, signature(value))}\n{text_of(value)}\n"
    return f"## `{path}`\n"


def heading(level: int, path: str, call: str) -> str:
    """Return a heading with the call beneath it."""
    name = path.rpartition(".")[2]
    return f"{'#' * level} `{path}`\n\n```python\n{name}{call}\n```\n"


def members(cls: type) -> Iterator[str]:
    """Yield the public methods and properties of a class, those of its bases too."""
    if dataclasses.is_dataclass(cls):
        yield from (f"- `{field.name}: {field.type}`" for field in dataclasses.fields(cls))
        yield ""
    for name, value in sorted(inspect.getmembers_static(cls), key=lambda member: member[0]):
        home = next((base for base in cls.__mro__ if name in vars(base)), object)
        if name.startswith("_") or not home.__module__.startswith("promptcache"):
            continue
        path = f"{cls.__name__}.{name}"
        if isinstance(value, property):
            yield f"### `{path}`\n\n{text_of(value)}\n"
        elif isinstance(value, (classmethod, staticmethod)) or inspect.isroutine(value):
            yield f"{heading(3, path, signature(getattr(cls, name)))}\n{text_of(value)}\n"


class Bare(str):
    """An annotation that shows without quotes."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def bare(annotation: Any) -> Any:
    """Return an annotation that is text so that it shows as written."""
    return Bare(annotation) if isinstance(annotation, str) else annotation


def signature(value: Any) -> str:
    """Return how a name is called, a long call in several lines; "" where Python does not know."""
    try:
        found = inspect.signature(value)
    except (TypeError, ValueError):
        return ""
    parameters = [
        one.replace(annotation=bare(one.annotation))
        for one in found.parameters.values()
        if one.name != "self"
    ]
    text = str(found.replace(parameters=parameters, return_annotation=bare(found.return_annotation)))
    text = text if not inspect.isclass(value) else text.removesuffix(" -> None")
    if len(text) < 80 or not parameters:
        return text
    inner, _, answer = text.removeprefix("(").rpartition(")")
    lines = re.sub(r", (?=\*|/|\w+(?::|=|,|$))(?![^\[(]*[\])])", ",\n    ", inner)
    return f"(\n    {lines},\n){answer}" if "**" not in lines else f"(\n    {lines}\n){answer}"


def text_of(value: Any) -> str:
    """Return a docstring as Markdown: literals in single quotes, examples in fences."""
    text = inspect.getdoc(value) or ""
    text = re.sub(r"``([^`]+)``", r"`\1`", text)
    text = re.sub(r"::\n", ":\n", text)
    examples = re.compile(r"((?:^>>> .*\n?(?:^(?!$|>>> ).*\n?)*)+)", re.MULTILINE)
    return examples.sub(lambda found: f"```python\n{found[1].rstrip()}\n```\n", text)


def catalogue() -> str:
    """Return the table of all causes."""
    rows = [
        f"| {cause.code} | {cause.name} | {cause.title} | {cause.remedy} |"
        for cause in promptcache.CAUSES.values()
    ]
    return (
        "\n## The catalogue\n\n| code | name | what | remedy |\n|---|---|---|---|\n" + "\n".join(rows) + "\n"
    )


def main() -> int:
    """Write the pages, or compare them."""
    parser = argparse.ArgumentParser(description="Write docs/reference/ from docstrings.")
    parser.add_argument("--check", action="store_true", help="compare, and write nothing")
    options = parser.parse_args()
    wanted = pages()
    there = {path.name: path.read_text(encoding="utf-8") for path in FOLDER.glob("*.md")}
    if options.check:
        stale = sorted(name for name in wanted.keys() | there.keys() if wanted.get(name) != there.get(name))
        print(f"out of date: {', '.join(stale)}" if stale else "up to date")
        return 1 if stale else 0
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name in there.keys() - wanted.keys():
        (FOLDER / name).unlink()
    for name, text in wanted.items():
        (FOLDER / name).write_text(text, encoding="utf-8")
    print(f"{len(wanted)} pages in {FOLDER}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
