"""Prompts in JSON, YAML and TOML files, in the shapes people use.

Lists of messages (OpenAI, Anthropic with ``system`` and ``cache_control``, LangChain's pairs), maps with
``system`` and ``user`` keys, promptfoo's ``prompts``, LangChain's ``template``, and plain maps of names to
prompt texts. Other data in the same file is left alone.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from promptcache_lint.exposure import holds_input
from promptcache_lint.prompts import Prompt, Segment
from promptcache_lint.readers.chat_templates import (
    clocks_in_chat_template,
    is_chat_template,
    judge_chat_template,
)
from promptcache_lint.readers.entries import is_said_to_a_model, role_of_key
from promptcache_lint.readers.json_tree import parse_json, parse_json_lines
from promptcache_lint.readers.labels import holds_labels, is_prompts_name
from promptcache_lint.readers.messages import MARKS, constructed, marked, only_marks, spoken
from promptcache_lint.readers.placeholders import has_placeholder, template_parts
from promptcache_lint.readers.tree import Entries, Items, Node, Scalar
from promptcache_lint.readers.yaml_tree import parse_toml, parse_yaml
from promptcache_lint.wording import opens_like_prompt, role_of_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from promptcache_lint.places import Place, Source
    from promptcache_lint.prompts import Part, Role
    from promptcache_lint.readers.reading import InputFile, Workspace

__all__ = ["DataReader"]

_COMMENT = re.compile(r"(?:^|\s)#(.*)$", re.MULTILINE)
_SLASHES = re.compile(r"(?:^|\s)//(.*)$", re.MULTILINE)
_USER_KEYS = frozenset({"user", "human", "question", "input", "user_input", "query"})
_DECLARES_TEMPLATE = frozenset({"input_variables", "template_format", "_type", "prompt_template", "inputs"})
_LISTS = ("messages", "input", "contents")
_CREW = ("role", "goal", "backstory")
_WORDS = re.compile(r"\w+\W+\w+")


class DataReader:
    """Reads ``.json``, ``.yaml``, ``.yml`` and ``.toml``."""

    def read(self, file: InputFile, workspace: Workspace) -> Iterable[Prompt]:
        """The prompts in the file, outermost first."""
        text = file.source.text
        match file.path.suffix.lower():
            case ".json":
                documents: Iterable[Node] = (parse_json(text),)
            case ".jsonl" | ".ndjson":
                documents = parse_json_lines(text)
            case ".toml":
                documents = (parse_toml(text),)
            case _:
                documents = tuple(parse_yaml(text))
        finder = _Finder(file, workspace)
        for document in documents:
            yield from finder.find(document, "", role_of_name(file.path.stem))

    def comments(self, source: Source) -> Iterable[tuple[Place, str]]:
        """``#`` comments; in JSON files, which have none, ``//``."""
        pattern, mark = (_SLASHES, 2) if source.path.endswith((".json", ".jsonl")) else (_COMMENT, 1)
        for match in pattern.finditer(source.text):
            yield source.place(match.start(1) - mark, match.end()), match[1]


class _Finder:
    """Goes through a tree and recognises prompts by their shape."""

    def __init__(self, file: InputFile, workspace: Workspace) -> None:
        self._source = file.source
        self._path = file.path
        self._workspace = workspace
        called = PurePosixPath(file.source.called)
        self._labels = holds_labels(called)
        self._among_prompts = any(
            role_of_name(folder) in {"prompt", "system"} for folder in called.parts[:-1]
        )

    def find(self, node: Node, name: str, role: Role | None) -> Iterator[Prompt]:
        """The prompts in ``node``, which stands under ``name``; ``role`` is what the names above suggest."""
        match node:
            case Entries():
                yield from self._in_entries(node, name, role)
            case Items():
                messages = self._messages(node.items)
                if messages:
                    yield self._prompt(name or "messages", node, messages)
                    return
                for item in node.items:
                    yield from self.find(item, name, role)
            case Scalar():
                yield from self._in_text(node, name, role)

    def _in_text(self, node: Scalar, name: str, role: Role | None) -> Iterator[Prompt]:
        if role is None or not isinstance(node.value, str) or not _WORDS.search(node.value):
            return
        if self._is_label(name, node):
            return
        parts = self._parts(node)
        if role == "prompt" and opens_like_prompt(node.value) and not holds_input(parts):
            role = "system"
        path = "system" if role == "system" else "messages[0]"
        yield self._prompt(name, node, (Segment(path, role, parts, newest=role == "user"),))

    def _in_entries(self, node: Entries, name: str, role: Role | None) -> Iterator[Prompt]:
        whole = self._whole(node, name)
        if whole is not None:
            yield whole
            return
        request = self._request(node)
        used = (
            {*_LISTS, "tools", *_USER_KEYS, *(key for key, _ in self._system_keys(node))}
            if request
            else set()
        )
        if request:
            model = node.text("model") or node.text("modelId") or ""
            lists = any(isinstance(node.get(key), Items) for key in _LISTS)
            recorded = bool(model) and (lists or _asks_in_words(node))
            place = self._source.place(node.start, node.end)
            yield Prompt(
                name or "request",
                place,
                request,
                recorded=recorded,
                model=model,
                proven=True,
                written=True,
            )
        declared = any(key in _DECLARES_TEMPLATE for key, _ in node.pairs)
        for key, value in node.pairs:
            if key in used:
                continue
            if key == "chat_template":
                yield from self._chat_templates(value)
                continue
            inner = role_of_key(key)
            takes = is_said_to_a_model(key, value)
            if inner is None and role is not None and takes:
                inner = role
            if inner is None and declared and key == "template":
                inner = "prompt"
            if inner is None and self._among_prompts and _opens(value):
                inner = "prompt"
            yield from self.find(value, key, inner)

    def _whole(self, node: Entries, name: str) -> Prompt | None:
        """A mapping that is one prompt in pieces: a serialized message, few-shot parts, a crew's agent."""
        speaker, content = constructed(node) or ("user", None)
        if content is not None:
            path = "system" if speaker == "system" else "messages[0]"
            segments = tuple(self._blocks(content, path, speaker, newest=speaker == "user"))
            return self._prompt(name or speaker, node, segments)
        if all(isinstance(node.get(key), Scalar) for key in _CREW):
            parts = tuple(part for key in _CREW for part in self._texts(node.get(key) or node))
            return self._prompt(name or "agent", node, (Segment("system", "system", parts),))
        if node.get("suffix") is not None and node.get("example_prompt") is not None:
            pieces = [node.get(key) for key in ("prefix", "suffix")]
            parts = tuple(part for piece in pieces if piece is not None for part in self._texts(piece))
            return self._prompt(name or "few_shot", node, (Segment("messages[0]", "prompt", parts),))
        return None

    def _chat_templates(self, node: Node) -> Iterator[Prompt]:
        """A tokenizer's chat template: one text, or a list of named ones."""
        if isinstance(node, Items):
            for item in node.items:
                inner = item.get("template") if isinstance(item, Entries) else None
                if inner is not None:
                    yield from self._chat_templates(inner)
        elif isinstance(node, Scalar) and isinstance(node.value, str) and is_chat_template(node.value):
            place = self._source.place(node.start, min(node.end, node.start + 40))
            practices = judge_chat_template(node.value, place)
            clocks = clocks_in_chat_template(node.value, self._path, place, self._workspace)
            segments = (Segment("system", "system", clocks),) if clocks else ()
            yield Prompt(
                "chat template",
                place,
                segments,
                layout=False,
                practices=practices,
                proven=True,
                written=True,
            )

    def _request(self, node: Entries) -> tuple[Segment, ...]:
        segments: list[Segment] = []
        tools = node.get("tools")
        config = node.get("toolConfig")
        if tools is None and isinstance(config, Entries):
            tools = config.get("tools")
        if isinstance(tools, Items):
            for index, tool in enumerate(tools.items):
                marks = marked(tool, self._source)
                if only_marks(tool) and segments:
                    segments[-1] = replace(segments[-1], **marks)
                    continue
                segments.append(Segment(f"tools[{index}]", "tool", tuple(self._texts(tool)), **marks))
        systems = self._system_keys(node)
        for key, value in systems:
            segments += self._blocks(value, key, "system")
        for key in _LISTS:
            messages = node.get(key)
            if isinstance(messages, Items) and (spoken_here := self._messages(messages.items)):
                segments += spoken_here
                break
        else:
            if not systems:
                return ()
        if segments and isinstance(node.get("cache_control"), Entries):
            segments[-1] = replace(segments[-1], breakpoint=True)
        return tuple(segments)

    def _system_keys(self, node: Entries) -> list[tuple[str, Node]]:
        return [
            (key, value)
            for key, value in node.pairs
            if role_of_key(key) == "system" and self._is_content(value) and not isinstance(value, Entries)
            if not (isinstance(value, Scalar) and self._is_label(key, value))
        ]

    def _is_label(self, name: str, node: Scalar) -> bool:
        """Whether a text among labels is one of them."""
        return self._labels and not (is_prompts_name(name) or opens_like_prompt(str(node.value)))

    def _is_content(self, node: Node) -> bool:
        match node:
            case Scalar():
                return isinstance(node.value, str) and _WORDS.search(node.value) is not None
            case Items():
                return any(
                    isinstance(item, Entries) and item.text("text") is not None for item in node.items
                ) and all(
                    only_marks(item) or (isinstance(item, Entries) and item.text("text") is not None)
                    for item in node.items
                )
            case _:
                return False

    def _messages(self, items: tuple[Node, ...]) -> tuple[Segment, ...]:
        rows = [(speaker, content) for item in items for speaker, content in [spoken(item)] if content]
        if not rows or len(rows) < len(items):
            return ()
        last_user = max((i for i, (speaker, _) in enumerate(rows) if speaker == "user"), default=None)
        segments: list[Segment] = []
        for index, (speaker, content) in enumerate(rows):
            assert content is not None
            cut = list(self._blocks(content, f"messages[{index}]", speaker, newest=index == last_user))
            own = marked(items[index], self._source)
            if own and cut and not any(segment.breakpoint for segment in cut):
                cut[-1] = replace(cut[-1], **own)
            segments += cut
        return tuple(segments)

    def _blocks(self, node: Node, path: str, role: Role, *, newest: bool = False) -> Iterator[Segment]:
        if not isinstance(node, Items):
            yield Segment(path, role, tuple(self._texts(node)), newest, **marked(node, self._source))
            return
        cut: list[Segment] = []
        for index, block in enumerate(node.items):
            marks = marked(block, self._source)
            if only_marks(block) and cut:
                cut[-1] = replace(cut[-1], **marks)
                continue
            inner = f"{path}.content[{index}]" if path.startswith("messages") else f"{path}[{index}]"
            cut.append(Segment(inner, role, tuple(self._texts(block)), newest, **marks))
        yield from cut

    def _texts(self, node: Node) -> Iterator[Part]:
        match node:
            case Scalar() if isinstance(node.value, str):
                yield from self._parts(node)
            case Items():
                for item in node.items:
                    yield from self._texts(item)
            case Entries():
                for key, value in node.pairs:
                    if key not in {"type", "role", "data", "signature", *MARKS}:
                        yield from self._texts(value)
            case _:
                return

    def _parts(self, node: Scalar) -> tuple[Part, ...]:
        source = self._source
        return template_parts(
            source.text[node.start : node.end],
            lambda start, end: source.place(node.start + start, node.start + end),
            self._workspace.vocabulary,
        )

    def _prompt(self, name: str, node: Node, segments: tuple[Segment, ...]) -> Prompt:
        place = self._source.place(node.start, node.end)
        return Prompt(name, place, segments, proven=True, written=True)


def _opens(node: Node) -> bool:
    """Whether an entry is a text that speaks to a model from its beginning, whatever its name."""
    text = node.value if isinstance(node, Scalar) and isinstance(node.value, str) else ""
    return opens_like_prompt(text) or text.lstrip().startswith("You ")


def _asks_in_words(node: Entries) -> bool:
    """Whether a body asks one thing as plain text, as the Responses API allows, and no placeholder."""
    asked = node.text("input")
    return bool(asked) and node.text("instructions") is not None and not has_placeholder(asked or "")
