"""What kafka-dump-log makes of files that are wrong."""

from pathlib import Path

import pytest

from ottla.cli.kafka.dump_log import main
from ottla.protocol.records.builder import build_batch
from ottla.protocol.records.record import Record
from ottla.storage.offset_index import OffsetIndex
from ottla.storage.time_index import TimeIndex
from tests.golden.transcript import Printed, run

FIRST = "00000000000000000000"


def dump(*words: str) -> Printed:
    return run("kafka-dump-log", *words)


@pytest.fixture
def segment(tmp_path: Path) -> Path:
    """A log of two batches, of two records each."""
    records = [Record(timestamp=1000 + n, key=b"k", value=b"v") for n in range(4)]
    first, second = build_batch(records[:2]), build_batch(records[2:], base_offset=2)
    (tmp_path / f"{FIRST}.log").write_bytes(first + second)
    offsets = OffsetIndex(str(tmp_path / f"{FIRST}.index"), 0, bytearray())
    offsets.append(3, len(first))
    offsets.flush()
    times = TimeIndex(str(tmp_path / f"{FIRST}.timeindex"), 0, bytearray())
    times.maybe_append(1003, 3)
    times.flush()
    return tmp_path


def test_indexes_that_fit_their_log_are_shown_without_complaint(segment: Path) -> None:
    done = dump("--files", f"{segment}/{FIRST}.index,{segment}/{FIRST}.timeindex")
    assert (done.code, done.stderr) == (0, "")
    assert "offset: 3 position: " in done.stdout
    assert "timestamp: 1003 offset: 3" in done.stdout


def test_entries_that_do_not_fit_are_told(segment: Path) -> None:
    offsets = OffsetIndex(str(segment / f"{FIRST}.index"), 0, bytearray())
    offsets.append(2, 0)
    offsets.flush()
    times = TimeIndex(str(segment / f"{FIRST}.timeindex"), 0, bytearray())
    times.maybe_append(900, 1)
    times.maybe_append(901, 2)
    times.flush()
    done = dump("--files", f"{segment}/{FIRST}.index,{segment}/{FIRST}.timeindex")
    assert done.stderr.splitlines() == [
        f"Mismatches in :{segment}/{FIRST}.index",
        "  Index offset: 2, log offset: 1",
        f"Found timestamp mismatch in :{segment}/{FIRST}.timeindex",
        "  Index timestamp: 900, log timestamp: 1001",
        f"The following indexed offsets are not found in :{segment}/{FIRST}.timeindex",
        "Indexed offset: 2, found log offset: 3",
    ]


def test_a_gap_between_offsets_is_told(segment: Path) -> None:
    record = [Record(timestamp=1, value=b"v")]
    batches = build_batch(record) + build_batch(record, base_offset=7)
    (segment / f"{FIRST}.log").write_bytes(batches)
    done = dump("--files", f"{segment}/{FIRST}.log", "--deep-iteration")
    assert done.stderr == (
        f"Non-consecutive offsets in {segment}/{FIRST}.log\n  0 is followed by 7\n"
    )


def test_a_damaged_batch_is_marked(segment: Path) -> None:
    log = segment / f"{FIRST}.log"
    content = bytearray(log.read_bytes())
    content[-1] ^= 0xFF
    log.write_bytes(content)
    *_, last = dump("--files", str(log)).stdout.splitlines()
    assert last.endswith("isvalid: false")


def test_an_empty_index_says_so(segment: Path) -> None:
    (segment / f"{FIRST}.index").write_bytes(b"")
    assert dump("--files", f"{segment}/{FIRST}.index").stdout.endswith(".index is empty.\n")


REFUSED = {
    "no file": (("--files", "{d}/7.log"), "7.log: No such file or directory"),
    "a name that is no offset": (("--files", "{d}/x.log"), "not 'x'"),
    "no batches": (("--files", "{d}/1.log"), "no batch at position 0"),
    "a snapshot of something else": (
        ("--files", "{d}/1.snapshot"),
        "1.snapshot: producer snapshot",
    ),
    "an index cut short": (("--files", "{d}/1.index", "--index-sanity-check"), "is corrupt"),
    "an unknown decoder": (
        ("--files", "{d}/1.log", "--value-decoder-class", "x.Y"),
        "x.Y: no such decoder",
    ),
    "a number that cannot be read": (
        ("--files", "{d}/00000000000000000000.log", "--key-decoder-class", "LongDecoder"),
        "LongDecoder cannot read 1 bytes",
    ),
    "records of KRaft": (("--files", "{d}/1.log", "--cluster-metadata-decoder"), "keeps no such"),
    "no offsets": (
        ("--files", "{d}/1.log,{d}/2.log", "--offsets-decoder"),
        "no batch at position 0",
    ),
}


@pytest.mark.parametrize(("words", "why"), REFUSED.values(), ids=REFUSED.keys())
def test_bad_files_are_refused_in_one_sentence(
    segment: Path, words: tuple[str, ...], why: str
) -> None:
    for name in ("1.log", "2.log", "1.snapshot", "1.index"):
        (segment / name).write_bytes(
            b"something else, and long enough to be a header of a batch...."
        )
    done = dump(*(word.format(d=segment) for word in words))
    assert done.code == 1
    [sentence] = done.stderr.splitlines()
    assert why in sentence


def test_files_of_other_kinds_are_passed_over(tmp_path: Path) -> None:
    (tmp_path / "leader-epoch-checkpoint").write_text("0\n0\n")
    done = dump("--files", f"{tmp_path}/leader-epoch-checkpoint")
    assert (done.code, done.stderr) == (
        0,
        f"Ignoring unknown file {tmp_path}/leader-epoch-checkpoint\n",
    )


def test_the_files_must_be_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--print-data-log"]) == 1
    assert capsys.readouterr().err.startswith('Missing required argument "[files]"\nOption ')
