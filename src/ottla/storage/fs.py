"""The only module that opens files: thin calls that turn OSError into storage errors.

ENOSPC, its kin and short writes become DiskFull (the caller cuts back and may try again); running
out of descriptors is a plain StorageError; everything else becomes LogDirOffline, since after EIO
or a failed fsync nothing read back from that directory can be trusted until a restart scans it.
"""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

from ottla.base.errors import DiskFull, LogDirOffline, StorageError

Buffer = bytes | bytearray | memoryview

_PROBE_BYTES = 64 * 1024
ReadAt = Callable[[int, int, int], bytes | bytearray]

_FULL = frozenset((errno.ENOSPC, errno.EDQUOT, errno.EFBIG))
# Some filesystems know no RWF_NOWAIT; there a plain read is all there is.
_NO_NOWAIT = frozenset((errno.EOPNOTSUPP, errno.EINVAL))
_NOT_OURS = frozenset((errno.EACCES, errno.EPERM))
_TOO_MANY_FILES = frozenset((errno.EMFILE, errno.ENFILE))


class WouldBlock(Exception):
    """The bytes are not in the page cache: read them in a thread."""


def storage_error(error: OSError, what: str) -> StorageError:
    """Name the storage error that an OSError amounts to."""
    text = f"{what}: {error.strerror or error}"
    if error.errno in _FULL:
        return DiskFull(f"{text}; free some space, appends resume by themselves")
    if error.errno in _TOO_MANY_FILES:
        return StorageError(f"{text}; raise the limit on open files (ulimit -n)")
    if error.errno in _NOT_OURS:
        return LogDirOffline(f"{text}; {_whose(error.filename)}, then restart the broker")
    return LogDirOffline(f"{text}; check the disk, then restart the broker")


def _whose(path: str | None) -> str:
    """Say who owns the nearest directory that exists, and who this broker is: what a bind mount gets wrong."""
    place = Path(path or ".").absolute()
    while not place.exists() and place != place.parent:
        place = place.parent
    owner, us = place.stat().st_uid, os.geteuid()
    if owner == us:
        return f"the broker runs as user {us}, who owns {place}: give it the right to write there (chmod u+rwx)"
    return (
        f"{place} belongs to user {owner}, and the broker runs as user {us}: chown -R {us} {place}"
    )


def open_file(path: str, *, create: bool = False) -> int:
    """Open a file for reading and writing, unbuffered."""
    flags = os.O_RDWR | os.O_CLOEXEC | (os.O_CREAT if create else 0)
    try:
        return os.open(path, flags, 0o644)
    except OSError as error:
        raise storage_error(error, f"cannot open {path}") from error


def close(fd: int) -> None:
    """Close a descriptor."""
    os.close(fd)


def dup(fd: int) -> int:
    """A second descriptor of the same open file, for work in a thread."""
    try:
        return os.dup(fd)
    except OSError as error:
        raise storage_error(error, "cannot duplicate a descriptor") from error


def size_of(fd: int) -> int:
    """The length of an open file."""
    return os.fstat(fd).st_size


def write_at(fd: int, data: Buffer, position: int) -> None:
    """Write all of data at a position in one call; a short write is a full disk."""
    try:
        written = os.pwrite(fd, data, position)
    except OSError as error:
        raise storage_error(error, "cannot append") from error
    if written != len(data):
        raise DiskFull(f"only {written} of {len(data)} bytes could be written; free some space")


def pread(fd: int, length: int, position: int) -> bytes:
    """Read up to length bytes at a position, waiting for the disk when need be."""
    try:
        return os.pread(fd, length, position)
    except OSError as error:
        raise storage_error(error, "cannot read") from error


def pread_nowait(fd: int, length: int, position: int) -> bytes | bytearray:
    """Read length bytes if all are in the page cache, else raise WouldBlock."""
    data = bytearray(length)
    try:
        count = os.preadv(fd, [data], position, os.RWF_NOWAIT)
    except BlockingIOError:
        raise WouldBlock from None
    except OSError as error:
        if error.errno in _NO_NOWAIT:
            return pread(fd, length, position)
        raise storage_error(error, "cannot read") from error
    if count < length:
        raise WouldBlock
    return data


def check_resident(fd: int, length: int, position: int) -> None:
    """Raise WouldBlock if bytes seem not to be in the page cache.

    One byte in each stretch is tried: the kernel reads ahead and forgets in larger pieces than that.
    """
    last = position + length - 1
    for at in (*range(position, last, _PROBE_BYTES), last):
        pread_nowait(fd, 1, at)


class FileRegion:
    """Bytes of a file that nobody has read yet: to be sent to a socket, or read after all.

    It borrows the descriptor of its segment, so it is good only until its callback returns; one that is kept for
    longer has a descriptor of its own, and is to be closed.
    """

    __slots__ = ("_fd", "_owned", "_position", "_size")

    def __init__(self, fd: int, length: int, position: int) -> None:
        self._fd = fd
        self._owned = False
        self._position = position
        self._size = length

    def __len__(self) -> int:
        return self._size

    @property
    def end(self) -> int:
        """The position in the file behind its last byte."""
        return self._position + self._size

    def read(self) -> bytes:
        """The bytes, waiting for the disk when need be."""
        data = pread(self._fd, self._size, self._position) if self._size else b""
        if len(data) < self._size:
            raise StorageError(f"the file ends {self._size - len(data)} bytes before its records")
        return data

    def send_to(self, socket_fd: int) -> int:
        """Hand the bytes to a socket inside the kernel; how many it took. They are no longer part of the region."""
        try:
            sent = os.sendfile(socket_fd, self._fd, self._position, self._size)
        except BlockingIOError:
            return 0
        if sent == 0 and self._size:
            raise StorageError(f"the file ends {self._size} bytes before its records")
        self._position += sent
        self._size -= sent
        return sent

    def is_resident(self) -> bool:
        """Whether its first byte is in the page cache; if not, the kernel begins to read it."""
        try:
            os.preadv(self._fd, [bytearray(1)], self._position, os.RWF_NOWAIT)
        except BlockingIOError:
            os.posix_fadvise(self._fd, self._position, self._size, os.POSIX_FADV_WILLNEED)
            return False
        except OSError as error:
            if error.errno not in _NO_NOWAIT:
                raise storage_error(error, "cannot read") from error
        return True

    def keep(self) -> FileRegion:
        """The same bytes under a descriptor of its own: good whatever becomes of the segment, until it is closed."""
        kept = FileRegion(os.dup(self._fd), self._size, self._position)
        kept._owned = True
        return kept

    def close(self) -> None:
        """Give back the descriptor of a region that was kept."""
        if self._owned:
            self._owned = False
            os.close(self._fd)


def truncate(fd: int, size: int) -> None:
    """Cut an open file to a size."""
    try:
        os.ftruncate(fd, size)
    except OSError as error:
        raise storage_error(error, "cannot truncate") from error


def datasync(fd: int) -> None:
    """Force the bytes and the length of an open file to the disk."""
    try:
        os.fdatasync(fd)
    except OSError as error:
        raise LogDirOffline(f"fdatasync failed: {error.strerror}; restart the broker") from error


def sync_path(path: str) -> None:
    """Force a file, or a directory's list of names, to the disk."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    except OSError as error:
        raise storage_error(error, f"cannot open {path}") from error
    try:
        os.fsync(fd)
    except OSError as error:
        raise LogDirOffline(f"fsync of {path} failed: {error.strerror}") from error
    finally:
        os.close(fd)


def read_file(path: str) -> bytes | None:
    """The content of a small file, or None when there is none."""
    try:
        with open(path, "rb", buffering=0) as file:
            return file.readall()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise storage_error(error, f"cannot read {path}") from error


def read_file_nowait(path: str) -> bytes | bytearray | None:
    """The content of a file if the page cache holds it all, else raise WouldBlock."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise storage_error(error, f"cannot open {path}") from error
    try:
        size = os.fstat(fd).st_size
        return pread_nowait(fd, size, 0) if size else b""
    finally:
        os.close(fd)


def write_tail(path: str, position: int, data: Buffer) -> None:
    """Make the file end with data written at position; what lay behind is cut off."""
    fd = open_file(path, create=True)
    try:
        if data:
            write_at(fd, data, position)
        truncate(fd, position + len(data))
    finally:
        os.close(fd)


def write_atomic(path: str, data: bytes, *, sync: bool = True, sync_directory: bool = True) -> None:
    """Replace a small file so that a crash leaves either the old or the new content."""
    temporary = f"{path}.tmp"
    try:
        with open(temporary, "wb", buffering=0) as file:
            if file.write(data) != len(data):
                raise DiskFull(f"cannot write {temporary}: the disk is full")
            if sync:
                os.fsync(file.fileno())
        os.replace(temporary, path)
    except OSError as error:
        raise storage_error(error, f"cannot write {path}") from error
    if sync and sync_directory:
        sync_path(os.path.dirname(path))


def rename(old: str, new: str, *, missing_ok: bool = False) -> bool:
    """Rename a file or directory; False when it was not there and that is fine."""
    try:
        os.rename(old, new)
    except FileNotFoundError as error:
        if missing_ok:
            return False
        raise storage_error(error, f"cannot rename {old}") from error
    except OSError as error:
        raise storage_error(error, f"cannot rename {old}") from error
    return True


def unlink(paths: Iterable[str]) -> None:
    """Delete files; those already gone are fine."""
    for path in paths:
        try:
            os.unlink(path)
        except FileNotFoundError:
            continue
        except OSError as error:
            raise storage_error(error, f"cannot delete {path}") from error


def list_files(directory: str) -> dict[str, int]:
    """Names and sizes of the plain files in a directory."""
    sizes = {}
    try:
        with os.scandir(directory) as entries:
            for entry in entries:
                # A thread may be unlinking what was deleted a while ago.
                with suppress(FileNotFoundError):
                    if entry.is_file():
                        sizes[entry.name] = entry.stat().st_size
    except OSError as error:
        raise storage_error(error, f"cannot list {directory}") from error
    return sizes


def list_directories(directory: str) -> list[str]:
    """Names of the directories in a directory."""
    try:
        with os.scandir(directory) as entries:
            return sorted(entry.name for entry in entries if entry.is_dir())
    except OSError as error:
        raise storage_error(error, f"cannot list {directory}") from error


def modified_ms(path: str) -> int:
    """When a file was last written, by the filesystem's clock."""
    try:
        return os.stat(path).st_mtime_ns // 1_000_000
    except OSError as error:
        raise storage_error(error, f"cannot look at {path}") from error


def exists(path: str) -> bool:
    """Whether there is such a file or directory."""
    return os.path.exists(path)


def make_directory(path: str) -> None:
    """Create a directory and its parents; one that exists is fine."""
    try:
        os.makedirs(path, exist_ok=True)
    except OSError as error:
        raise storage_error(error, f"cannot create {path}") from error


def remove_tree(path: str) -> None:
    """Delete a directory with all it holds."""
    shutil.rmtree(path, ignore_errors=True)


def disk_space(path: str) -> tuple[int, int]:
    """Total and usable bytes of the filesystem that holds a path."""
    try:
        stat = os.statvfs(path)
    except OSError as error:
        raise storage_error(error, f"cannot look at {path}") from error
    return stat.f_frsize * stat.f_blocks, stat.f_frsize * stat.f_bavail


def lock(path: str) -> int | None:
    """Take an exclusive lock for the life of the descriptor; None when another process has it."""
    fd = open_file(path, create=True)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(fd)
        return None
    return fd
