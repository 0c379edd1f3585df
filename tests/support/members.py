"""Members of consumer groups, of three Python clients, that a test polls by turns until they share as they should."""

import asyncio
import struct
import threading
import time
from collections.abc import Iterable, Sequence
from typing import Any, Protocol

TIMEOUT_S = 30.0
POLL_S = 0.05
SESSION_MS = 6000
Record = tuple[int, int, bytes]
Claim = tuple[int, frozenset[int]]


class Member(Protocol):
    """One consumer of a group."""

    records: list[Record]
    claims: list[Claim]

    def poll(self) -> None:
        """Let the client do its work for a moment, and keep what it reads: (partition, offset, value)."""

    def owned(self) -> set[int]:
        """The partitions it owns now, from the moment it is told so until it is told otherwise.

        What it is told, with the generation that it is told in, is kept in `claims`.
        """

    def commit(self, offsets: dict[int, int]) -> str:
        """Commit an offset for each of these partitions; the name of the error, or nothing."""

    def close(self) -> None:
        """Leave the group, unless it is a static member."""


class Confluent:
    """librdkafka."""

    CLASSIC = True

    def __init__(
        self,
        bootstrap: str,
        group: str,
        topic: str,
        assignor: str = "range",
        session_ms: int = SESSION_MS,
        **settings: Any,
    ) -> None:
        from confluent_kafka import Consumer

        classic = {
            "session.timeout.ms": session_ms,
            "heartbeat.interval.ms": 500,
            "partition.assignment.strategy": assignor,
        }
        named = {name.replace("_", "."): value for name, value in settings.items()}
        self.records: list[Record] = []
        self.claims: list[Claim] = []
        self.rebalances: list[str] = []
        self.topic = topic
        self.client = Consumer(
            {
                "bootstrap.servers": bootstrap,
                "group.id": group,
                "auto.offset.reset": "earliest",
                "topic.metadata.refresh.interval.ms": 1000,
                **(classic if self.CLASSIC else {"group.protocol": "consumer"}),
                **named,
            }
        )
        self.client.subscribe([topic], on_assign=self._assigned, on_revoke=self._revoked)

    def _assigned(self, client: Any, partitions: Sequence[Any]) -> None:
        self.rebalances.append(f"+{len(partitions)}")
        # Here the client keeps what it had, if it is cooperative, and has nothing else.
        owned = self.owned().union(each.partition for each in partitions)
        self.claims.append((self._generation(), frozenset(owned)))

    def _revoked(self, client: Any, partitions: Sequence[Any]) -> None:
        self.rebalances.append(f"-{len(partitions)}")

    def _generation(self) -> int:
        # librdkafka writes it behind the seven bytes "CGMDv2:".
        (generation,) = struct.unpack_from("<i", self.client.consumer_group_metadata(), 7)
        return int(generation)

    def poll(self) -> None:
        message = self.client.poll(POLL_S)
        while message is not None:
            if message.error() is None:
                self.records.append((message.partition(), message.offset(), message.value()))
            message = self.client.poll(0)

    def owned(self) -> set[int]:
        return {each.partition for each in self.client.assignment()}

    def commit(self, offsets: dict[int, int]) -> str:
        from confluent_kafka import KafkaException, TopicPartition

        wanted = [TopicPartition(self.topic, *each) for each in offsets.items()]
        try:
            done = self.client.commit(offsets=wanted, asynchronous=False)
        except KafkaException as refused:
            return str(refused.args[0].name())
        return next((each.error.name() for each in done if each.error), "")

    def close(self) -> None:
        self.client.close()


class KafkaPython:
    """kafka-python."""

    def __init__(
        self,
        bootstrap: str,
        group: str,
        topic: str,
        assignor: str = "range",
        session_ms: int = SESSION_MS,
        **settings: Any,
    ) -> None:
        from kafka import KafkaConsumer
        from kafka.coordinator.assignors.range import RangePartitionAssignor
        from kafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
        from kafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor

        assignors = {
            "range": RangePartitionAssignor,
            "roundrobin": RoundRobinPartitionAssignor,
            # It keeps what it had in its class: members with it need processes of their own.
            "sticky": StickyPartitionAssignor,
        }
        self.records: list[Record] = []
        self.claims: list[Claim] = []
        self.topic = topic
        self._owned: set[int] = set()
        self.client = KafkaConsumer(
            bootstrap_servers=bootstrap,
            group_id=group,
            auto_offset_reset="earliest",
            session_timeout_ms=session_ms,
            heartbeat_interval_ms=500,
            partition_assignment_strategy=[assignors[assignor]],
            **settings,
        )
        self.client.subscribe([topic], listener=_listening(self, self._generation))
        # Elected leader before it knows the topic, this client assigns nothing ("No partition metadata for topic")
        # and does not look again for five minutes. The coordinator of the tests lets a group form at once, which is
        # soon enough for that; so the client asks first.
        self.client.partitions_for_topic(topic)

    def _generation(self) -> int:
        return int(self.client.group_metadata().generation_id)

    def poll(self, timeout_s: float = POLL_S) -> None:
        for batch in self.client.poll(timeout_ms=int(timeout_s * 1000)).values():
            self.records += [(each.partition, each.offset, each.value) for each in batch]

    def owned(self) -> set[int]:
        return set(self._owned)

    def commit(self, offsets: dict[int, int]) -> str:
        from kafka import TopicPartition
        from kafka.errors import KafkaError
        from kafka.structs import OffsetAndMetadata

        wanted = {
            TopicPartition(self.topic, partition): OffsetAndMetadata(offset, "", -1)
            for partition, offset in offsets.items()
        }
        try:
            self.client.commit(wanted)
        except KafkaError as refused:
            return _deepest(refused)
        return ""

    def close(self) -> None:
        self.client.close()


class KafkaPythonInThread(KafkaPython):
    """The same in a thread of its own, for a test that polls several members by turns.

    Polled by turns it might never come to rest: a join that completes between two of its polls is forgotten, and the
    next poll joins again (`join_group_async` asks whether its task is done before it takes the result). When it
    leads, that is a new rebalance, which the others hear of and answer in *their* turn, again between two polls of
    the first; and so on. In a thread it waits in `poll` nearly always, as it does in a program.
    """

    def __init__(self, bootstrap: str, group: str, topic: str, **settings: Any) -> None:
        super().__init__(bootstrap, group, topic, **settings)
        self._failure: BaseException | None = None
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        try:
            while not self._stopping.is_set():
                super().poll(0.2)
        except BaseException as failure:
            self._failure = failure

    def poll(self, timeout_s: float = POLL_S) -> None:
        if self._failure is not None:
            raise self._failure
        time.sleep(timeout_s)

    def close(self) -> None:
        self._stopping.set()
        self._thread.join(TIMEOUT_S)
        super().close()


class AioKafka:
    """aiokafka, on a loop in a thread of its own: its calls may wait for a rebalance that waits for other members."""

    def __init__(
        self,
        bootstrap: str,
        group: str,
        topic: str,
        assignor: str = "range",
        session_ms: int = SESSION_MS,
        **settings: Any,
    ) -> None:
        self.records: list[Record] = []
        self.claims: list[Claim] = []
        self.topic = topic
        self.client: Any = None
        self._owned: set[int] = set()
        self._assignor = assignor
        self._settings = {
            "bootstrap_servers": bootstrap,
            "group_id": group,
            "auto_offset_reset": "earliest",
            "session_timeout_ms": session_ms,
            "heartbeat_interval_ms": 500,
            **settings,
        }
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_until_complete, args=(self._run(),))
        self._stopping = asyncio.Event()
        self._thread.start()

    async def _run(self) -> None:
        from aiokafka import AIOKafkaConsumer
        from aiokafka.coordinator.assignors.range import RangePartitionAssignor
        from aiokafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
        from aiokafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor

        assignors = {
            "range": RangePartitionAssignor,
            "roundrobin": RoundRobinPartitionAssignor,
            # It keeps what it had in its class: members with it need processes of their own.
            "sticky": StickyPartitionAssignor,
        }
        self.client = AIOKafkaConsumer(
            partition_assignment_strategy=[assignors[self._assignor]], **self._settings
        )
        self.client.subscribe([self.topic], listener=_listening(self, self._generation))
        reading = asyncio.create_task(self._read())
        await self._stopping.wait()
        reading.cancel()
        await asyncio.wait([reading])
        await self.client.stop()

    def _generation(self) -> int:
        return int(self.client._coordinator.generation)  # it tells nobody in public

    async def _read(self) -> None:
        await self.client.start()
        async for each in self.client:
            self.records.append((each.partition, each.offset, each.value))

    def poll(self) -> None:
        time.sleep(POLL_S)

    def owned(self) -> set[int]:
        return set(self._owned)

    def commit(self, offsets: dict[int, int]) -> str:
        from aiokafka import TopicPartition
        from aiokafka.errors import KafkaError

        wanted = {TopicPartition(self.topic, number): offset for number, offset in offsets.items()}
        committing = asyncio.run_coroutine_threadsafe(self.client.commit(wanted), self._loop)
        try:
            committing.result(TIMEOUT_S)
        except KafkaError as refused:
            return _deepest(refused)
        return ""

    def close(self) -> None:
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._stopping.set)
            self._thread.join(TIMEOUT_S)
            self._loop.close()


def _listening(member: Any, generation: Any) -> Any:
    """A listener, of either client's kind, that keeps what the member owns.

    Their `assignment()` names the old partitions until the new are there; but they are no longer the member's
    from the moment it is asked to give them up.
    """
    from aiokafka.abc import ConsumerRebalanceListener as ForAioKafka
    from kafka import ConsumerRebalanceListener as ForKafkaPython

    def assigned(partitions: Iterable[Any]) -> None:
        member._owned = {each.partition for each in partitions}
        member.claims.append((generation(), frozenset(member._owned)))

    def revoked(partitions: Iterable[Any]) -> None:
        member._owned -= {each.partition for each in partitions}

    class Listener(ForAioKafka, ForKafkaPython):
        def on_partitions_assigned(self, assigned_now: Iterable[Any]) -> None:
            assigned(assigned_now)

        def on_partitions_revoked(self, revoked_now: Iterable[Any]) -> None:
            revoked(revoked_now)

    return Listener()


def _deepest(error: BaseException) -> str:
    """The name of what the broker answered, which clients wrap in errors of their own."""
    while error.args and isinstance(error.args[0], BaseException):
        error = error.args[0]
    return type(error).__name__


CLIENTS = {"confluent": Confluent, "kafka-python": KafkaPythonInThread, "aiokafka": AioKafka}


def settle(members: Iterable[Member], shares: Sequence[int], partitions: int) -> list[set[int]]:
    """Poll until the members own this many partitions each, in any order, and together each exactly once."""
    members = list(members)
    deadline = time.monotonic() + TIMEOUT_S
    wanted, everything = sorted(shares), list(range(partitions))
    while time.monotonic() < deadline:
        for member in members:
            member.poll()
        owned = [member.owned() for member in members]
        each_once = sorted(partition for share in owned for partition in share) == everything
        if each_once and sorted(map(len, owned)) == wanted:
            return owned
    raise AssertionError(f"waited {TIMEOUT_S:g} s for shares of {wanted}; they are {owned}")


def read_all(members: Iterable[Member], count: int) -> list[Record]:
    """Poll until the members have read this many different records; all that they read."""
    members = list(members)
    deadline = time.monotonic() + TIMEOUT_S
    while time.monotonic() < deadline:
        for member in members:
            member.poll()
        read = [record for member in members for record in member.records]
        if len({record[:2] for record in read}) >= count:
            return read
    raise AssertionError(f"waited {TIMEOUT_S:g} s for {count} records; {len(read)} came")


def overlapping_claims(members: Iterable[Member]) -> list[tuple[int, int]]:
    """Each (generation, partition) that more than one of the members was given; there should be none."""
    owners: dict[tuple[int, int], set[int]] = {}
    for number, member in enumerate(members):
        for generation, partitions in member.claims:
            for partition in partitions:
                owners.setdefault((generation, partition), set()).add(number)
    return sorted(claim for claim, claimed_by in owners.items() if len(claimed_by) > 1)
