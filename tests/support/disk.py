"""Disks that can lose their power or run full: loop images and small memory file systems."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support.requirements import SYSTEM_PATH
from tests.support.waiting import wait_for

MIB = 1024 * 1024


def _run(*command: str) -> str:
    done = _try(*command)
    assert done.returncode == 0, f"{' '.join(command)}: {done.stderr}"
    return done.stdout.strip()


def _try(*command: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PATH": SYSTEM_PATH}
    return subprocess.run(command, capture_output=True, text=True, env=environment, timeout=60)


def segments_are_below(directory: Path, size_bytes: int) -> bool:
    """Whether a partition's segments take less; not while one is swapped away under our eyes."""
    try:
        return sum(path.stat().st_size for path in directory.glob("*.log")) < size_bytes
    except FileNotFoundError:
        return False


class PowerCutDisk:
    """An ext4 file system in a loop image; what was not synced is lost when the power is cut.

    Unsynced pages live in the page cache of the inner file system, so a copy of the image holds
    just what a disk would hold at that moment; its journal is replayed at the next mount.
    """

    def __init__(self, directory: Path, size_mib: int = 512) -> None:
        self.image = directory / "disk.img"
        self.mount_point = directory / "mounted"
        self._device = ""
        self.mount_point.mkdir()
        with self.image.open("wb") as image:
            image.truncate(size_mib * MIB)
        _run("mkfs.ext4", "-q", str(self.image))
        self._mount()

    def _mount(self) -> None:
        self._device = _run("losetup", "--find", "--show", str(self.image))
        # The journal commits on fsync alone: the timer would save data that nobody synced.
        _run("mount", "-o", "commit=600", self._device, str(self.mount_point))

    def unmount(self) -> None:
        """Unmount and free the loop device."""
        if self._device:
            # The cleaner of a broker that was killed dies with it, but a moment later.
            unmount = ("umount", str(self.mount_point))
            wait_for(lambda: not _try(*unmount).returncode, f"nobody to use {self.mount_point}")
            _run("losetup", "--detach", self._device)
            self._device = ""

    def cut_power(self) -> None:
        """Go back to what the disk held at this moment; nothing may have files open on it."""
        survivor = self.image.with_suffix(".cut")
        _run("cp", "--sparse=always", str(self.image), str(survivor))
        self.unmount()
        survivor.replace(self.image)
        self._mount()


@contextmanager
def small_disk(mount_point: Path, size_mib: int) -> Iterator[Path]:
    """A file system in memory that has room for no more than the size."""
    mount_point.mkdir()
    _run("mount", "-t", "tmpfs", "-o", f"size={size_mib}m", "tmpfs", str(mount_point))
    try:
        yield mount_point
    finally:
        _run("umount", str(mount_point))


def fill(directory: Path, leave_bytes: int) -> Path:
    """Fill the disk of the directory with one file, leaving some room; delete it to free it."""
    ballast = directory / "ballast"
    size = shutil.disk_usage(directory).free - leave_bytes
    with ballast.open("wb") as file:
        while size > 0:
            size -= file.write(b"\0" * min(MIB, size))
    return ballast


@contextmanager
def failing_disk(directory: Path, healthy_mib: int) -> Iterator[Path]:
    """A file system whose device answers with I/O errors once some megabytes have reached it.

    Its image has holes and lies on a memory file system that is too small for it: the loop device cannot write what
    does not fit, and says EIO.
    """
    mount_point = directory / "failing"
    mount_point.mkdir()
    with small_disk(directory / "backing", healthy_mib) as backing:
        image = backing / "disk.img"
        with image.open("wb") as file:
            file.truncate(512 * MIB)
        # Nothing is left to be initialized later: the errors shall come from the broker's own writes.
        _run(
            "mkfs.ext4",
            "-q",
            "-E",
            "lazy_itable_init=0,lazy_journal_init=0",
            "-J",
            "size=4",
            str(image),
        )
        device = _run("losetup", "--find", "--show", str(image))
        try:
            _run("mount", "-o", "errors=continue", device, str(mount_point))
            yield mount_point
        finally:
            _run("umount", "-l", str(mount_point))
            _run("losetup", "--detach", device)
