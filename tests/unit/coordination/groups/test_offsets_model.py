"""The machine against a plain reading of its log: of each position, the last record that counts is the one that counts.

That reading is also what compaction relies on, so the same log compacted must make the same offsets.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from hypothesis import given
from hypothesis import strategies as st

from ottla.coordination.decision import Transactional
from ottla.coordination.groups.offset_records import Committed, encode_key, encode_value
from ottla.coordination.groups.offset_rules import OffsetLimits
from ottla.coordination.groups.offsets import Offsets

GROUPS, TOPICS, PARTITIONS, PRODUCERS = ("g", "h"), ("t", "u"), (0, 1), (1, 2)


@dataclass(frozen=True)
class Entry:
    """A record (a position, or a tombstone) or, without a key, the marker of a producer."""

    key: tuple[str, str, int] | None = None
    offset: int | None = None
    producer: int | None = None
    committed: bool = False


keys = st.tuples(st.sampled_from(GROUPS), st.sampled_from(TOPICS), st.sampled_from(PARTITIONS))
offsets = st.integers(0, 50)
producers = st.sampled_from(PRODUCERS)
entries = st.one_of(
    st.builds(Entry, key=keys, offset=offsets),
    st.builds(Entry, key=keys, offset=offsets, producer=producers),
    st.builds(Entry, key=keys),
    st.builds(Entry, producer=producers, committed=st.booleans()),
)
logs = st.lists(entries, max_size=40)


def replayed(log: Iterable[Entry]) -> Offsets:
    machine = Offsets(OffsetLimits())
    for entry in log:
        if entry.key is None:
            assert entry.producer is not None
            machine.replay_marker(entry.producer, entry.committed)
            continue
        value = None if entry.offset is None else encode_value(Committed(entry.offset))
        held = None if entry.producer is None else Transactional(entry.producer, 0)
        machine.replay(encode_key(*entry.key), value, held)
    return machine


def fate(log: list[Entry], index: int) -> bool | None:
    """Whether a record counts: True or False, None while its transaction is open."""
    producer = log[index].producer
    if producer is None:
        return True
    for later in log[index + 1 :]:
        if later.key is None and later.producer == producer:
            return later.committed
    return None


def model(log: list[Entry]) -> tuple[dict[tuple[str, str, int], int], set[tuple[str, str, int]]]:
    """Positions and unstable positions, read off the log."""
    positions: dict[tuple[str, str, int], int] = {}
    unstable: set[tuple[str, str, int]] = set()
    for index, entry in enumerate(log):
        if entry.key is None:
            continue
        if entry.offset is None:
            positions.pop(entry.key, None)
            unstable.discard(entry.key)
        elif fate(log, index):
            positions[entry.key] = entry.offset
        elif fate(log, index) is None:
            unstable.add(entry.key)
    return positions, unstable


def observed(machine: Offsets) -> tuple[dict[tuple[str, str, int], int], set[tuple[str, str, int]]]:
    positions = {
        (group, topic, partition): found.committed_offset
        for group in machine.groups()
        for topic, partitions in machine.topics(group).items()
        for partition, found in partitions.items()
    }
    unstable = {(g, t, p) for g in GROUPS for t in TOPICS for p in machine.unstable(g, t)}
    return positions, unstable


def compacted(log: list[Entry]) -> list[Entry]:
    """As the cleaner leaves it: below the first open transaction, markers and the last of each key that counts."""
    open_at = [i for i, entry in enumerate(log) if entry.key and fate(log, i) is None]
    end = min(open_at, default=len(log))
    last = {entry.key: i for i, entry in enumerate(log[:end]) if entry.key and fate(log, i)}
    kept = set(last.values()) | {i for i, entry in enumerate(log) if entry.key is None or i >= end}
    return [entry for i, entry in enumerate(log) if i in kept]


@given(logs)
def test_the_machine_agrees_with_a_plain_reading_of_the_log(log: list[Entry]) -> None:
    assert observed(replayed(log)) == model(log)


@given(logs)
def test_a_compacted_log_makes_the_same_offsets(log: list[Entry]) -> None:
    assert observed(replayed(compacted(log))) == observed(replayed(log))


@given(logs)
def test_nothing_is_left_when_everything_is_deleted_and_all_transactions_end(
    log: list[Entry],
) -> None:
    ends = [Entry(producer=producer, committed=True) for producer in PRODUCERS]
    tombstones = [replace(entry, offset=None, producer=None) for entry in log if entry.key]
    machine = replayed([*log, *ends, *tombstones])
    assert not machine.groups()
    assert machine._held == {}
    assert machine._holders == {}


@given(logs, keys, offsets)
def test_what_is_decided_and_replayed_is_what_is_read(
    log: list[Entry], key: tuple[str, str, int], offset: int
) -> None:
    machine = replayed([*log, Entry(key=key, offset=offset)])
    found = machine.find(*key)
    assert found is not None
    assert found.committed_offset == offset
    assert machine.history.of(key[0])[-1].moves[key[1:]].after == offset  # type: ignore[index]
