"""Disks in memory, in place of `ottla.storage.fs`: cheap to make, and whoever forks has a copy of them."""

import errno
from collections.abc import Iterable
from contextlib import AbstractContextManager
from typing import Any
from unittest.mock import patch

from ottla.storage import fs

_FIRST_FD = 1 << 20
"""No descriptor of the kernel's has such a number: what slips past this module fails at once."""


class Disks:
    """Files by directory and name, and what is open of them."""

    def __init__(self) -> None:
        self._directories: dict[str, dict[str, bytearray]] = {}
        self._open: dict[int, bytearray] = {}
        self._last_fd = _FIRST_FD
        # Directories that answer no write any more.
        self._broken: set[str] = set()

    def mounted(self) -> AbstractContextManager[Any]:
        """As long as it lasts, storage has no other files than these."""
        names = [name for name in vars(Disks) if not name.startswith("_")]
        shared = [name for name in names if hasattr(fs, name)]
        return patch.multiple(fs, **{name: getattr(self, name) for name in shared})

    def tear(self, below: str, suffix: str, lost_bytes: int) -> None:
        """The last bytes of some files had not reached the disk when the power failed."""
        for directory, files in self._directories.items():
            for name, data in files.items():
                if directory.startswith(below) and name.endswith(suffix):
                    del data[max(0, len(data) - lost_bytes) :]

    def break_below(self, path: str) -> None:
        """From now on what is written at and below a directory fails."""
        self._broken.add(path)

    def mend_below(self, path: str) -> None:
        """Another disk, with what was on the one before."""
        self._broken.discard(path)

    def _check(self, path: str) -> None:
        if any(f"{path}/".startswith(f"{each}/") for each in self._broken):
            raise fs.storage_error(OSError(errno.EIO, "Input/output error"), f"cannot write {path}")

    def _path_of(self, data: bytearray) -> str:
        for directory, files in self._directories.items():
            if any(each is data for each in files.values()):
                return directory
        return "/removed"

    def copy_tree(self, path: str) -> dict[str, dict[str, bytes]]:
        """Everything at and below a directory."""
        return {
            directory: {name: bytes(data) for name, data in files.items()}
            for directory, files in self._directories.items()
            if f"{directory}/".startswith(f"{path}/")
        }

    def paste(self, copy: dict[str, dict[str, bytes]]) -> None:
        """Put a copy where it was made."""
        for directory, files in copy.items():
            self.make_directory(directory)
            self._directories[directory] = {n: bytearray(data) for n, data in files.items()}

    def _find(self, path: str) -> bytearray | None:
        directory, _, name = path.rpartition("/")
        return self._directories.get(directory, {}).get(name)

    # --- `ottla.storage.fs`, name by name

    def open_file(self, path: str, *, create: bool = False) -> int:
        data = self._find(path)
        if data is None:
            directory, _, name = path.rpartition("/")
            if not create or directory not in self._directories:
                missing = FileNotFoundError(errno.ENOENT, "no such file")
                raise fs.storage_error(missing, f"cannot open {path}")
            data = self._directories[directory][name] = bytearray()
        self._last_fd += 1
        self._open[self._last_fd] = data
        return self._last_fd

    def close(self, fd: int) -> None:
        del self._open[fd]

    def dup(self, fd: int) -> int:
        self._last_fd += 1
        self._open[self._last_fd] = self._open[fd]
        return self._last_fd

    def size_of(self, fd: int) -> int:
        return len(self._open[fd])

    def write_at(self, fd: int, data: fs.Buffer, position: int) -> None:
        file = self._open[fd]
        if self._broken:
            self._check(self._path_of(file))
        if position > len(file):
            file.extend(bytes(position - len(file)))
        file[position : position + len(data)] = data

    def pread(self, fd: int, length: int, position: int) -> bytes:
        return bytes(self._open[fd][position : position + length])

    def pread_nowait(self, fd: int, length: int, position: int) -> bytearray:
        return self._open[fd][position : position + length]

    def check_resident(self, fd: int, length: int, position: int) -> None:
        """All of it is in memory."""

    def truncate(self, fd: int, size: int) -> None:
        file = self._open[fd]
        del file[size:]
        file.extend(bytes(size - len(file)))

    def datasync(self, fd: int) -> None:
        """What a power failure takes is chosen by `tear`."""

    def sync_path(self, path: str) -> None:
        """See `datasync`."""

    def read_file(self, path: str) -> bytes | None:
        data = self._find(path)
        return None if data is None else bytes(data)

    def read_file_nowait(self, path: str) -> bytes | None:
        return self.read_file(path)

    def write_tail(self, path: str, position: int, data: fs.Buffer) -> None:
        fd = self.open_file(path, create=True)
        self.write_at(fd, data, position)
        self.truncate(fd, position + len(data))
        self.close(fd)

    def write_atomic(self, path: str, data: bytes, **_: bool) -> None:
        self._check(path)
        directory, _, name = path.rpartition("/")
        self._directories[directory][name] = bytearray(data)

    def rename(self, old: str, new: str, *, missing_ok: bool = False) -> bool:
        (above, _, name), (there, _, new_name) = old.rpartition("/"), new.rpartition("/")
        if old in self._directories:
            self._directories[new] = self._directories.pop(old)
        elif self._find(old) is not None:
            self._directories[there][new_name] = self._directories[above].pop(name)
        elif missing_ok:
            return False
        else:
            missing = FileNotFoundError(errno.ENOENT, "no such file")
            raise fs.storage_error(missing, f"cannot rename {old}")
        return True

    def unlink(self, paths: Iterable[str]) -> None:
        for path in paths:
            directory, _, name = path.rpartition("/")
            self._directories.get(directory, {}).pop(name, None)

    def list_files(self, directory: str) -> dict[str, int]:
        return {name: len(data) for name, data in self._directories[directory].items()}

    def list_directories(self, directory: str) -> list[str]:
        start = directory + "/"
        below = (each[len(start) :] for each in self._directories if each.startswith(start))
        return sorted(name for name in below if "/" not in name)

    def modified_ms(self, path: str) -> int:
        return 0

    def exists(self, path: str) -> bool:
        return path in self._directories or self._find(path) is not None

    def make_directory(self, path: str) -> None:
        while path and path not in self._directories:
            self._directories[path] = {}
            path = path.rpartition("/")[0]

    def remove_tree(self, path: str) -> None:
        for each in [each for each in self._directories if f"{each}/".startswith(f"{path}/")]:
            del self._directories[each]

    def lock(self, path: str) -> int | None:
        return self.open_file(path, create=True)
