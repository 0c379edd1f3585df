"""Members of consumer groups, of four clients, that a test polls by turns; or one as a process that can be killed."""

import asyncio
import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Sequence
from typing import Any, Protocol

TIMEOUT_S = 30.0
POLL_S = 0.05
SESSION_MS = 6000


class Member(Protocol):
    """One consumer of a group."""

    records: list[tuple[int, int, bytes]]

    def poll(self) -> None:
        """Let the client do its work for a moment, and keep what it reads: (partition, offset, value)."""

    def owned(self) -> set[int]:
        """The partitions it owns now."""

    def close(self) -> None:
        """Leave the group, unless it is a static member."""


class Confluent:
    """librdkafka."""

    def __init__(self, bootstrap: str, group: str, topic: str, **settings: Any) -> None:
        from confluent_kafka import Consumer

        named = {name.replace("_", "."): value for name, value in settings.items()}
        self.records: list[tuple[int, int, bytes]] = []
        self.rebalances: list[str] = []
        self.client = Consumer(
            {
                "bootstrap.servers": bootstrap,
                "group.id": group,
                "auto.offset.reset": "earliest",
                "session.timeout.ms": SESSION_MS,
                "heartbeat.interval.ms": 500,
                "partition.assignment.strategy": "range",
                "topic.metadata.refresh.interval.ms": 1000,
                **named,
            }
        )
        self.client.subscribe(
            [topic],
            on_assign=lambda _, parts: self.rebalances.append(f"+{len(parts)}"),
            on_revoke=lambda _, parts: self.rebalances.append(f"-{len(parts)}"),
        )

    def poll(self) -> None:
        message = self.client.poll(POLL_S)
        while message is not None:
            if message.error() is None:
                self.records.append((message.partition(), message.offset(), message.value()))
            message = self.client.poll(0)

    def owned(self) -> set[int]:
        return {each.partition for each in self.client.assignment()}

    def close(self) -> None:
        self.client.close()


class KafkaPython:
    """kafka-python."""

    def __init__(self, bootstrap: str, group: str, topic: str, **settings: Any) -> None:
        from kafka import KafkaConsumer
        from kafka.coordinator.assignors.range import RangePartitionAssignor

        self.records: list[tuple[int, int, bytes]] = []
        self.client = KafkaConsumer(
            topic,
            bootstrap_servers=bootstrap,
            group_id=group,
            auto_offset_reset="earliest",
            session_timeout_ms=SESSION_MS,
            heartbeat_interval_ms=500,
            partition_assignment_strategy=[RangePartitionAssignor],
            **settings,
        )
        # Elected leader before it knows the topic, this client assigns nothing ("No partition metadata for topic")
        # and does not look again for five minutes. The coordinator of the tests lets a group form at once, which is
        # soon enough for that; so the client asks first.
        self.client.partitions_for_topic(topic)

    def poll(self) -> None:
        for batch in self.client.poll(timeout_ms=int(POLL_S * 1000)).values():
            self.records += [(each.partition, each.offset, each.value) for each in batch]

    def owned(self) -> set[int]:
        return {each.partition for each in self.client.assignment()}

    def close(self) -> None:
        self.client.close()


class AioKafka:
    """aiokafka, on a loop in a thread of its own: its calls may wait for a rebalance that waits for other members."""

    def __init__(self, bootstrap: str, group: str, topic: str, **settings: Any) -> None:
        self.records: list[tuple[int, int, bytes]] = []
        self.client: Any = None
        self._arguments = bootstrap, group, topic, settings
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_until_complete, args=(self._run(),))
        self._stopping = asyncio.Event()
        self._thread.start()

    async def _run(self) -> None:
        from aiokafka import AIOKafkaConsumer
        from aiokafka.coordinator.assignors.range import RangePartitionAssignor

        bootstrap, group, topic, settings = self._arguments
        self.client = AIOKafkaConsumer(
            topic,
            bootstrap_servers=bootstrap,
            group_id=group,
            auto_offset_reset="earliest",
            session_timeout_ms=SESSION_MS,
            heartbeat_interval_ms=500,
            partition_assignment_strategy=[RangePartitionAssignor],
            **settings,
        )
        reading = asyncio.create_task(self._read())
        await self._stopping.wait()
        reading.cancel()
        await asyncio.wait([reading])
        await self.client.stop()

    async def _read(self) -> None:
        await self.client.start()
        async for each in self.client:
            self.records.append((each.partition, each.offset, each.value))

    def poll(self) -> None:
        time.sleep(POLL_S)

    def owned(self) -> set[int]:
        return {each.partition for each in self.client.assignment()} if self.client else set()

    def close(self) -> None:
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._stopping.set)
            self._thread.join(TIMEOUT_S)
            self._loop.close()


class _Process:
    """A member in a process of its own, which tells by lines of JSON what it owns and reads."""

    def __init__(self, command: Sequence[str]) -> None:
        self.records: list[tuple[int, int, bytes]] = []
        self._owned: set[int] = set()
        self.process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if line.startswith(b"{"):
                self.told(json.loads(line))

    def told(self, event: dict[str, Any]) -> None:
        """One line of the process."""
        match event:
            case {"owned": owned}:
                self._owned = set(owned)
            case {"read": [partition, offset, value]}:
                self.records.append((partition, offset, value.encode()))

    def poll(self) -> None:
        time.sleep(POLL_S)

    def owned(self) -> set[int]:
        return set() if self.process.poll() is not None else self._owned

    def close(self) -> None:
        self.process.terminate()
        self.process.wait(TIMEOUT_S)
        self._reader.join()
        self.process.stdout.close()  # type: ignore[union-attr]

    def kill(self) -> None:
        """SIGKILL: the broker hears nothing but silence."""
        self.process.kill()
        self.close()


class Child(_Process):
    """One of the Python clients."""

    def __init__(self, kind: str, bootstrap: str, group: str, topic: str, **settings: Any) -> None:
        arguments = [kind, bootstrap, group, topic, json.dumps(settings)]
        super().__init__([sys.executable, "-m", "tests.support.members", *arguments])


class Java(_Process):
    """Kafka's own VerifiableConsumer."""

    def __init__(self, bootstrap: str, group: str, topic: str, **settings: str) -> None:
        from tools.apache_kafka import TOOL_JVM_OPTIONS, java_command

        options = [
            part
            for name, value in settings.items()
            for part in (f"--{name.replace('_', '-')}", value)
        ]
        arguments = [
            "--bootstrap-server",
            bootstrap,
            "--group-id",
            group,
            "--topic",
            topic,
            "--reset-policy",
        ]
        assignor = ["--assignment-strategy", "org.apache.kafka.clients.consumer.RangeAssignor"]
        arguments += [
            "earliest",
            "--session-timeout",
            str(SESSION_MS),
            "--verbose",
            *assignor,
            *options,
        ]
        name = "org.apache.kafka.tools.VerifiableConsumer"
        super().__init__(java_command(TOOL_JVM_OPTIONS, name, arguments))

    def told(self, event: dict[str, Any]) -> None:
        partitions = {
            each["partition"] for each in event.get("partitions", ()) if "partition" in each
        }
        match event["name"]:
            case "partitions_assigned":
                self._owned |= partitions
            case "partitions_revoked" | "partitions_lost":
                self._owned -= partitions
            case "record_data":
                self.records.append(
                    (event["partition"], event["offset"], str(event["value"]).encode())
                )


CLIENTS = {"confluent": Confluent, "kafka-python": KafkaPython, "aiokafka": AioKafka}


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


def read_all(members: Iterable[Member], count: int) -> list[tuple[int, int, bytes]]:
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


def _main(kind: str, bootstrap: str, group: str, topic: str, settings: str) -> None:
    import signal

    member: Member = CLIENTS[kind](bootstrap, group, topic, **json.loads(settings))
    stopping: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, _: stopping.append(number))
    told: set[int] | None = None
    while not stopping:
        member.poll()
        if member.owned() != told:
            told = member.owned()
            print(json.dumps({"owned": sorted(told)}), flush=True)
        for partition, offset, value in member.records:
            print(json.dumps({"read": [partition, offset, value.decode()]}), flush=True)
        member.records.clear()
    member.close()


if __name__ == "__main__":
    _main(*sys.argv[1:])
