"""What the reader finds in sound files, and what it says about broken ones."""

import struct
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from promptcache_engine.gguf import GGUFFile
from promptcache_engine.models.errors import ModelFileError, UnsupportedModelError
from tests.engine.gguf_files import f32, gguf_bytes, llama_metadata, llama_tensors, string, write_llama


def open_bytes(path: Path, data: bytes) -> GGUFFile:
    path.write_bytes(data)
    return GGUFFile(path)


def refusal(path: Path, data: bytes) -> ModelFileError:
    with pytest.raises(ModelFileError) as caught:
        open_bytes(path, data)
    assert caught.value.remedy
    assert str(path) in str(caught.value)
    return caught.value


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "model.gguf"


@pytest.mark.parametrize("version", [2, 3])
def test_reads_keys_and_tensors(path: Path, version: int) -> None:
    numbers = np.arange(6, dtype=np.float32).reshape(2, 3)
    keys = {"a": 7, "b": 1.5, "c": "text", "d": True, "e": ["x", "", "ü"], "f": [1, -2]}
    file = open_bytes(path, gguf_bytes(keys, {"t": f32(numbers)}, version=version))
    metadata = file.metadata
    assert (metadata.integer("a"), metadata.number("b"), metadata.text("c")) == (7, 1.5, "text")
    assert metadata.flag("d") is True
    assert metadata.texts("e") == ["x", "", "ü"]
    assert metadata.numbers("f").tolist() == [1, -2]
    np.testing.assert_array_equal(file.tensor("t"), numbers)


def test_reads_every_scalar_type_and_nested_arrays(path: Path) -> None:
    scalars = {
        0: ("B", 200),
        1: ("b", -3),
        2: ("H", 60000),
        3: ("h", -9),
        10: ("Q", 2**40),
        11: ("q", -(2**40)),
    }
    keys = {str(kind): struct.pack(f"<I{code}", kind, item) for kind, (code, item) in scalars.items()}
    keys["12"] = struct.pack("<Id", 12, 0.1)
    keys["nested"] = struct.pack("<IIQ", 9, 9, 2) + 2 * (struct.pack("<IQ", 8, 1) + string("x"))
    file = open_bytes(path, gguf_bytes(keys, {}))
    assert {key: file.metadata[key] for key in keys} == {
        **{str(kind): item for kind, (_, item) in scalars.items()},
        "12": 0.1,
        "nested": [["x"], ["x"]],
    }


def test_alignment_is_the_files_own(path: Path) -> None:
    entry = string("t") + struct.pack("<IQIQ", 1, 1, 0, 0)
    head = (
        b"GGUF"
        + struct.pack("<IQQ", 3, 1, 1)
        + string("general.alignment")
        + struct.pack("<II", 4, 8)
        + entry
    )
    head += bytes(-len(head) % 8)
    assert open_bytes(path, head + struct.pack("<f", 2.5)).tensor("t").tolist() == [2.5]


def test_values_are_copies(path: Path) -> None:
    write_llama(path)
    values = GGUFFile(path).tensor("output_norm.weight")
    values[0] = 9.0
    assert GGUFFile(path).tensor("output_norm.weight")[0] == 1.0


def test_missing_file(tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match="No such file") as caught:
        GGUFFile(tmp_path / "absent.gguf")
    assert "path" in caught.value.remedy


def test_folder_instead_of_file(tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match="cannot be read"):
        GGUFFile(tmp_path)


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "is empty"),
        (b"GG", "not a GGUF file"),
        (b"\x80\x02}q\x00" * 20, "not a GGUF file"),
        (b"version https://git-lfs.github.com/spec/v1\n", "Git LFS pointer"),
        (b"<!DOCTYPE html><html>", "web page"),
        (b"PK\x03\x04" + bytes(40), "zip archive"),
        (b"GGUF" + struct.pack("<I", 3), "truncated"),
        (b"GGUF" + struct.pack("<IQQ", 1, 0, 0), "version 1"),
        (b"GGUF" + struct.pack(">IQQ", 3, 0, 0), "big-endian"),
    ],
)
def test_foreign_files_are_named(path: Path, data: bytes, says: str) -> None:
    assert says in str(refusal(path, data))


def test_truncated_data_name_the_tensor_and_offsets(path: Path) -> None:
    data = write_llama(path).read_bytes()
    error = refusal(path, data[:-100])
    assert "truncated" in str(error)
    assert error.where.startswith("tensor blk.1.")
    assert f"byte {len(data) - 100}" in str(error)


def test_truncated_vocabulary_names_the_key(path: Path) -> None:
    data = write_llama(path).read_bytes()
    error = refusal(path, data[: data.index(b"tokenizer.ggml.tokens") + 400])
    assert "key tokenizer.ggml.tokens" in error.where


def test_truncation_anywhere_is_one_clear_error(path: Path) -> None:
    data = gguf_bytes(llama_metadata(), llama_tensors())
    for size in [*range(0, 1200, 7), *range(1200, len(data), 997), len(data) - 33]:
        refusal(path, data[:size])


@pytest.mark.parametrize(
    ("keys", "says"),
    [
        ({"k": struct.pack("<I", 77)}, "unknown value type 77"),
        ({"k": struct.pack("<IQ", 8, 2**63)}, "truncated"),
        ({"k": struct.pack("<IIQ", 9, 4, 2**62)}, "truncated"),
        ({"k": struct.pack("<IIQ", 9, 8, 2**64 - 1)}, "truncated"),
        ({"k": struct.pack("<IQ", 8, 2) + b"\xff\xfe"}, "not UTF-8"),
        ({"k": b"\x09\0\0\0" * 200 + bytes(200)}, "key k"),
        ({"general.alignment": 0}, "the alignment is 0"),
        ({"general.alignment": 4}, "no power of two from 8 on"),
        ({"general.alignment": 24}, "no power of two from 8 on"),
        ({"general.alignment": "x"}, "expected a whole number"),
    ],
    ids=lambda item: item if isinstance(item, str) else "",
)
def test_broken_keys(path: Path, keys: dict[str, bytes], says: str) -> None:
    error = refusal(path, gguf_bytes(keys, {}))
    assert says in str(error)
    assert next(iter(keys)) in error.where


def test_key_given_twice(path: Path) -> None:
    pair = string("k") + struct.pack("<II", 4, 1)
    error = refusal(path, b"GGUF" + struct.pack("<IQQ", 3, 0, 2) + pair + pair)
    assert "twice" in str(error)
    assert "key k" in error.where


@pytest.mark.parametrize(
    ("entry", "says"),
    [
        (string("t") + struct.pack("<I", 9), "dimensions 9"),
        (string("t") + struct.pack("<I", 0), "dimensions 0"),
        (string("t") + struct.pack("<IQQIQ", 2, 0, 4, 0, 0), "impossible shape"),
        (string("t") + struct.pack("<IQIQ", 1, 31, 3, 0), "do not divide"),
        (string("t") + struct.pack("<IQQIQ", 2, 2**40, 2**40, 0, 0), "truncated"),
        (string("t") + struct.pack("<IQIQ", 1, 1, 0, 2**63), "truncated"),
        (string("t") + struct.pack("<IQIQ", 1, 1, 0, 8), "begin at 8, which is no multiple of 32"),
    ],
)
def test_broken_tensor_descriptions(path: Path, entry: bytes, says: str) -> None:
    error = refusal(path, b"GGUF" + struct.pack("<IQQ", 3, 1, 0) + entry + bytes(64))
    assert says in str(error)
    assert "tensor t" in error.where


def test_tensor_described_twice(path: Path) -> None:
    entry = string("t") + struct.pack("<IQIQ", 1, 1, 0, 0)
    error = refusal(path, b"GGUF" + struct.pack("<IQQ", 3, 2, 0) + entry + entry + bytes(64))
    assert "twice" in str(error)


@pytest.mark.parametrize(("number", "name"), [(10, "Q2_K"), (23, "IQ4_XS"), (99, "type 99")])
def test_unsupported_types_are_named_when_asked_for(path: Path, number: int, name: str) -> None:
    file = open_bytes(path, gguf_bytes({}, {"t": ((256,), number, bytes(256))}))
    with pytest.raises(UnsupportedModelError, match=name) as caught:
        file.tensor("t")
    assert "tensor t" in caught.value.where
    assert "Q4_K" in caught.value.remedy


def test_tensor_that_is_not_there(path: Path) -> None:
    file = GGUFFile(write_llama(path))
    with pytest.raises(ModelFileError, match=r"tensor output\.weight"):
        file.tensor("output.weight")


@pytest.mark.parametrize(
    ("read", "key"),
    [
        ("text", "n"),
        ("flag", "n"),
        ("integer", "s"),
        ("number", "s"),
        ("texts", "n"),
        ("numbers", "s"),
        ("text", "-"),
    ],
)
def test_ill_typed_and_missing_keys_are_named(path: Path, read: str, key: str) -> None:
    metadata = open_bytes(path, gguf_bytes({"n": 1, "s": "x"}, {})).metadata
    with pytest.raises(ModelFileError) as caught:
        getattr(metadata, read)(key)
    assert caught.value.where == f"key {key}"


def test_reading_needs_no_torch() -> None:
    code = "import sys, promptcache_engine.gguf; print('torch' in sys.modules)"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "False"


@pytest.mark.model
def test_the_default_model_opens_in_a_fifth_of_a_second(default_model_path: Path) -> None:
    GGUFFile(default_model_path)  # brings the pages in
    begin = time.process_time()
    file = GGUFFile(default_model_path)
    assert time.process_time() - begin < 0.2
    assert len(file.tensors) == 272
    assert file.metadata.text("tokenizer.ggml.pre") == "smollm"
