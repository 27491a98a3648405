"""What keeps the house readable: files that are read in one sitting, and a map in each folder."""

from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import grimp
import pytest

ROOT = Path(__file__).parents[1]
ROOMS = ("sdk", "lint", "gateway", "engine")
LONGEST = 320
MODULES = [path for room in ROOMS for path in sorted((ROOT / room).rglob("*.py"))]


@pytest.mark.parametrize("module", MODULES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_a_file_reads_in_one_sitting(module: Path) -> None:
    lines = module.read_text(encoding="utf-8").splitlines()
    assert len(lines) <= LONGEST
    assert lines[0].startswith('"""'), "a module says first what it is"


@pytest.mark.parametrize("folder", [*ROOMS, "tests", "examples", "benchmarks", "scripts", "docs"])
def test_each_folder_has_its_map(folder: str) -> None:
    readme = ROOT / folder / "README.md"
    text = readme.read_text(encoding="utf-8")
    named = [path for path in _entries(ROOT / folder) if path not in text]
    assert named == [], f"{readme.relative_to(ROOT)} does not mention {named}"


def _entries(folder: Path) -> list[str]:
    """The names a folder's map must mention: its own children, and those of the one package inside it."""
    packages = [
        child for child in folder.iterdir() if child.name.startswith("promptcache") and child.is_dir()
    ]
    inner = packages[0] if packages else folder
    hidden = {"README.md", "__init__.py", "__main__.py", "py.typed", "_version.py", "__pycache__"}
    return sorted(child.name.removesuffix(".py") for child in inner.iterdir() if child.name not in hidden)


@pytest.mark.parametrize("package", ["promptcache", "promptcache_gateway", "promptcache_engine"])
def test_no_files_import_each_other_in_a_circle(package: str) -> None:
    """Imports for the type checker count, too; the linter's interpreters call themselves and are let be."""
    graph = grimp.build_graph(package, exclude_type_checking_imports=False, cache_dir=None)
    order = TopologicalSorter({name: graph.find_modules_directly_imported_by(name) for name in graph.modules})
    try:
        order.prepare()
    except CycleError as circle:
        pytest.fail(" -> ".join(circle.args[1]))
