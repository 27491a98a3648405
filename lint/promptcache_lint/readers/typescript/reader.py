"""Reads TypeScript and JavaScript: picks files that may hold a prompt, and runs their functions."""

from __future__ import annotations

import gc
from pathlib import Path
from typing import TYPE_CHECKING

from promptcache_lint.errors import MissingExtraError, UnreadableFileError
from promptcache_lint.readers.clients import imports_client
from promptcache_lint.readers.typescript.conversations.finder import find_practices
from promptcache_lint.readers.typescript.declared import sink_words
from promptcache_lint.readers.typescript.grammar import comments, first_error, is_installed, parse
from promptcache_lint.readers.typescript.machine import Machine
from promptcache_lint.readers.typescript.module import Module
from promptcache_lint.readers.typescript.program import Program, parse_module
from promptcache_lint.readers.typescript.relevance import is_shipped, may_hold_prompt
from promptcache_lint.readers.typescript.sinks import Sinks
from promptcache_lint.readers.unfollowed import unfollowed

if TYPE_CHECKING:
    from collections.abc import Iterable

    from promptcache_lint.places import Place, Source
    from promptcache_lint.prompts import Prompt
    from promptcache_lint.readers.reading import InputFile, Workspace
    from promptcache_lint.readers.typescript.frame import Frame
    from promptcache_lint.readers.typescript.module import Function

__all__ = ["TypeScriptReader"]

_MOST_FUNCTIONS = 2000
_LARGEST = 2_000_000
_LARGEST_MINIFIED = 200_000
"""Characters beyond which code, or minified code, is a bundle: what a program was made into."""
_LONG_LINES = 400
_MOST_LOST = 0.2
"""The share of a file that may be unreadable before that is said."""


class TypeScriptReader:
    """Reads ``.ts``, ``.tsx``, ``.js``, ``.jsx`` and their module spellings."""

    def read(self, file: InputFile, workspace: Workspace) -> Iterable[Prompt]:
        """The prompts in the file, with what reaches them from other modules of the tree.

        Raises `MissingExtraError`, once in a run, where tree-sitter is not installed, and
        `UnreadableFileError` for a bundle that was asked for, and for a file with so little valid syntax that
        nothing was found in it.
        """
        _refuse_bundle(file)
        if not self.may_hold_prompt(file, workspace):
            shipped = file.asked or is_shipped(file.source.called, file.source.text)
            if shipped and imports_client(file.source.text) and is_installed():
                _refuse_broken(parse_module(file.path, file.source), file)
            return []  # in a large tree most files end here, unparsed
        if not is_installed():
            return self._skipped(workspace)
        machine = _machine(workspace)
        module = machine.program.known(file.path, file.source)
        if module is None:
            module = parse_module(file.path, file.source)
            machine.program.add(module)
        prompts = _prompts(module, machine)
        if not prompts:
            _refuse_broken(module, file)
        return [*prompts, unfollowed(file.source)] if machine.gave_up else prompts

    @staticmethod
    def may_hold_prompt(file: InputFile, workspace: Workspace) -> bool:
        """Whether a file is worth parsing: it hints at prompts and goes into production."""
        text = file.source.text
        hinted = may_hold_prompt(text, sink_words(workspace.vocabulary))
        return hinted and (file.asked or is_shipped(file.source.called, text))

    @staticmethod
    def _skipped(workspace: Workspace) -> Iterable[Prompt]:
        """One note for all files that cannot be read without the extra."""
        if workspace.shared.setdefault("typescript skipped", False):
            return []
        workspace.shared["typescript skipped"] = True
        raise MissingExtraError("TypeScript and JavaScript", "ts")

    def comments(self, source: Source) -> Iterable[tuple[Place, str]]:
        """Real comments, so that the same words in a string suppress nothing."""
        if not is_installed():
            return
        data = source.text.encode("utf-8", "replace")
        suffix = source.path[source.path.rfind(".") :].lower()
        tree = parse(data, suffix)
        module = Module(Path(source.path), source, tree, data)
        for node in comments(tree.root_node):
            yield module.place(node), module.text(node)


def _refuse_bundle(file: InputFile) -> None:
    """Say that a bundle is not read; in a folder such files are passed over."""
    size = len(file.source.text)
    minified = size > _LARGEST_MINIFIED and size / (file.source.text.count("\n") + 1) > _LONG_LINES
    if file.asked and (size > _LARGEST or minified):
        what = f"Not read: {size / 2**20:.1f} MiB of code is a bundle, and no source."
        raise UnreadableFileError(f"{what} Lint what it was made of.")


def _refuse_broken(module: Module, file: InputFile) -> None:
    error = first_error(module.tree.root_node)
    if error is not None and _is_broken(module):
        place = module.place(error)
        raise UnreadableFileError(f"Not valid {_language(file)}.", row=place.row, column=place.column)


def _is_broken(module: Module) -> bool:
    """Whether much of a file is no syntax; new syntax that the grammar does not know yet is a small part."""
    root = module.tree.root_node
    lost = sum(
        node.end_byte - node.start_byte for node in root.children if node.type == "ERROR" or node.is_missing
    )
    return root.type == "ERROR" or lost > _MOST_LOST * len(module.data)


def _language(file: InputFile) -> str:
    return "TypeScript" if "ts" in file.path.suffix else "JavaScript"


def _machine(workspace: Workspace) -> Machine:
    """The machine that all files of a run share, so that a module imported by many is run once."""
    machine = workspace.shared.get("typescript")
    if isinstance(machine, Machine) and machine.is_full:
        del machine, workspace.shared["typescript"]
        gc.collect()  # what a machine remembers refers to itself everywhere
        machine = None
    if not isinstance(machine, Machine):
        sinks = Sinks()
        machine = Machine(Program(workspace), workspace.vocabulary, sinks)
        sinks.machine = machine
        workspace.shared["typescript"] = machine
    return machine


def _prompts(module: Module, machine: Machine) -> list[Prompt]:
    machine.begin_file()
    _run_functions(machine.module_frame(module), machine)
    return [*machine.sinks.take(module.source.path), *find_practices(module, machine.program)]


def _run_functions(outer: Frame, machine: Machine) -> None:
    """Run what was defined in a frame, and what is defined in that, each function once."""
    waiting = list(outer.made)
    done: set[Function] = set()
    while waiting and len(done) < _MOST_FUNCTIONS:
        closure = waiting.pop(0)
        function = closure.function
        if function in done or not machine.relevance.holds_prompt(function):
            continue
        done.add(function)
        try:
            frame = machine.run_alone(closure)
        except RecursionError:
            continue  # one expression of a thousand terms must not hide the other functions
        machine.sinks.returned(function, frame)
        waiting += frame.made
