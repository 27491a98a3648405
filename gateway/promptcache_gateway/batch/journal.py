"""The output file, which is the journal too: a request is finished when its line stands there whole.

A line is written in one go, so a killed process leaves at most a torn last line; a machine that lost its
power leaves zeros where its disk had not come to write. Opening the file mends both, refuses a file that
holds anything but answers to this input, and takes out the answers that failed, since those are asked for
again. A lock keeps a second batch away.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import stat
from typing import TYPE_CHECKING

from promptcache_gateway.batch.answer import read_line
from promptcache_gateway.batch.errors import JournalError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from promptcache_gateway.batch.answer import Noted
    from promptcache_gateway.batch.index import InputIndex

_ANOTHER = "Name another output file."
_CHUNK = 1 << 20
_BEGINNING = b'{"id":"batch_req_'
_NO_LOCKS = frozenset({errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.EINVAL})


class Journal:
    """The open output file.

    Attributes:
        finished: a byte for each request of the input, 1 where its answer stood in the file already.
    """

    def __init__(self, path: Path, index: InputIndex, on_finished: Callable[[Noted], None]) -> None:
        """Open, lock, mend and read the file; raises `JournalError`. ``on_finished`` is told each answer."""
        self._path = path
        self._index = index
        self.finished = bytearray(len(index))
        self._on_finished = on_finished
        self._fd = self._open(path)
        try:
            self._refuse_others()
            self._mend()
            self._read()
            self._keep_private()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Have what was written on the disk, and let others have the file."""
        if self._fd < 0:
            return
        with contextlib.suppress(OSError):
            os.fsync(self._fd)
        os.close(self._fd)
        self._fd = -1

    def sync(self) -> None:
        """Have what was written on the disk, for the day the machine itself dies."""
        with contextlib.suppress(OSError):  # what cannot be synchronized was written all the same
            os.fsync(self._fd)

    def append(self, line: bytes) -> None:
        """Write a line; raises `JournalError`, and leaves no part of it, where the disk takes none."""
        before = os.lseek(self._fd, 0, os.SEEK_END)
        try:
            _write(self._fd, line)
        except OSError as error:
            with contextlib.suppress(OSError):
                os.ftruncate(self._fd, before)
            raise JournalError(
                f"{self._path}: cannot be written ({error.strerror}).",
                remedy="What is finished stands in it; run the same command again to go on.",
            ) from error

    def _open(self, path: Path) -> int:
        try:
            fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise JournalError(f"{path}: {error.strerror}.", remedy=_ANOTHER) from error
        try:
            _lock(fd, path)
        except BaseException:
            os.close(fd)
            raise
        return fd

    def _refuse_others(self) -> None:
        found = os.fstat(self._fd)
        if not stat.S_ISREG(found.st_mode):
            raise JournalError(f"{self._path}: is no file that could be read again.", remedy=_ANOTHER)
        if os.path.samestat(found, self._index.path.stat()):
            raise JournalError(f"{self._path}: is the input itself.", remedy=_ANOTHER)

    def _keep_private(self) -> None:
        """It holds answers: a file that was there before and is known to be ours is the owner's only, too."""
        if os.fstat(self._fd).st_mode & 0o077:
            with contextlib.suppress(OSError):  # where it is another's, its owner has said who may read it
                os.fchmod(self._fd, 0o600)

    def _mend(self) -> None:
        """Make the last line whole, or take it away."""
        size = self._without_zeros()
        if not size or os.pread(self._fd, 1, size - 1) == b"\n":
            return
        begin = _last_line(self._fd, size)
        line = os.pread(self._fd, size - begin, begin)
        if read_line(line) is not None:
            self.append(b"\n")
        elif line.startswith(_BEGINNING[: len(line)]):
            os.ftruncate(self._fd, begin)
        else:
            raise self._foreign(None)

    def _without_zeros(self) -> int:
        """Take away zeros at the end of a file that began as ours; the size that is left."""
        kept = size = os.lseek(self._fd, 0, os.SEEK_END)
        if not self._began_as_ours():
            return size
        while kept:
            begin = max(0, kept - _CHUNK)
            left = len(os.pread(self._fd, kept - begin, begin).rstrip(b"\0"))
            kept = begin + left
            if left:
                break
        if kept < size:
            os.ftruncate(self._fd, kept)
        return kept

    def _began_as_ours(self) -> bool:
        head = os.pread(self._fd, len(_BEGINNING), 0).rstrip(b"\0")
        return bool(head) and _BEGINNING.startswith(head)

    def _read(self) -> None:
        failed = 0
        for number, line in _lines(self._fd):
            noted = read_line(line)
            if noted is None and b"\0" in line and self._began_as_ours():
                failed += 1  # the disk had not come to write it
                continue
            if noted is None:
                raise self._foreign(number)
            at = self._index.find(noted.custom_id)
            if at is None or noted.fingerprint != self._index.fingerprint(at):
                raise JournalError(
                    f"{self._path}, line {number}: answers a request that {self._index.path} does not hold.",
                    remedy="Name another output file, or the input it belongs to.",
                )
            if not noted.succeeded:
                failed += 1
            elif not self.finished[at]:
                self.finished[at] = 1
                self._on_finished(noted)
        if failed:
            self._drop_failed()

    def _drop_failed(self) -> None:
        """Put a file without the failed answers in this one's place, in one step."""
        beside = self._path.with_name(f".{self._path.name}.{os.getpid()}")
        made = self._open(beside)
        try:
            os.ftruncate(made, 0)
            for _, line in _lines(self._fd):
                noted = read_line(line)
                if noted is not None and noted.succeeded:
                    _write(made, line + b"\n")
            os.fsync(made)
            beside.replace(self._path)
        except OSError as error:
            os.close(made)
            beside.unlink(missing_ok=True)
            raise JournalError(f"{self._path}: cannot be written ({error.strerror}).") from error
        os.close(self._fd)
        self._fd = made

    def _foreign(self, number: int | None) -> JournalError:
        where = f"{self._path}: the last line" if number is None else f"{self._path}, line {number}"
        return JournalError(f"{where} is no answer of a batch; nothing was written to it.", remedy=_ANOTHER)


def _lock(fd: int, path: Path) -> None:
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise JournalError(
            f"{path}: another batch is writing to it.", remedy="Wait for that one, or name another file."
        ) from None
    except OSError as error:  # some network file systems have no locks
        if error.errno not in _NO_LOCKS:
            raise JournalError(f"{path}: cannot be locked ({error.strerror}).", remedy=_ANOTHER) from error


def _write(fd: int, data: bytes) -> None:
    while data:
        data = data[os.write(fd, data) :]


def _last_line(fd: int, size: int) -> int:
    """Where the last line begins."""
    end = size
    while end > 0:
        begin = max(0, end - _CHUNK)
        found = os.pread(fd, end - begin, begin).rfind(b"\n")
        if found >= 0:
            return begin + found + 1
        end = begin
    return 0


def _lines(fd: int) -> Iterator[tuple[int, bytes]]:
    """The lines of a file with their numbers from 1; what is empty is passed over."""
    with os.fdopen(os.dup(fd), "rb") as file:
        file.seek(0)
        for number, line in enumerate(file, 1):
            if line.strip():
                yield number, line.rstrip(b"\n")
