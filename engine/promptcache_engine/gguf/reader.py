"""Reads a GGUF file through a memory map: its metadata at once, its tensors' bytes when asked for.

Versions 2 and 3, little-endian. What the metadata means and how values are packed is not its business.
Everything read is checked against the file's length, so that a broken file is one error that says where.
"""

import mmap
import struct
from pathlib import Path
from typing import Any

import numpy as np

from promptcache_engine.gguf.dequantize import dequantize
from promptcache_engine.gguf.layout import BLOCKS, TensorInfo, TensorType, packed_size
from promptcache_engine.gguf.metadata import Metadata
from promptcache_engine.models.errors import ModelFileError, UnsupportedModelError

_SCALARS = {
    0: "<u1",
    1: "<i1",
    2: "<u2",
    3: "<i2",
    4: "<u4",
    5: "<i4",
    6: "<f4",
    10: "<u8",
    11: "<i8",
    12: "<f8",
}
_BOOL, _STRING, _ARRAY = 7, 8, 9
_MAX_NESTING = 4
_MAX_DIMENSIONS = 4
_FOREIGN = {
    b"vers": ("is a Git LFS pointer, not the model", "Fetch the file itself with `git lfs pull`"),
    b"<!DO": ("is a web page, not a model", "Download the file again from its direct address"),
    b"<htm": ("is a web page, not a model", "Download the file again from its direct address"),
    b"PK\x03\x04": ("is a zip archive (perhaps a PyTorch checkpoint), not GGUF", "Choose a .gguf file"),
}


_U32, _U64 = struct.Struct("<I"), struct.Struct("<Q")


class _Cursor:
    """Reads values one after the other and refuses to read past the end."""

    def __init__(self, path: str, data: mmap.mmap) -> None:
        self.path = path
        self.data = data
        self.at = 0
        self.reading = "header"

    def take(self, size: int) -> int:
        """Step over ``size`` bytes and return where they begin."""
        begin = self.at
        if size > len(self.data) - begin:
            raise self.fault(
                f"the file is truncated: it ends at byte {len(self.data)} inside the {self.reading}"
            )
        self.at = begin + size
        return begin

    def number(self, layout: struct.Struct) -> Any:
        return layout.unpack_from(self.data, self.take(layout.size))[0]

    def string(self) -> str:
        return self.strings(1)[0]

    def strings(self, count: int) -> list[str]:
        """Read ``count`` strings; a vocabulary has hundreds of thousands, so the loop is kept tight."""
        data, unpack, last, at = self.data, _U64.unpack_from, len(self.data) - 8, self.at
        found: list[str] = []
        try:
            for _ in range(count):
                begin = at + 8
                at = begin + unpack(data, at)[0] if at <= last else begin
                if at - 8 > last:
                    self.take(at - self.at)
                found.append(data[begin:at].decode())
        except UnicodeDecodeError:
            raise self.fault("a string is not UTF-8") from None
        self.at = at
        return found

    def fault(self, problem: str) -> ModelFileError:
        where = f"at byte {self.at}" if self.reading == "header" else f"{self.reading}, at byte {self.at}"
        return ModelFileError(self.path, problem, where=where)


class GGUFFile:
    """An open GGUF file.

    ``metadata`` holds its keys, ``tensors`` describes its tensors by name. The map lives as long as this
    object or an array made from it.

    Raises:
        ModelFileError: the file cannot be read, is not GGUF, is truncated or contradicts itself.
    """

    def __init__(self, path: Path) -> None:
        self.path = str(path)
        cursor = _Cursor(self.path, _map(path))
        self._data = cursor.data
        tensor_count, key_count = _read_header(cursor)
        self.metadata = Metadata(self.path, _read_metadata(cursor, key_count))
        self.tensors = self._read_tensors(cursor, tensor_count)

    def raw(self, name: str) -> np.ndarray[Any, np.dtype[np.uint8]]:
        """Return a tensor's packed bytes as they lie in the file, not copied, not writable."""
        info = self._supported(name)
        return np.frombuffer(self._data, np.uint8, info.nbytes, info.offset)

    def tensor(self, name: str) -> np.ndarray[Any, np.dtype[np.float32]]:
        """Return a tensor's values as a new float32 array of its shape.

        Raises:
            UnsupportedModelError: its type cannot be unpacked.
            ModelFileError: there is no such tensor.
        """
        info = self._supported(name)
        return dequantize(self.raw(name), TensorType(info.type_number)).reshape(info.shape)

    def _supported(self, name: str) -> TensorInfo:
        info = self.tensors.get(name)
        if info is None:
            raise ModelFileError(self.path, "a tensor is missing", where=f"tensor {name}")
        if info.type_number not in BLOCKS:
            known = ", ".join(kind.name for kind in BLOCKS)
            raise UnsupportedModelError(
                self.path,
                f"tensors of type {info.type_name} are not supported",
                where=f"tensor {name}",
                remedy=f"Choose a file quantized to one of {known}",
            )
        return info

    def _read_tensors(self, cursor: _Cursor, count: int) -> dict[str, TensorInfo]:
        entries = [_read_tensor_entry(cursor, index) for index in range(count)]
        alignment = self.metadata.integer("general.alignment", 32)
        if alignment < 8 or alignment & (alignment - 1):
            problem = f"the alignment is {alignment}, which is no power of two from 8 on"
            raise ModelFileError(self.path, problem, where="key general.alignment")
        base = cursor.at + -cursor.at % alignment
        tensors: dict[str, TensorInfo] = {}
        for name, shape, type_number, offset in entries:
            size = packed_size(shape, type_number)
            if size is None:
                problem = f"rows of {shape[-1]} values do not divide into groups of its type"
                raise ModelFileError(self.path, problem, where=f"tensor {name}")
            if base + offset + size > len(self._data):
                problem = (
                    f"the file is truncated: it ends at byte {len(self._data)}, but the tensor's data "
                    f"end at {base + offset + size}"
                )
                raise ModelFileError(self.path, problem, where=f"tensor {name}")
            if offset % alignment:
                problem = f"the tensor's data begin at {offset}, which is no multiple of {alignment}"
                raise ModelFileError(self.path, problem, where=f"tensor {name}")
            if name in tensors:
                raise ModelFileError(self.path, "a tensor is described twice", where=f"tensor {name}")
            tensors[name] = TensorInfo(name, shape, type_number, base + offset, size)
        return tensors


def _map(path: Path) -> mmap.mmap:
    try:
        with path.open("rb") as file:
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except ValueError:
        raise ModelFileError(str(path), "the file is empty") from None
    except OSError as error:
        remedy = "Check the path and its permissions"
        raise ModelFileError(str(path), f"cannot be read: {error.strerror}", remedy=remedy) from error


def _read_header(cursor: _Cursor) -> tuple[int, int]:
    magic = cursor.data[:4]
    if magic != b"GGUF":
        problem, remedy = _FOREIGN.get(magic, ("is not a GGUF file", "Choose a .gguf file"))
        raise ModelFileError(cursor.path, f"{problem} (it begins with {magic!r})", remedy=remedy)
    cursor.take(4)
    version = cursor.number(_U32)
    if version not in (2, 3):
        kind = "is big-endian" if version & 0xFFFF == 0 else f"has GGUF version {version}"
        remedy = "Convert it to little-endian GGUF version 3"
        raise UnsupportedModelError(cursor.path, f"the file {kind}; versions 2 and 3 are read", remedy=remedy)
    return cursor.number(_U64), cursor.number(_U64)


def _read_metadata(cursor: _Cursor, count: int) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for index in range(count):
        cursor.reading = f"metadata key {index + 1} of {count}"
        key = cursor.string()
        cursor.reading = f"key {key}"
        if key in values:
            raise cursor.fault("a metadata key is given twice")
        values[key] = _read_value(cursor, cursor.number(_U32), 0)
    return values


def _read_value(cursor: _Cursor, kind: int, depth: int) -> Any:
    if kind == _STRING:
        return cursor.string()
    if kind == _BOOL:
        return cursor.data[cursor.take(1)] != 0
    if kind == _ARRAY and depth < _MAX_NESTING:
        return _read_array(cursor, depth)
    if kind in _SCALARS:
        layout = np.dtype(_SCALARS[kind])
        return np.frombuffer(cursor.data, layout, 1, cursor.take(layout.itemsize))[0].item()
    raise cursor.fault(f"unknown value type {kind}")


def _read_array(cursor: _Cursor, depth: int) -> Any:
    kind, count = cursor.number(_U32), cursor.number(_U64)
    if kind in _SCALARS or kind == _BOOL:
        layout = np.dtype(_SCALARS.get(kind, "?"))
        begin = cursor.take(layout.itemsize * count)
        return np.frombuffer(cursor.data, layout, count, begin).copy()
    if kind == _STRING:
        return cursor.strings(count)
    return [_read_value(cursor, kind, depth + 1) for _ in range(count)]


def _read_tensor_entry(cursor: _Cursor, index: int) -> tuple[str, tuple[int, ...], int, int]:
    cursor.reading = f"description of tensor {index + 1}"
    name = cursor.string()
    cursor.reading = f"description of tensor {name}"
    dimensions = cursor.number(_U32)
    if not 1 <= dimensions <= _MAX_DIMENSIONS:
        raise cursor.fault(f"impossible number of dimensions {dimensions}")
    shape = tuple(cursor.number(_U64) for _ in range(dimensions))[::-1]
    if min(shape) < 1:
        raise cursor.fault(f"impossible shape {shape}")
    return name, shape, cursor.number(_U32), cursor.number(_U64)
