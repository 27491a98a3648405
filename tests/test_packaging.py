"""One distribution: what the wheel holds, and what the light install can and cannot do."""

import os
import subprocess
import sys
import tomllib
import zipfile
from importlib.metadata import entry_points
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
ROOMS = ("promptcache", "promptcache_lint", "promptcache_gateway", "promptcache_engine")
HEAVY = (
    "torch",
    "numpy",
    "tokenizers",
    "fastapi",
    "starlette",
    "uvicorn",
    "aiohttp",
    "sqlalchemy",
    "prometheus_client",
)
BLOCKER = f"""
import sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {HEAVY!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Absent())
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    return zipfile.ZipFile(next(folder.glob("*.whl")))


def test_the_wheel_holds_every_file_of_the_four_rooms(wheel: zipfile.ZipFile) -> None:
    held = set(wheel.namelist())
    for room, name in zip(("sdk", "lint", "gateway", "engine"), ROOMS, strict=True):
        folder = ROOT / room / name
        files = {f.relative_to(ROOT / room).as_posix() for f in folder.rglob("*") if f.is_file()}
        assert {f for f in files if "__pycache__" not in f} <= held
        assert f"{name}/py.typed" in held


def test_the_wheel_holds_nothing_else(wheel: zipfile.ZipFile) -> None:
    tops = {name.partition("/")[0] for name in wheel.namelist()}
    assert {top for top in tops if not top.endswith(".dist-info")} == set(ROOMS)


def test_every_command_can_be_loaded() -> None:
    commands = entry_points(group="promptcache.commands")
    assert {"lint", "rule", "diff", "serve"} <= {command.name for command in commands}
    for command in commands:
        assert callable(command.load())


def light(tmp_path: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    """Run a command as after `pip install promptcache`: the extras' packages cannot be imported."""
    (tmp_path / "sitecustomize.py").write_text(BLOCKER, encoding="utf-8")
    command = [sys.executable, "-m", "promptcache", *arguments]
    environment = os.environ | {"PYTHONPATH": str(tmp_path)}
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)


def test_lint_works_with_the_light_install(tmp_path: Path) -> None:
    done = light(tmp_path, "lint", "examples/prompts", "--output-format", "concise")
    assert done.returncode == 1, done.stderr
    assert "PC101" in done.stdout


def test_rule_works_with_the_light_install(tmp_path: Path) -> None:
    done = light(tmp_path, "rule", "PC101")
    assert done.returncode == 0, done.stderr
    assert "PC101" in done.stdout


def test_a_missing_extra_is_one_sentence_with_the_pip_line(tmp_path: Path) -> None:
    done = light(tmp_path, "serve")
    assert done.returncode == 2
    assert "pip install 'promptcache[gateway" in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_the_light_install_asks_for_no_heavy_package() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    names = {requirement.partition(">")[0] for requirement in project["dependencies"]}
    assert names == {"orjson", "jinja2", "pyyaml", "pathspec"}
