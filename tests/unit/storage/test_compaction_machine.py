"""Whatever is appended, sealed, compacted and restarted in whatever order, the table stays right."""

import shutil
import tempfile
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from ottla.protocol.records.builder import build_batch
from ottla.protocol.records.compression import Codec
from ottla.protocol.records.record import Record
from ottla.storage.log import Log
from tests.unit.storage.compacting import (
    COMPACT,
    batches_of,
    compact,
    last_values,
    records_of,
    roll,
)
from tests.unit.storage.samples import NOW_MS, append, make_marker, open_log

KEYS = st.sampled_from(
    [b"a", b"b", b"c", b"d", b"a long key of more than 32 bytes, kept as digest"]
)
VALUES = st.none() | st.sampled_from([b"1", b"2", b"v" * 300])
PAIRS = st.lists(st.tuples(KEYS, VALUES), min_size=1, max_size=6)
PRODUCERS = st.integers(0, 2)


class CompactedLog(RuleBasedStateMachine):
    """A log beside the list of everything that was ever appended to it."""

    def __init__(self) -> None:
        super().__init__()
        self.directory = Path(tempfile.mkdtemp())
        self.log: Log = open_log(self.directory, COMPACT)
        self.now_ms = NOW_MS
        self.committed: dict[int, Record] = {}
        self.undecided: dict[int, list[Record]] = {}
        self.sequences: dict[int, int] = {}

    def teardown(self) -> None:
        self.log.close(clean=False)
        shutil.rmtree(self.directory)

    @rule(pairs=PAIRS, codec=st.sampled_from(Codec))
    def produce(self, pairs: list[tuple[bytes, bytes | None]], codec: Codec) -> None:
        records = self.records(pairs)
        append(self.log, build_batch(records, codec=codec), now_ms=self.now_ms)
        self.committed |= {record.offset: record for record in records}

    @rule(pairs=PAIRS, producer=PRODUCERS, end=st.sampled_from(["open", "commit", "abort"]))
    def produce_in_transaction(
        self, pairs: list[tuple[bytes, bytes | None]], producer: int, end: str
    ) -> None:
        records = self.records(pairs)
        sequence = self.sequences.get(producer, 0)
        batch = build_batch(
            records,
            producer_id=producer,
            producer_epoch=0,
            base_sequence=sequence,
            transactional=True,
        )
        append(self.log, batch, now_ms=self.now_ms)
        self.undecided.setdefault(producer, []).extend(records)
        self.sequences[producer] = sequence + len(records)
        if end != "open":
            self.end_transaction(producer, end == "commit")

    @rule(producer=PRODUCERS, commit=st.booleans())
    def end_transaction(self, producer: int, commit: bool) -> None:
        records = self.undecided.pop(producer, [])
        if records:
            append(self.log, make_marker(producer, commit=commit), now_ms=self.now_ms)
            if commit:
                self.committed |= {record.offset: record for record in records}

    @rule(
        later_ms=st.sampled_from([0, 500, 2000]),
        memory_bytes=st.sampled_from([500, 1 << 20]),
        seal=st.booleans(),
    )
    def compact(self, later_ms: int, memory_bytes: int, seal: bool) -> None:
        self.now_ms += later_ms
        if seal:
            roll(self.log, self.now_ms)
        compact(self.log, self.now_ms, memory_bytes)

    @rule(clean=st.booleans())
    def restart(self, clean: bool) -> None:
        first_dirty = self.log.first_dirty_offset
        self.log.close(clean=clean)
        self.log = open_log(self.directory, COMPACT, clean=clean, now_ms=self.now_ms)
        self.log.high_watermark = self.log.end_offset
        self.log.first_dirty_offset = first_dirty

    @invariant()
    def the_table_is_right(self) -> None:
        open_offsets = {record.offset for some in self.undecided.values() for record in some}
        expected = last_values([self.committed[offset] for offset in sorted(self.committed)])
        left = [each for each in records_of(self.log) if each.offset not in open_offsets]
        assert last_values(left) == expected
        assert left == [self.committed[record.offset] for record in left], "as they were produced"

    @invariant()
    def offsets_and_sequences_stay(self) -> None:
        last = -1
        for header, _ in batches_of(self.log):
            assert header.base_offset > last
            last = header.last_offset
            found = self.log.read(header.last_offset, 1, self.log.end_offset, at_least_one=True)
            data = found.cold.read() if found.cold else found.data
            assert int.from_bytes(bytes(data)[:8], "big") == header.base_offset
        assert last == self.log.end_offset - 1
        for producer, sequence in self.sequences.items():
            entry = self.log.producers.entry(producer)
            assert entry is not None
            assert entry.last_sequence == sequence - 1

    def records(self, pairs: list[tuple[bytes, bytes | None]]) -> list[Record]:
        base = self.log.end_offset
        return [
            Record(base + n, self.now_ms + n, key, value, (("n", b"%d" % n),))
            for n, (key, value) in enumerate(pairs)
        ]


CompactedLog.TestCase.settings = settings(max_examples=100, stateful_step_count=40, deadline=None)
TestCompactedLog = CompactedLog.TestCase
