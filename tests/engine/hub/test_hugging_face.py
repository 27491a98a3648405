"""Names of the Hugging Face hub, against a hub of our own on a local port."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from promptcache_engine.hub import ModelUnavailableError, resolve_model
from promptcache_engine.hub.hugging_face import HubName, parse_hub_name
from promptcache_engine.models import load_model
from tests.engine.hub.fake_hub import COMMIT, FakeHub, fake_hub, files_of
from tests.engine.models.family_files import write_folder, write_gguf


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FakeHub]:
    files = files_of(write_folder(tmp_path_factory.mktemp("model"), "qwen3", shards=2))
    packed = write_gguf(tmp_path_factory.mktemp("packed") / "tiny-Q8.gguf", "qwen3").read_bytes()
    extra = {"README.md": b"# tiny", "original/model.safetensors": b"x", "pytorch_model.bin": b"x"}
    repositories = {"owner/tiny": {**files, **extra}, "owner/packed": {"tiny-Q8.gguf": packed}}
    with fake_hub(repositories, gated=frozenset(["owner/gated"])) as served:
        yield served


@pytest.fixture(autouse=True)
def _endpoint(hub: FakeHub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_ENDPOINT", hub.endpoint)
    monkeypatch.setenv("HF_HUB_DISABLE_PROGRESS_BARS", "1")
    hub.served.clear()


def test_a_folder_is_fetched_once_and_loads(hub: FakeHub, tmp_path: Path) -> None:
    lines: list[str] = []
    path = resolve_model("hf:owner/tiny", cache_dir=tmp_path, progress=lines.append)
    loaded = load_model(path)
    assert (loaded.config.architecture, loaded.config.name) == ("qwen3", "tiny")
    assert lines == ["looking for owner/tiny on the Hugging Face hub"]
    assert sum(name.endswith(".safetensors") for name in hub.served) == 2
    assert not {"README.md", "pytorch_model.bin", "original/model.safetensors"} & set(hub.served)
    hub.served.clear()
    assert resolve_model(f"hf:owner/tiny@{COMMIT}", cache_dir=tmp_path) == path
    assert hub.served == []


def test_what_is_cached_is_served_without_the_hub(
    hub: FakeHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = resolve_model("hf:owner/tiny", cache_dir=tmp_path)
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:1")
    assert resolve_model("hf:owner/tiny", cache_dir=tmp_path) == path
    with pytest.raises(ModelUnavailableError, match="cannot be reached") as caught:
        resolve_model("hf:owner/packed", cache_dir=tmp_path)
    assert "HF_ENDPOINT" in caught.value.remedy


def test_one_gguf_file_of_a_repository(tmp_path: Path) -> None:
    path = resolve_model("hf:owner/packed:tiny-Q8.gguf", cache_dir=tmp_path)
    assert load_model(path).config.architecture == "qwen3"


def test_a_repository_of_gguf_files_asks_which(tmp_path: Path) -> None:
    with pytest.raises(ModelUnavailableError, match="no safetensors") as caught:
        resolve_model("hf:owner/packed", cache_dir=tmp_path)
    assert "hf:owner/packed:tiny-Q8.gguf" in caught.value.remedy


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("hf:owner/nothing", "no such model"),
        ("hf:owner/tiny@v9", "no revision v9"),
        ("hf:owner/tiny:other.gguf", r"no file other\.gguf"),
        ("hf:owner/gated", "terms"),
        ("hf:tiny", "not the name"),
        ("hf:a/b/c", "not the name"),
        ("hf:../../etc", "not the name"),
        ("hf:owner/tiny:../x.bin", "not the name"),
    ],
)
def test_each_refusal_is_one_clear_error(tmp_path: Path, name: str, says: str) -> None:
    with pytest.raises(ModelUnavailableError, match=says) as caught:
        resolve_model(name, cache_dir=tmp_path)
    assert caught.value.remedy


def test_without_the_library_the_remedy_is_its_installation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(ModelUnavailableError, match="pip install"):
        resolve_model("hf:owner/tiny", cache_dir=tmp_path)


def test_names_are_taken_apart() -> None:
    assert parse_hub_name("hf:a/b") == HubName("a/b", None, None)
    assert parse_hub_name("hf:a/b.c-1@refs/pr/2") == HubName("a/b.c-1", "refs/pr/2", None)
    assert parse_hub_name("hf:a/b@v1:sub/x.gguf") == HubName("a/b", "v1", "sub/x.gguf")
