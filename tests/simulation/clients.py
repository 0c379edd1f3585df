"""Simulated clients: producers that never give up, readers and a committer that remember what they saw."""

import asyncio
from typing import Any

from ottla.base.errors import OttlaError
from ottla.client.connection import Connection
from ottla.client.errors import ClientError
from ottla.protocol.apis.fetch import FetchPartition, FetchRequest, FetchTopic
from ottla.protocol.apis.find_coordinator import FindCoordinatorRequest
from ottla.protocol.apis.metadata import MetadataRequest, MetadataRequestTopic
from ottla.protocol.apis.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from ottla.protocol.apis.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)
from ottla.protocol.apis.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from ottla.protocol.errors import ErrorCode
from ottla.protocol.records.batch import iter_headers
from ottla.protocol.records.builder import build_batch
from ottla.protocol.records.record import Record, read_records
from ottla.protocol.schema import Request
from tests.simulation.world import World

TOPIC = "t"


class Failed(OttlaError):
    """A request that got no answer worth having."""


class Client:
    """Finds brokers and asks them; a connection that fails is forgotten."""

    def __init__(self, world: World) -> None:
        self.world = world
        self._timeout_ms = int(world.pace.patience_s * 1000)
        self._connections: dict[int, Connection] = {}

    async def ask(self, number: int, request: Request, version: int) -> Any:
        """The answer of a broker, while we have patience; Failed otherwise."""
        connection = self._connections.get(number)
        try:
            if connection is None or connection.closed:
                connection = self._connections[number] = await Connection.open(
                    f"sim-{number}", 9092, timeout_ms=self._timeout_ms
                )
            return await connection.ask(request, version=version, timeout_ms=self._timeout_ms)
        except ClientError as failure:
            self._connections.pop(number, None)
            raise Failed(str(failure)) from failure

    async def leader(self, partition: int) -> int:
        number = self.world.rng.choice(self.world.hosts).number
        wanted = [MetadataRequestTopic(name=TOPIC)]
        answer = await self.ask(number, MetadataRequest(topics=wanted), 12)
        found = [each for each in answer.topics[0].partitions if each.partition_index == partition]
        if not found or found[0].leader_id < 0:
            raise Failed("no leader")
        return int(found[0].leader_id)

    async def coordinator(self, group: str) -> int:
        number = self.world.rng.choice(self.world.hosts).number
        answer = await self.ask(number, FindCoordinatorRequest(coordinator_keys=[group]), 4)
        found = answer.coordinators[0]
        if found.error_code:
            raise Failed(ErrorCode(found.error_code).name)
        return int(found.node_id)

    async def pause(self, longest_s: float) -> None:
        await asyncio.sleep(self.world.rng.uniform(longest_s / 4, longest_s))


class SimProducer(Client):
    """Idempotent, acks=all, one record at a time: sends each again until it is acknowledged."""

    def __init__(self, world: World, number: int, partition: int) -> None:
        super().__init__(world)
        self.producer_id = 1000 + number
        self.partition = partition
        self.acked: list[tuple[bytes, int]] = []
        self.anomalies: list[str] = []

    async def run(self) -> None:
        leader: int | None = None
        while True:
            sequence = len(self.acked)
            value = b"%d-%d" % (self.producer_id, sequence)
            try:
                leader = leader or await self.leader(self.partition)
                self.world.sends()
                offset = await self._send(leader, value, sequence)
            except Failed:
                leader = None
                await self.pause(0.2)
                continue
            self.acked.append((value, offset))
            await self.pause(self.world.pace.pause_s)

    async def _send(self, leader: int, value: bytes, sequence: int) -> int:
        batch = build_batch(
            [Record(timestamp=self.world.now_ms(), value=value)],
            producer_id=self.producer_id,
            producer_epoch=0,
            base_sequence=sequence,
        )
        data = PartitionProduceData(index=self.partition, records=bytes(batch))
        topic = TopicProduceData(name=TOPIC, partition_data=[data])
        request = ProduceRequest(acks=-1, timeout_ms=1000, topic_data=[topic])
        answer = await self.ask(leader, request, 9)
        [result] = answer.responses[0].partition_responses
        if result.error_code in (
            ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
            ErrorCode.UNKNOWN_PRODUCER_ID,
        ):
            # All before it was acknowledged: a leader that does not know of that has lost it.
            self.anomalies.append(f"{value!r}: {ErrorCode(result.error_code).name} from {leader}")
        if result.error_code:
            raise Failed(ErrorCode(result.error_code).name)
        return int(result.base_offset)


class SimReader(Client):
    """Reads a partition again and again, from wherever; an offset must always hold the same."""

    def __init__(self, world: World, partition: int) -> None:
        super().__init__(world)
        self.partition = partition
        self.seen: dict[int, bytes] = {}
        self.anomalies: list[str] = []

    async def run(self) -> None:
        while True:
            start = self.world.rng.choice((0, max(self.seen, default=-1) + 1))
            try:
                await self.read(start)
            except Failed:
                await self.pause(0.2)
            await self.pause(1.0)

    async def read(self, offset: int) -> int:
        """Read once; the offset behind what was found."""
        leader = await self.leader(self.partition)
        wanted = FetchPartition(
            partition=self.partition, fetch_offset=offset, partition_max_bytes=1 << 20
        )
        topic = FetchTopic(topic=TOPIC, partitions=[wanted])
        answer = await self.ask(
            leader, FetchRequest(max_wait_ms=50, min_bytes=1, topics=[topic]), 10
        )
        [found] = answer.responses[0].partitions
        if found.error_code:
            raise Failed(ErrorCode(found.error_code).name)
        records = bytes(found.records or b"")
        for position, _ in iter_headers(records):
            for record in read_records(records, position):
                self._see(record.offset, record.value or b"")
                offset = max(offset, record.offset + 1)
        return offset

    def _see(self, offset: int, value: bytes) -> None:
        before = self.seen.setdefault(offset, value)
        if before != value:
            self.anomalies.append(f"offset {offset} held {before!r}, and now {value!r}")


class SimCommitter(Client):
    """Commits ever greater offsets, and reads them back: what was told once is not taken back."""

    GROUP = "g"

    def __init__(self, world: World) -> None:
        super().__init__(world)
        self.attempted = self.acked = self.told = 0
        self.anomalies: list[str] = []

    async def run(self) -> None:
        while True:
            try:
                number = await self.coordinator(self.GROUP)
                if self.world.rng.random() < 0.5:
                    await self._commit(number)
                else:
                    await self.fetch(number)
            except Failed:
                await self.pause(0.2)
            await self.pause(0.6)

    async def _commit(self, number: int) -> None:
        self.attempted += 1
        offset = self.attempted
        partition = OffsetCommitRequestPartition(partition_index=0, committed_offset=offset)
        topic = OffsetCommitRequestTopic(name=TOPIC, partitions=[partition])
        request = OffsetCommitRequest(
            group_id=self.GROUP, generation_id_or_member_epoch=-1, topics=[topic]
        )
        answer = await self.ask(number, request, 8)
        if answer.topics[0].partitions[0].error_code:
            raise Failed("refused")
        self.acked = offset

    async def fetch(self, number: int) -> None:
        """What the coordinator says is committed."""
        least = max(self.acked, self.told)
        topic = OffsetFetchRequestTopics(name=TOPIC, partition_indexes=[0])
        group = OffsetFetchRequestGroup(group_id=self.GROUP, topics=[topic])
        answer = await self.ask(number, OffsetFetchRequest(groups=[group]), 8)
        found = answer.groups[0]
        if found.error_code or found.topics[0].partitions[0].error_code:
            raise Failed("refused")
        offset = found.topics[0].partitions[0].committed_offset
        if offset < least and not (offset == -1 and least == 0):
            self.anomalies.append(f"committed is {offset}, but {least} was acknowledged or told")
        if offset > self.attempted:
            self.anomalies.append(f"committed is {offset}, but nobody went beyond {self.attempted}")
        self.told = max(self.told, offset)
