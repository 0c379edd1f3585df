"""Reads what is committed all the time while jobs and brokers are killed, and remembers all that it was ever shown."""

from __future__ import annotations

import random
import threading
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from ottla.base.errors import OttlaError
from ottla.base.ids import TopicPartition
from ottla.client.isolation import Isolation
from ottla.client.settings import client_settings
from ottla.config.listeners import Address
from ottla.pipeline.reading_brokers import WorkerBrokers
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.apis.fetch import FetchPartition, FetchRequest, FetchTopic, PartitionData
from ottla.protocol.errors import ErrorCode
from ottla.protocol.records.batch import iter_headers
from ottla.protocol.records.control import read_end_transaction_marker
from ottla.protocol.records.record import read_records

READ_COMMITTED = 1
WAIT_MS = 100
PAUSE_S = 0.1
TIMEOUT_S = 5.0
REREADS = 0.3
"""How often an old offset is asked for again: what was shown once must be shown again, and nothing beside it."""


class Row(NamedTuple):
    """A record, and who wrote it."""

    value: str
    producer_id: int


@dataclass
class Shown:
    """What one fetch showed of a partition: from where to where, its rows, and whose commits, by their offsets."""

    start: int
    end: int
    rows: dict[int, Row] = field(default_factory=dict)
    commits: dict[int, int] = field(default_factory=dict)


class CommittedReader:
    """A reader in a thread of its own."""

    def __init__(self, bootstrap: str, partitions: Sequence[TopicPartition], seed: int) -> None:
        self.shown: dict[TopicPartition, list[Shown]] = defaultdict(list)
        self.fetches = 0
        self.error: BaseException | None = None
        self._partitions = partitions
        self._positions = dict.fromkeys(partitions, 0)
        self._random = random.Random(seed)
        self._brokers = WorkerBrokers(client_settings({"bootstrap.servers": bootstrap}))
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def is_behind(self, ends: Mapping[TopicPartition, int]) -> bool:
        """Whether it has not seen all yet."""
        return self.error is None and any(self._positions[each] < end for each, end in ends.items())

    def stop(self) -> None:
        """End it; raises what it stumbled over."""
        self._over.set()
        self._thread.join(2 * TIMEOUT_S + 1)
        self._brokers.close()
        if self.error is not None:
            raise AssertionError(f"the reader failed: {self.error!r}") from self.error

    def _run(self) -> None:
        try:
            while not self._over.wait(PAUSE_S):
                self._look()
        except BaseException as error:
            self.error = error

    def _look(self) -> None:
        by_leader: dict[Address, list[TopicPartition]] = defaultdict(list)
        for partition in self._partitions:
            try:
                by_leader[self._brokers.leader(partition)].append(partition)
            except OttlaError:
                self._brokers.forget(partition)  # it has none at the moment
        for leader, partitions in by_leader.items():
            self._fetch(leader, partitions)

    def _fetch(self, leader: Address, partitions: Iterable[TopicPartition]) -> None:
        starts = {each: self._start(each) for each in partitions}
        try:
            link = self._brokers.take(leader)
            answer = link.ask(_request(starts), link.version_of(ApiKey.FETCH, 12), TIMEOUT_S)
        except OttlaError:
            for partition in starts:
                self._brokers.forget(partition)
            return
        for topic in answer.responses:
            for data in topic.partitions:
                which = TopicPartition(topic.topic, data.partition_index)
                self._take(which, starts[which], data)
        self._brokers.give_back(link)

    def _start(self, partition: TopicPartition) -> int:
        position = self._positions[partition]
        if position and self._random.random() < REREADS:
            return self._random.randrange(position)
        return position

    def _take(self, which: TopicPartition, start: int, data: PartitionData) -> None:
        if data.error_code:
            # A position that was reached is never out of range: committed records do not vanish.
            assert data.error_code != ErrorCode.OFFSET_OUT_OF_RANGE, f"{which} lost offset {start}"
            self._brokers.forget(which)
            return
        shown = read_shown(start, data)
        assert shown.end <= data.last_stable_offset, f"{which} showed what is not decided"
        self.fetches += 1
        if shown.end > start:
            self.shown[which].append(shown)
        self._positions[which] = max(self._positions[which], shown.end)


def read_shown(start: int, data: PartitionData) -> Shown:
    """What a reader of committed records sees in a fetch."""
    shown = Shown(start, start)
    aborted = [(each.producer_id, each.first_offset) for each in data.aborted_transactions or ()]
    isolation, records = Isolation(aborted), data.records or b""
    for pos, header in iter_headers(records):
        shown.end = header.last_offset + 1
        if header.is_control:
            marker = read_end_transaction_marker(records, pos)
            if marker is not None and marker.committed:
                shown.commits[header.base_offset] = header.producer_id
        if not isolation.hides(records, pos, header):
            for record in read_records(records, pos):
                if record.offset >= start:
                    value = (record.value or b"").decode()
                    shown.rows[record.offset] = Row(value, header.producer_id)
    return shown


def unsteady(shown: Iterable[Shown], final: Mapping[int, str]) -> Iterator[str]:
    """Where a fetch showed something else than what is there in the end."""
    for each in shown:
        there = {offset for offset in final if each.start <= offset < each.end}
        for offset in sorted(there ^ each.rows.keys()):
            what = (
                f"{each.rows[offset]}, which does not count," if offset in each.rows else "no row"
            )
            yield f"a fetch of {each.start} to {each.end} showed {what} at {offset}"
        for offset in sorted(there & each.rows.keys()):
            if final[offset] != each.rows[offset].value:
                yield f"offset {offset} was {each.rows[offset].value!r} and is {final[offset]!r}"


def torn(shown: Iterable[Shown], batch_of: Mapping[str, int]) -> Iterator[str]:
    """Where a marker is passed while a part of its batch is yet to come."""
    rows: dict[int, Row] = {}
    commits: dict[int, int] = {}
    for each in shown:
        rows |= each.rows
        commits |= each.commits
    last_of: dict[int, int] = {}
    for offset, row in rows.items():
        batch = batch_of[row.value]
        last_of[batch] = max(last_of.get(batch, -1), offset)
    open_batches: dict[int, int] = {}
    for offset in sorted(rows.keys() | commits.keys()):
        if offset in rows:
            open_batches[rows[offset].producer_id] = batch_of[rows[offset].value]
            continue
        ended = open_batches.pop(commits[offset], None)
        if ended is not None and last_of[ended] > offset:
            yield f"the marker at {offset} is passed, and batch {ended} goes on to {last_of[ended]}"


def _request(starts: dict[TopicPartition, int]) -> FetchRequest:
    wanted: dict[str, list[FetchPartition]] = defaultdict(list)
    for (topic, number), start in starts.items():
        wanted[topic].append(
            FetchPartition(partition=number, fetch_offset=start, partition_max_bytes=1 << 20)
        )
    return FetchRequest(
        max_wait_ms=WAIT_MS,
        min_bytes=1,
        max_bytes=1 << 24,
        isolation_level=READ_COMMITTED,
        topics=[FetchTopic(topic=name, partitions=each) for name, each in wanted.items()],
    )
