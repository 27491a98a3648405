"""Where each request of an input file lies, and what it begins with: the file itself stays on the disk.

Kept of a request are its place, two digests and its prefix key, together about a hundredth of its bytes.
"""

from __future__ import annotations

import os
from array import array
from hashlib import blake2b
from typing import TYPE_CHECKING

from promptcache_gateway.batch.errors import InputError
from promptcache_gateway.batch.prefixes import WIDTH, characters, prefix_key
from promptcache_gateway.batch.request import BatchRequest, read_request

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

_DIGEST = 16
_LONGEST_LINE = 256 << 20
_GZIP = b"\x1f\x8b"
_BOM = b"\xef\xbb\xbf"
_UTF_16 = frozenset({b"\xff\xfe", b"\xfe\xff"})


class InputIndex:
    """An open input file and the index of its requests; close it.

    Attributes:
        path: the file.
        keys: the prefix key of each request.
    """

    def __init__(self, path: Path, *, endpoint: str | None = None) -> None:
        """Open the file; raises `InputError`. Nothing is read before `build`."""
        self.path = path
        self._endpoint = endpoint
        self.keys: list[bytes] = []
        self._offsets, self._lengths, self._numbers = array("q"), array("q"), array("q")
        self._fingerprints = bytearray()
        self._by_name: dict[bytes, int] = {}
        try:
            self._file = path.open("rb")
        except OSError as error:
            raise InputError(str(path), f"{(error.strerror or 'cannot be opened').lower()}.") from error
        if not self._file.seekable() or path.is_dir():
            self._file.close()
            raise InputError(str(path), "is read at many places, so it must be a file.")

    def __len__(self) -> int:
        return len(self._offsets)

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def build(self, on_progress: Callable[[int], None] = lambda _: None) -> None:
        """Read the file once, checking every line.

        Args:
            on_progress: called now and then with the bytes read so far.

        Raises:
            InputError: a line holds no request, two have one ``custom_id``, or the file cannot be read.
        """
        offset, number = 0, 0
        head = os.pread(self._file.fileno(), 2, 0)
        if head == _GZIP:
            raise InputError(str(self.path), "is compressed; it is read at many places.", remedy="gunzip it.")
        if head in _UTF_16:
            raise InputError(
                str(self.path),
                "is UTF-16, not UTF-8.",
                line=1,
                remedy="iconv -f UTF-16 -t UTF-8 makes it so.",
            )
        try:
            while line := self._file.readline(_LONGEST_LINE):
                number += 1
                self._add(line, offset, number)
                offset += len(line)
                if number % 64 == 0:
                    on_progress(offset)
        except OSError as error:
            raise InputError(str(self.path), f"cannot be read ({error.strerror}).") from error
        if not len(self):
            raise InputError(str(self.path), "holds no request.")

    def request(self, index: int) -> BatchRequest:
        """Read one request from the file; raises `InputError` when it is not what was indexed."""
        length = self._lengths[index]
        line = os.pread(self._file.fileno(), length, self._offsets[index])
        try:
            found = read_request(line, self._numbers[index], str(self.path), self._endpoint)
        except InputError:
            found = None
        if found is None or found.fingerprint() != self.fingerprint(index):
            raise InputError(
                str(self.path),
                "was changed while its requests were sent.",
                line=self._numbers[index],
                remedy="Leave it as it is, and run the same command again to go on.",
            )
        return found

    def fingerprint(self, index: int) -> bytes:
        """The 16 bytes that tell a request from every other."""
        return bytes(self._fingerprints[index * _DIGEST : (index + 1) * _DIGEST])

    def characters(self, index: int) -> int:
        """How many characters of a request's prompt its key covers: all but what is left of a last piece."""
        return characters(len(self.keys[index]) // WIDTH)

    def find(self, custom_id: str) -> int | None:
        """The index of the request with a name, or None."""
        return self._by_name.get(_name(custom_id))

    def _add(self, line: bytes, offset: int, number: int) -> None:
        skipped = len(_BOM) if offset == 0 and line.startswith(_BOM) else 0
        text = line[skipped:].strip()
        if not text:
            return
        if len(line) == _LONGEST_LINE:
            raise InputError(str(self.path), "is longer than 256 MiB.", line=number)
        found = read_request(text, number, str(self.path), self._endpoint)
        name = _name(found.custom_id)
        if name in self._by_name:
            first = self._numbers[self._by_name[name]]
            raise InputError(
                str(self.path),
                f"its custom_id is that of line {first}.",
                line=number,
                remedy="Give each request its own: it names the answer.",
            )
        self._by_name[name] = len(self)
        self._offsets.append(offset + line.index(text, skipped))
        self._lengths.append(len(text))
        self._numbers.append(number)
        self._fingerprints += found.fingerprint()
        self.keys.append(prefix_key(found.payload))


def _name(custom_id: str) -> bytes:
    return blake2b(custom_id.encode("utf-8", "surrogatepass"), digest_size=_DIGEST).digest()
