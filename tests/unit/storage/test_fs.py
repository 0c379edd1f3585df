"""Errors of the file system become the errors that storage acts upon."""

import errno
import os
from pathlib import Path

import pytest

from ottla.base.errors import DiskFull, LogDirOffline, StorageError
from ottla.storage import fs


def test_a_full_disk_is_told_apart_from_a_broken_one() -> None:
    full = fs.storage_error(OSError(errno.ENOSPC, "No space left on device"), "append")
    quota = fs.storage_error(OSError(errno.EDQUOT, "Quota exceeded"), "append")
    broken = fs.storage_error(OSError(errno.EIO, "Input/output error"), "append")
    assert isinstance(full, DiskFull)
    assert isinstance(quota, DiskFull)
    assert isinstance(broken, LogDirOffline)


def test_running_out_of_descriptors_harms_no_directory() -> None:
    error = fs.storage_error(OSError(errno.EMFILE, "Too many open files"), "open")
    assert not isinstance(error, (DiskFull, LogDirOffline))
    assert isinstance(error, StorageError)


def test_a_write_to_a_full_device_raises_disk_full() -> None:
    fd = os.open("/dev/full", os.O_RDWR)
    try:
        with pytest.raises(DiskFull):
            fs.write_at(fd, b"data", 0)
    finally:
        os.close(fd)


def test_a_failed_sync_takes_the_directory_offline() -> None:
    read_end, write_end = os.pipe()
    try:
        with pytest.raises(LogDirOffline, match="fdatasync"):
            fs.datasync(write_end)
    finally:
        os.close(read_end)
        os.close(write_end)


def test_an_atomic_write_leaves_no_other_file(tmp_path: Path) -> None:
    path = tmp_path / "checkpoint"
    fs.write_atomic(str(path), b"one")
    fs.write_atomic(str(path), b"two")
    assert path.read_bytes() == b"two"
    assert os.listdir(tmp_path) == ["checkpoint"]


def test_write_tail_cuts_off_what_lay_behind(tmp_path: Path) -> None:
    path = tmp_path / "index"
    path.write_bytes(b"0123456789")
    fs.write_tail(str(path), 4, b"ab")
    assert path.read_bytes() == b"0123ab"


def test_cached_bytes_are_read_without_waiting(tmp_path: Path) -> None:
    path = tmp_path / "data"
    path.write_bytes(b"0123456789")
    fd = fs.open_file(str(path))
    assert fs.pread_nowait(fd, 4, 3) == b"3456"
    assert fs.read_file_nowait(str(path)) == b"0123456789"
    assert fs.read_file_nowait(str(tmp_path / "missing")) is None
    fs.close(fd)


def test_bytes_that_are_not_there_would_block(tmp_path: Path) -> None:
    path = tmp_path / "data"
    path.write_bytes(b"0123456789")
    fd = fs.open_file(str(path))
    with pytest.raises(fs.WouldBlock):
        fs.pread_nowait(fd, 20, 0)
    fs.close(fd)


def test_a_lock_keeps_others_out_until_it_is_closed(tmp_path: Path) -> None:
    path = str(tmp_path / ".lock")
    first = fs.lock(path)
    assert first is not None
    assert fs.lock(path) is None
    fs.close(first)
    second = fs.lock(path)
    assert second is not None
    fs.close(second)


def test_files_already_gone_are_no_error(tmp_path: Path) -> None:
    fs.unlink([str(tmp_path / "missing")])
    assert not fs.rename(str(tmp_path / "a"), str(tmp_path / "b"), missing_ok=True)
    with pytest.raises(LogDirOffline):
        fs.rename(str(tmp_path / "a"), str(tmp_path / "b"))


def test_a_directory_of_somebody_else_is_told_as_that(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    denied = PermissionError(errno.EACCES, "Permission denied", str(tmp_path / "data" / "lock"))
    owner = tmp_path.stat().st_uid
    monkeypatch.setattr(os, "geteuid", lambda: owner + 1000)
    assert str(fs.storage_error(denied, "cannot open it")) == (
        f"cannot open it: Permission denied; {tmp_path} belongs to user {owner}, and the broker runs as "
        f"user {owner + 1000}: chown -R {owner + 1000} {tmp_path}, then restart the broker"
    )


def test_a_directory_of_ours_that_is_closed_to_us_is_told_as_that(tmp_path: Path) -> None:
    denied = PermissionError(errno.EACCES, "Permission denied", str(tmp_path))
    assert "give it the right to write" in str(fs.storage_error(denied, "cannot open it"))
