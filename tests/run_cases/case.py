"""A case: a folder of inputs, and beside them what the right answer is."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path


class CaseError(Exception):
    """A case folder or input that cannot be read."""


@dataclass(frozen=True)
class Case:
    """What an adapter sees of a case: its check and its inputs."""

    check: str
    folder: Path
    inputs: tuple[str, ...]

    def path(self, name: str) -> Path:
        """Where the input ``name`` lies."""
        return self.folder / name

    def load_text(self, name: str) -> str:
        try:
            return self.path(name).read_text("utf-8")
        except (OSError, ValueError) as error:
            raise CaseError(f"cannot read {name}: {error}") from error

    def load_json(self, name: str) -> Any:
        try:
            return json.loads(self.load_text(name))
        except ValueError as error:
            raise CaseError(f"{name} is not JSON: {error}") from error

    def load_jsonl(self, name: str) -> list[Any]:
        try:
            return [json.loads(line) for line in self.load_text(name).splitlines() if line.strip()]
        except ValueError as error:
            raise CaseError(f"{name} is not JSON lines: {error}") from error


@dataclass(frozen=True)
class Judged:
    """A case with its answer key, which only the judge reads."""

    id: str
    layer: str
    case: Case
    expected: dict[str, Any]


def find_cases(folders: list[Path]) -> list[Judged]:
    """Load the case folders among ``folders`` and directly inside them, in order of their names."""
    found = []
    for folder in folders:
        if not folder.is_dir():
            raise CaseError(f"{folder} is not a folder")
        inside = [folder] if (folder / "expected.json").is_file() else sorted(folder.iterdir())
        found += [load(path) for path in inside if (path / "expected.json").is_file()]
    return found


def load(folder: Path) -> Judged:
    """Load one case folder."""
    try:
        record = json.loads((folder / "expected.json").read_text("utf-8"))
        case = Case(record["check"], folder, tuple(record["inputs"]))
        return Judged(record["id"], record["layer"], case, record["expected"])
    except (OSError, ValueError, KeyError) as error:
        raise CaseError(f"{folder}/expected.json: {error!r}") from error
