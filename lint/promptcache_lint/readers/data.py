"""Prompts in JSON, YAML and TOML files, in the shapes people use.

Lists of messages (OpenAI, Anthropic with ``system`` and ``cache_control``, LangChain's pairs), maps with
``system`` and ``user`` keys, promptfoo's ``prompts``, LangChain's ``template``, and plain maps of names to
prompt texts. Other data in the same file is left alone.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from promptcache_lint.prompts import Prompt, Segment
from promptcache_lint.readers.json_tree import parse_json
from promptcache_lint.readers.placeholders import has_placeholder, template_parts
from promptcache_lint.readers.tree import Entries, Items, Node, Scalar
from promptcache_lint.readers.yaml_tree import parse_toml, parse_yaml
from promptcache_lint.wording import opens_like_prompt, role_of_name, role_of_speaker

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from promptcache_lint.places import Place, Source
    from promptcache_lint.prompts import Part, Role
    from promptcache_lint.readers.reading import InputFile, Workspace

__all__ = ["DataReader"]

_COMMENT = re.compile(r"(?:^|\s)#(.*)$", re.MULTILINE)
_SLASHES = re.compile(r"(?:^|\s)//(.*)$", re.MULTILINE)
_USER_KEYS = frozenset({"user", "human", "question", "input", "user_input", "query"})
_TEMPLATE_KEYS = frozenset({"template", "text", "content", "value", "body"})
_WORDS = re.compile(r"\w+\W+\w+")


class DataReader:
    """Reads ``.json``, ``.yaml``, ``.yml`` and ``.toml``."""

    def read(self, file: InputFile, workspace: Workspace) -> Iterable[Prompt]:
        """The prompts in the file, outermost first."""
        text = file.source.text
        match file.path.suffix.lower():
            case ".json":
                documents: Iterable[Node] = (parse_json(text),)
            case ".toml":
                documents = (parse_toml(text),)
            case _:
                documents = tuple(parse_yaml(text))
        finder = _Finder(file.source, workspace)
        for document in documents:
            yield from finder.find(document, "", role_of_name(file.path.stem))

    def comments(self, source: Source) -> Iterable[tuple[Place, str]]:
        """``#`` comments; in JSON files, which have none, ``//``."""
        pattern, mark = (_SLASHES, 2) if source.path.endswith(".json") else (_COMMENT, 1)
        for match in pattern.finditer(source.text):
            yield source.place(match.start(1) - mark, match.end()), match[1]


class _Finder:
    """Goes through a tree and recognises prompts by their shape."""

    def __init__(self, source: Source, workspace: Workspace) -> None:
        self._source = source
        self._workspace = workspace

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
        if role == "prompt" and opens_like_prompt(node.value):
            role = "system"
        path = "system" if role == "system" else "messages[0]"
        segment = Segment(path, role, self._parts(node), newest=role == "user")
        yield self._prompt(name, node, (segment,))

    def _in_entries(self, node: Entries, name: str, role: Role | None) -> Iterator[Prompt]:
        request = self._request(node)
        if request:
            yield self._prompt(name or "request", node, request)
        used = {"messages", "tools"} | {key for key, _ in self._system_keys(node)} if request else set()
        if request:
            used |= _USER_KEYS
        for key, value in node.pairs:
            if key in used:
                continue
            inner = role_of_name(key)
            if inner is None and role is not None and (key in _TEMPLATE_KEYS or _is_prompt_text(value)):
                inner = role
            yield from self.find(value, key, inner)

    def _request(self, node: Entries) -> tuple[Segment, ...]:
        segments: list[Segment] = []
        tools = node.get("tools")
        if isinstance(tools, Items):
            for index, tool in enumerate(tools.items):
                segments.append(
                    Segment(f"tools[{index}]", "tool", tuple(self._texts(tool)), breakpoint=_marked(tool))
                )
        systems = self._system_keys(node)
        for key, value in systems:
            segments += self._blocks(value, key, "system")
        messages = node.get("messages")
        if isinstance(messages, Items):
            segments += self._messages(messages.items)
        elif not systems:
            return ()
        return tuple(segments)

    def _system_keys(self, node: Entries) -> list[tuple[str, Node]]:
        return [
            (key, value)
            for key, value in node.pairs
            if role_of_name(key) == "system" and self._is_content(value) and not isinstance(value, Entries)
        ]

    def _is_content(self, node: Node) -> bool:
        match node:
            case Scalar():
                return isinstance(node.value, str) and _WORDS.search(node.value) is not None
            case Items():
                return bool(node.items) and all(
                    isinstance(item, Entries) and item.text("text") is not None for item in node.items
                )
            case _:
                return False

    def _messages(self, items: tuple[Node, ...]) -> tuple[Segment, ...]:
        spoken = [(speaker, content) for item in items for speaker, content in [_spoken(item)] if content]
        if not spoken or len(spoken) < len(items):
            return ()
        last_user = max((i for i, (speaker, _) in enumerate(spoken) if speaker == "user"), default=None)
        segments: list[Segment] = []
        for index, (speaker, content) in enumerate(spoken):
            assert content is not None
            segments += self._blocks(content, f"messages[{index}]", speaker, newest=index == last_user)
        return tuple(segments)

    def _blocks(self, node: Node, path: str, role: Role, *, newest: bool = False) -> Iterator[Segment]:
        if isinstance(node, Items):
            for index, block in enumerate(node.items):
                yield Segment(
                    f"{path}[{index}]" if path == "system" else f"{path}.content[{index}]",
                    role,
                    tuple(self._texts(block)),
                    newest,
                    _marked(block),
                )
        else:
            yield Segment(path, role, tuple(self._texts(node)), newest, _marked(node))

    def _texts(self, node: Node) -> Iterator[Part]:
        match node:
            case Scalar() if isinstance(node.value, str):
                yield from self._parts(node)
            case Items():
                for item in node.items:
                    yield from self._texts(item)
            case Entries():
                for key, value in node.pairs:
                    if key not in {"type", "cache_control", "role"}:
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
        return Prompt(name, self._source.place(node.start, node.end), segments)


def _spoken(node: Node) -> tuple[Role, Node | None]:
    """Role and content of a message: a mapping with ``role``, or a pair as LangChain writes it."""
    if isinstance(node, Entries):
        role = role_of_speaker(node.text("role") or node.text("from") or "")
        content = node.get("content") or node.get("value") or node.get("text") or node.get("prompt")
        return (role, content) if role else ("user", None)
    if isinstance(node, Items) and len(node.items) == 2 and isinstance(node.items[0], Scalar):
        role = role_of_speaker(str(node.items[0].value))
        return (role, node.items[1]) if role else ("user", None)
    return "user", None


def _marked(node: Node) -> bool:
    """Whether a block, or a block inside it, carries a cache breakpoint."""
    if isinstance(node, Entries):
        marks = ("cache_control", "prompt_cache_breakpoint", "cachePoint")
        return any(key in marks for key, _ in node.pairs) or any(_marked(value) for _, value in node.pairs)
    if isinstance(node, Items):
        return any(_marked(item) for item in node.items)
    return False


def _is_prompt_text(node: Node) -> bool:
    """Whether an entry below a prompt-like name is prompt text itself, and no setting beside it."""
    if not isinstance(node, Scalar) or not isinstance(node.value, str):
        return isinstance(node, Entries | Items)
    return "\n" in node.value or has_placeholder(node.value) or opens_like_prompt(node.value)
