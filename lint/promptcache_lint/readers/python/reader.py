"""Reads Python files: picks those that can hold a prompt, and runs their modules and functions abstractly."""

from __future__ import annotations

import gc
import io
import tokenize
from contextlib import suppress
from typing import TYPE_CHECKING

from promptcache_lint.readers.clients import python_imports_client
from promptcache_lint.readers.python.conversations.finder import find_practices, may_handle_conversation
from promptcache_lint.readers.python.hinting import is_about_prompts, may_hold_prompt
from promptcache_lint.readers.python.interpreter import Interpreter
from promptcache_lint.readers.python.program import Program, parse_module
from promptcache_lint.readers.python.prompt_templates import has_open_fields
from promptcache_lint.readers.python.sinks import Sinks
from promptcache_lint.readers.python.tables import lambdas_of
from promptcache_lint.readers.unfollowed import unfollowed

if TYPE_CHECKING:
    from collections.abc import Iterable

    from promptcache_lint.places import Place, Source
    from promptcache_lint.prompts import Prompt
    from promptcache_lint.readers.python.program import Function, Module
    from promptcache_lint.readers.reading import InputFile, Workspace

__all__ = ["PythonReader"]


class PythonReader:
    """Reads ``.py`` files."""

    def read(self, file: InputFile, workspace: Workspace) -> Iterable[Prompt]:
        """The prompts in the file, with what reaches them from other modules of the tree."""
        machine = _machine(workspace)
        program = machine.program
        module = program.known(file.path, file.source)
        if program.moves_on(file.path) and module is None:
            _begin_anew(machine)  # imports stay in a package, mostly
        if module is None:
            text = file.source.text
            hinted = may_hold_prompt(text) if file.asked else is_about_prompts(text)
            hinted = hinted or may_handle_conversation(text)
            if not hinted and not file.asked and not python_imports_client(text):
                return []  # in a large tree most files end here, unparsed
            module = parse_module(file.path, file.source)
            if not hinted:
                return []
            program.add(module)
        prompts = _prompts(module, machine)
        told = [unfollowed(file.source)] if machine.gave_up else []
        return [*prompts, *find_practices(module, program), *told]

    def comments(self, source: Source) -> Iterable[tuple[Place, str]]:
        """Real comments, so that the same words in a string suppress nothing."""
        lines = io.StringIO(source.text).readline
        try:
            for token in tokenize.generate_tokens(lines):
                if token.type == tokenize.COMMENT:
                    start = source.offset(token.start[0], token.start[1] + 1)
                    yield source.place(start, start + len(token.string)), token.string
        except (tokenize.TokenError, SyntaxError, IndentationError):
            return


def _machine(workspace: Workspace) -> Interpreter:
    """The interpreter that all files of a run share, so that a module imported by many is run once."""
    machine = workspace.shared.get("python")
    if isinstance(machine, Interpreter) and machine.is_full:
        _begin_anew(machine)
    if not isinstance(machine, Interpreter):
        sinks = Sinks()
        machine = Interpreter(Program(workspace), workspace.vocabulary, sinks)
        sinks.machine = machine
        workspace.shared["python"] = machine
    return machine


def _begin_anew(machine: Interpreter) -> None:
    """Let a machine forget all. Frames and functions in them refer to each other, and hold whole modules."""
    machine.forget()
    gc.collect()


def _prompts(module: Module, machine: Interpreter) -> list[Prompt]:
    sinks = machine.sinks
    machine.begin_file()
    sinks.reading = module.source.path
    machine.module_frame(module)
    functions = [*module.functions.values(), *lambdas_of(machine.relevance.tables(module))]
    for cls in module.classes.values():
        functions += cls.methods.values()
    for function in functions:
        if not machine.relevance.holds_prompt(function):
            continue
        try:
            frame = machine.run_alone(function)
            sinks.returned(function, frame)
            for nested in list(frame.nested.values()):
                sinks.returned(nested, machine.run_alone_inside(nested, frame))
        except RecursionError:
            continue  # one expression of a thousand terms must not hide the other functions
    for method, cls, sure in machine.inheritance.inherited(module):
        sinks.doubtful = not sure
        with suppress(RecursionError):
            sinks.returned(method, machine.run_as(method, cls))
    sinks.doubtful = False
    for function in _filling(module, functions, machine):
        machine.run_alone(function)
    return sinks.bindings.judged(sinks.take(module.source.path), module)


def _filling(module: Module, functions: list[Function], machine: Interpreter) -> list[Function]:
    """The functions that say nothing of prompts, and use a template of the module that has open fields."""
    names = machine.module_frame(module).names
    templates = {name for name, value in names.items() if has_open_fields(value)}
    return [
        function
        for function in functions
        if templates & machine.relevance.words(function) and not machine.relevance.holds_prompt(function)
    ]
