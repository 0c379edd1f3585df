"""A log that is appended to, checkpointed, truncated, killed and torn in any order keeps its word.

Whatever happens: offsets are dense, what was flushed is there, the indexes agree with a full scan,
producers and leader epochs equal a replay of the batches.
"""

import os
import shutil
import tempfile
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from ottla.config.log import LogConfig
from ottla.protocol.records.batch import BatchHeader, iter_headers
from ottla.storage.epochs import LeaderEpochs
from ottla.storage.log import Log
from ottla.storage.producer_state import ProducerState
from ottla.storage.replay import read_marker
from tests.unit.storage.samples import NOW_MS, append, make_batch, make_marker, open_log, read_all

SMALL = LogConfig(segment_bytes=4096, index_interval_bytes=512)
OTHER = LogConfig(segment_bytes=3500, index_interval_bytes=100)


class CrashMachine(RuleBasedStateMachine):
    """One log, and a list of the batches it ought to hold."""

    @initialize()
    def open_empty(self) -> None:
        self.parent = Path(tempfile.mkdtemp(prefix="ottla-crash-"))
        self.log = open_log(self.parent, SMALL)
        self.expected: list[BatchHeader] = []
        self.sequences: dict[int, int] = {}
        self.in_txn: set[int] = set()
        self.leader_epoch = 0
        self.checkpointed = 0

    def teardown(self) -> None:
        if hasattr(self, "log"):
            self.log.close(clean=False)
            shutil.rmtree(self.parent)

    @rule(count=st.integers(1, 5), size=st.integers(0, 600), time=st.integers(0, 50))
    def append_plain(self, count: int, size: int, time: int) -> None:
        self.store(make_batch(count, value=b"x" * size, timestamp=NOW_MS + time))

    @rule(pid=st.integers(0, 3), count=st.integers(1, 3), size=st.integers(0, 300))
    def append_idempotent(self, pid: int, count: int, size: int) -> None:
        sequence = self.sequences.get(pid, 0)
        batch = make_batch(count, value=b"x" * size, producer_id=pid, sequence=sequence)
        self.store(bytearray(batch))
        assert append(self.log, batch).duplicate
        self.sequences[pid] = sequence + count

    @rule(pid=st.integers(10, 12))
    def append_in_transaction(self, pid: int) -> None:
        sequence = self.sequences.get(pid, 0)
        self.store(make_batch(producer_id=pid, sequence=sequence, transactional=True))
        self.sequences[pid] = sequence + 1
        self.in_txn.add(pid)

    @precondition(lambda self: self.in_txn)
    @rule(commit=st.booleans())
    def end_transaction(self, commit: bool) -> None:
        self.store(make_marker(self.in_txn.pop(), commit=commit))

    @rule()
    def elect_leader(self) -> None:
        self.leader_epoch += 1

    @rule()
    def roll(self) -> None:
        self.log.roll(NOW_MS)

    @rule(config=st.sampled_from([SMALL, OTHER]))
    def configure(self, config: LogConfig) -> None:
        self.log.config = config

    @rule(checkpoint=st.booleans())
    def flush(self, checkpoint: bool) -> None:
        ticket = self.log.flush_begin(checkpoint=checkpoint)
        if ticket is not None:
            ticket.run()
            self.log.flush_done(ticket)
        self.checkpointed = self.log.recovery_point

    @rule()
    def restart(self) -> None:
        self.log.close()
        self.reopen(clean=True)
        assert len(self.stored()) == len(self.expected)

    @rule()
    def kill(self) -> None:
        self.log.close(clean=False)
        self.reopen(clean=False)
        assert len(self.stored()) == len(self.expected)

    @rule(fraction=st.floats(0, 1), flip=st.booleans())
    def lose_power(self, fraction: float, flip: bool) -> None:
        """Damage what lies behind the recovery point: cut it off, or flip a bit in it."""
        self.log.close(clean=False)
        self.damage(fraction, flip)
        self.reopen(clean=False)
        self.forget_lost()

    @precondition(lambda self: self.expected)
    @rule(fraction=st.floats(0, 1))
    def truncate(self, fraction: float) -> None:
        self.log.truncate_to(int(self.log.end_offset * fraction), NOW_MS)
        self.checkpointed = min(self.checkpointed, self.log.recovery_point)
        self.forget_lost()

    @invariant()
    def offsets_are_dense_and_batches_as_written(self) -> None:
        stored = self.stored()
        assert stored == self.expected
        end = 0
        for header in stored:
            assert header.base_offset == end
            end = header.last_offset + 1
        assert self.log.end_offset == end

    @invariant()
    def every_batch_can_be_read(self) -> None:
        assert read_all(self.log, 1500) == self.expected

    @invariant()
    def indexes_agree_with_the_files(self) -> None:
        for segment in self.log.segments:
            data = Path(segment.path).read_bytes()
            batches = dict(iter_headers(data))
            index = segment.offset_index
            entries = [index.entry(number) for number in range(index.count)]
            assert entries == sorted(entries)
            assert all(batches[position].last_offset == offset for offset, position in entries)
            times = {header.last_offset: header.max_timestamp for header in batches.values()}
            timestamp, offset = segment.time_index.last()
            assert timestamp == -1 or times[offset] == timestamp
            if batches:
                assert segment.largest_timestamp() == max(times.values())

    @invariant()
    def state_equals_a_replay(self) -> None:
        producers, epochs = ProducerState(), LeaderEpochs()
        for segment in self.log.segments:
            data = Path(segment.path).read_bytes()
            for pos, header in iter_headers(data):
                epochs.assign(header.leader_epoch, header.base_offset)
                marker = read_marker(data[pos : pos + header.size_bytes], header)
                producers.update(header, header.base_offset, NOW_MS, marker)
        assert sorted(self.log.producers.entries()) == sorted(producers.entries())
        assert self.log.epochs.entries() == epochs.entries()
        end = self.log.end_offset
        unstable = self.log.producers.first_unstable_offset(end)
        assert unstable == producers.first_unstable_offset(end)

    def store(self, batch: bytearray) -> None:
        append(self.log, batch, leader_epoch=self.leader_epoch)
        self.expected.append(next(iter_headers(batch))[1])

    def stored(self) -> list[BatchHeader]:
        return [
            header
            for segment in self.log.segments
            for _, header in iter_headers(Path(segment.path).read_bytes())
        ]

    def reopen(self, *, clean: bool) -> None:
        point = self.checkpointed
        self.log = open_log(self.parent, self.log.config, clean=clean, recovery_point=point)
        self.checkpointed = self.log.recovery_point

    def damage(self, fraction: float, flip: bool) -> None:
        victims = unsynced_ranges(self.log, self.checkpointed)
        if not victims:
            return
        path, start, size = victims[int(fraction * (len(victims) - 1))]
        position = start + int(fraction * (size - start - 1))
        if not flip:
            os.truncate(path, position)
            return
        if in_leader_epoch(path, position):
            return
        with open(path, "r+b") as file:
            file.seek(position)
            byte = file.read(1)[0]
            file.seek(position)
            file.write(bytes([byte ^ 0x10]))

    def forget_lost(self) -> None:
        """What remains must be what was written first, and reach what was checkpointed."""
        stored = self.stored()
        remaining = [header._replace(base_offset=0, leader_epoch=0) for header in stored]
        written = [header._replace(base_offset=0, leader_epoch=0) for header in self.expected]
        assert remaining == written[: len(remaining)]
        assert self.log.end_offset >= self.checkpointed
        self.expected = stored
        self.sequences = {
            entry.producer_id: entry.last_sequence + 1 for entry in self.log.producers.entries()
        }
        self.in_txn = {
            entry.producer_id
            for entry in self.log.producers.entries()
            if entry.txn_first_offset >= 0
        }
        self.leader_epoch = max(self.leader_epoch, self.log.epochs.latest)


def unsynced_ranges(log: Log, recovery_point: int) -> list[tuple[str, int, int]]:
    """(path, from, to) of the bytes in each segment that no checkpoint has covered."""
    ranges = []
    for segment in log.segments:
        size = os.path.getsize(segment.path)
        batches = iter_headers(Path(segment.path).read_bytes())
        start = next((pos for pos, each in batches if each.last_offset >= recovery_point), size)
        if start < size:
            ranges.append((segment.path, start, size))
    return ranges


def in_leader_epoch(path: str, position: int) -> bool:
    """Whether a byte belongs to a leader epoch: no checksum covers it, in Kafka's format."""
    batches = iter_headers(Path(path).read_bytes())
    return any(pos + 12 <= position < pos + 16 for pos, _ in batches)


CrashMachine.TestCase.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)
TestCrashes = CrashMachine.TestCase
