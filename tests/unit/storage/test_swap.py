"""A crash at any step of the swap of compacted segments leaves the old log or the new one."""

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from ottla.protocol.records.builder import build_batch
from ottla.protocol.records.record import Record
from ottla.storage import fs
from ottla.storage.log import Log
from tests.unit.storage.compacting import COMPACT, batches_of, compact, roll, view_of
from tests.unit.storage.samples import NOW_MS, append, make_batch, make_marker, open_log

STEPS = 22  # of the longer of the two swaps


class Crash(Exception):
    """The process ends here."""


def crash_after(monkeypatch: pytest.MonkeyPatch, steps: int, *names: str) -> None:
    """Let the process end after some renames, unlinks or whatever is named."""
    left = [steps]

    def counted(call: Callable[..., object]) -> Callable[..., object]:
        def counting(*args: object, **options: object) -> object:
            if left[0] == 0:
                raise Crash
            left[0] -= 1
            return call(*args, **options)

        return counting

    for name in names:
        monkeypatch.setattr(fs.os, name, counted(getattr(fs.os, name)))


def merged(parent: Path) -> Log:
    """Three sealed segments that become one, with an aborted transaction, and one active."""
    log = open_log(parent, COMPACT)
    for n in range(3):
        records = [Record(0, NOW_MS, b"key-%d" % m, b"%d" % n) for m in range(n, 10)]
        append(log, build_batch(records))
        append(log, make_batch(producer_id=n, transactional=True, value=b"given up"))
        append(log, make_marker(n, commit=False))
        roll(log)
    append(log, make_batch(2))
    log.high_watermark = log.end_offset
    return log


def emptied(parent: Path) -> Log:
    """Two sealed segments of which nothing is left, and one, too large to join them, that stays."""
    log = open_log(parent, COMPACT)
    for size in (10, 10, 300):
        records = [Record(0, NOW_MS, b"key-%d" % m, b"v" * size) for m in range(10)]
        append(log, make_batch(producer_id=7, transactional=True, sequence=log.end_offset // 12))
        append(log, make_marker(7, commit=False))
        append(log, build_batch(records))
        roll(log)
    append(log, make_batch(2))
    log.high_watermark = log.end_offset
    return log


WRITERS = [merged, emptied]


def check(parent: Path, expected: dict[bytes | None, bytes], end_offset: int) -> None:
    log = open_log(parent, COMPACT, clean=False)
    assert view_of(log) == expected
    assert log.end_offset == end_offset
    bases = [header.base_offset for header, _ in batches_of(log)]
    assert bases == sorted(set(bases)), "no batch of an old segment is there beside its copy"
    leftovers = [path.name for path in Path(log.directory).iterdir() if path.name.count(".") > 1]
    assert leftovers == []
    log.close(clean=False)


@pytest.mark.parametrize("steps", range(STEPS))
@pytest.mark.parametrize("write", WRITERS)
def test_a_crash_within_the_swap(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, write: Callable[[Path], Log], steps: int
) -> None:
    log = write(tmp_path)
    expected, end_offset = view_of(log), log.end_offset
    with monkeypatch.context() as patched, suppress(Crash):
        crash_after(patched, steps, "rename")
        compact(log)
    check(tmp_path, expected, end_offset)


def test_the_steps_above_are_all_there_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    crash_after(monkeypatch, STEPS, "rename")
    compact(merged(tmp_path))


@pytest.mark.parametrize("steps", range(STEPS))
@pytest.mark.parametrize("write", WRITERS)
def test_a_crash_within_the_start_that_follows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, write: Callable[[Path], Log], steps: int
) -> None:
    log = write(tmp_path)
    expected, end_offset = view_of(log), log.end_offset
    with monkeypatch.context() as patched, suppress(Crash):
        crash_after(patched, steps, "rename")
        compact(log)
    for again in range(30):
        with monkeypatch.context() as patched, suppress(Crash):
            crash_after(patched, again, "rename", "unlink")
            open_log(tmp_path, COMPACT, clean=False).close(clean=False)
    check(tmp_path, expected, end_offset)
