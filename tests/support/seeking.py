"""A consumer of a topic's first partition in the words of each client, so that a test says once what holds for all."""

import asyncio
import json
import queue
import subprocess
import threading
import time
from collections.abc import Awaitable, Callable
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol, TypeVar

from tests.support.java import compiled
from tests.support.waiting import wait_for

TIMEOUT_S = 30.0
POLL_S = 0.05
SEEKING_CONSUMER = Path(__file__).with_name("SeekingConsumer.java")
T = TypeVar("T")


class NoPosition(Exception):
    """The consumer has no offset to begin at, and shall not choose one."""


class Seeking(Protocol):
    """A consumer; made with an address, a topic, a group or none, and auto.offset.reset in Kafka's words."""

    def assign(self) -> None:
        """Take the partition, in no group."""

    def subscribe(self) -> None:
        """Be given the partition, as a member of the group."""

    def starts_at(self) -> int:
        """Where it begins to read."""

    def seek(self, offset: int) -> None:
        """Go on from there."""

    def read(self, count: int) -> list[int]:
        """The offsets of the next records."""

    def offset_for_time(self, time_ms: int) -> int | None:
        """The first record of this time or later."""

    def commit(self, offset: int | None = None) -> None:
        """Commit what was read, or this offset, and wait."""

    def commit_async(self, offset: int) -> str:
        """Commit this offset, and hear of it later; the name of the error, or nothing."""

    def committed(self) -> int | None:
        """What the group has committed."""

    def close(self) -> None:
        """Leave."""


class Confluent:
    """librdkafka."""

    def __init__(self, bootstrap: str, topic: str, group: str | None, reset: str) -> None:
        from confluent_kafka import Consumer, TopicPartition

        self._told: list[Any] = []
        self._partition = TopicPartition(topic, 0)
        self._client = Consumer(
            {
                "bootstrap.servers": bootstrap,
                "group.id": group or "unused",  # it wants one, whatever it does
                "enable.auto.commit": False,
                "enable.partition.eof": True,
                "auto.offset.reset": "error" if reset == "none" else reset,
                "on_commit": lambda error, _: self._told.append(error),
            }
        )

    def assign(self) -> None:
        # Told NOT_COORDINATOR, as Kafka says while it makes the coordinators' topic, it would never ask again.
        wait_for(self._is_coordinated, "the coordinator of the group", TIMEOUT_S)
        self._client.assign([self._partition])

    def _is_coordinated(self) -> bool:
        from confluent_kafka import KafkaException

        try:
            self.committed()
        except KafkaException:
            return False
        return True

    def subscribe(self) -> None:
        self._client.subscribe([self._partition.topic])

    def starts_at(self) -> int:
        return self._next().offset()

    def _next(self) -> Any:
        """The next record, or the end."""
        from confluent_kafka import KafkaError

        while True:
            message = self._client.poll(TIMEOUT_S)
            assert message is not None
            error = message.error()
            if error is None or error.code() == KafkaError._PARTITION_EOF:
                return message
            if error.code() == KafkaError._AUTO_OFFSET_RESET:
                raise NoPosition
            assert error.retriable(), error

    def seek(self, offset: int) -> None:
        from confluent_kafka import TopicPartition

        self._client.seek(TopicPartition(self._partition.topic, 0, offset))

    def read(self, count: int) -> list[int]:
        found: list[int] = []
        while len(found) < count:
            message = self._next()
            if message.error() is None:
                found.append(message.offset())
        return found

    def offset_for_time(self, time_ms: int) -> int | None:
        from confluent_kafka import TopicPartition

        asked = TopicPartition(self._partition.topic, 0, time_ms)
        [found] = self._client.offsets_for_times([asked], TIMEOUT_S)
        return found.offset if found.offset >= 0 else None

    def commit(self, offset: int | None = None) -> None:
        wanted = {} if offset is None else {"offsets": self._offsets(offset)}
        self._client.commit(asynchronous=False, **wanted)

    def commit_async(self, offset: int) -> str:
        before = len(self._told)
        self._client.commit(offsets=self._offsets(offset), asynchronous=True)
        deadline = time.monotonic() + TIMEOUT_S
        while len(self._told) == before and time.monotonic() < deadline:
            self._client.poll(POLL_S)
        error = self._told[before]
        return "" if error is None else error.name()

    def _offsets(self, offset: int) -> list[Any]:
        from confluent_kafka import TopicPartition

        return [TopicPartition(self._partition.topic, 0, offset)]

    def committed(self) -> int | None:
        [found] = self._client.committed([self._partition], TIMEOUT_S)
        return found.offset if found.offset >= 0 else None

    def close(self) -> None:
        self._client.close()


class KafkaPython:
    """kafka-python."""

    def __init__(self, bootstrap: str, topic: str, group: str | None, reset: str) -> None:
        from kafka import KafkaConsumer, TopicPartition

        self._partition = TopicPartition(topic, 0)
        self._client = KafkaConsumer(
            bootstrap_servers=bootstrap,
            group_id=group,
            enable_auto_commit=False,
            auto_offset_reset=reset,
        )
        # Elected leader before it knows the topic, it would assign nothing.
        self._client.partitions_for_topic(topic)

    def assign(self) -> None:
        self._client.assign([self._partition])

    def subscribe(self) -> None:
        self._client.subscribe([self._partition.topic])

    def starts_at(self) -> int:
        return int(self._client.position(self._partition, timeout_ms=TIMEOUT_S * 1000))

    def seek(self, offset: int) -> None:
        self._client.seek(self._partition, offset)

    def read(self, count: int) -> list[int]:
        from kafka.errors import NoOffsetForPartitionError

        found: list[int] = []
        deadline = time.monotonic() + TIMEOUT_S
        while len(found) < count and time.monotonic() < deadline:
            try:
                batches = self._client.poll(timeout_ms=int(POLL_S * 1000)).values()
            except NoOffsetForPartitionError:
                raise NoPosition from None
            found += [record.offset for batch in batches for record in batch]
        return found

    def offset_for_time(self, time_ms: int) -> int | None:
        found = self._client.offsets_for_times({self._partition: time_ms})[self._partition]
        return None if found is None else int(found.offset)

    def commit(self, offset: int | None = None) -> None:
        self._client.commit(None if offset is None else self._offsets(offset))

    def commit_async(self, offset: int) -> str:
        told: list[Any] = []
        self._client.commit_async(
            self._offsets(offset), callback=lambda _, answer: told.append(answer)
        )
        deadline = time.monotonic() + TIMEOUT_S
        while not told and time.monotonic() < deadline:
            self._client.poll(timeout_ms=int(POLL_S * 1000))
        return type(told[0]).__name__ if isinstance(told[0], Exception) else ""

    def _offsets(self, offset: int) -> dict[Any, Any]:
        from kafka.structs import OffsetAndMetadata

        return {self._partition: OffsetAndMetadata(offset, "", -1)}

    def committed(self) -> int | None:
        found = self._client.committed(self._partition)
        return None if found is None else int(found)

    def close(self) -> None:
        self._client.close()


class AioKafka:
    """aiokafka, whose loop runs while it is asked something."""

    def __init__(self, bootstrap: str, topic: str, group: str | None, reset: str) -> None:
        from aiokafka import AIOKafkaConsumer, TopicPartition

        async def start() -> Any:
            client = AIOKafkaConsumer(
                bootstrap_servers=bootstrap,
                group_id=group,
                enable_auto_commit=False,
                auto_offset_reset=reset,
            )
            await client.start()
            return client

        self._partition = TopicPartition(topic, 0)
        self._loop = asyncio.new_event_loop()
        self._client = self._run(start())

    def _run(self, work: Awaitable[T]) -> T:
        return self._loop.run_until_complete(asyncio.wait_for(work, TIMEOUT_S))

    def assign(self) -> None:
        self._within_loop(lambda: self._client.assign([self._partition]))

    def subscribe(self) -> None:
        self._within_loop(lambda: self._client.subscribe([self._partition.topic]))

    def _within_loop(self, step: Callable[[], None]) -> None:
        async def call() -> None:
            step()

        self._run(call())

    def starts_at(self) -> int:
        return int(self._run(self._client.position(self._partition)))

    def seek(self, offset: int) -> None:
        self._within_loop(lambda: self._client.seek(self._partition, offset))

    def read(self, count: int) -> list[int]:
        from aiokafka.errors import NoOffsetForPartitionError

        try:
            return [self._run(self._client.getone()).offset for _ in range(count)]
        except NoOffsetForPartitionError:
            raise NoPosition from None

    def offset_for_time(self, time_ms: int) -> int | None:
        asked = self._client.offsets_for_times({self._partition: time_ms})
        found = self._run(asked)[self._partition]
        return None if found is None else int(found.offset)

    def commit(self, offset: int | None = None) -> None:
        self._run(self._client.commit(None if offset is None else {self._partition: offset}))

    def commit_async(self, offset: int) -> str:
        from aiokafka.errors import KafkaError

        async def begin_and_hear_of_it_later() -> None:
            task = asyncio.create_task(self._client.commit({self._partition: offset}))
            await asyncio.wait([task])
            task.result()

        try:
            self._run(begin_and_hear_of_it_later())
        except KafkaError as refused:
            return type(refused).__name__
        return ""

    def committed(self) -> int | None:
        found: int | None = self._run(self._client.committed(self._partition))
        return found

    def close(self) -> None:
        self._run(self._client.stop())
        self._loop.close()


class Jvm:
    """A process that has one consumer of Kafka's own at a time."""

    def __init__(self) -> None:
        self._answers: queue.SimpleQueue[bytes] = queue.SimpleQueue()

    @cached_property
    def _process(self) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(
            compiled(SEEKING_CONSUMER), stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        self._reader = threading.Thread(target=self._read, args=(process,))
        self._reader.start()
        return process

    def _read(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdout is not None
        with process.stdout as lines:
            for line in lines:
                self._answers.put(line)

    def ask(self, command: str, **arguments: Any) -> Any:
        """The answer of one command."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"do": command, **arguments}).encode() + b"\n")
        self._process.stdin.flush()
        reply = json.loads(self._answers.get(timeout=2 * TIMEOUT_S))
        if reply.get("error") == "NoOffsetForPartitionException":
            raise NoPosition
        assert "error" not in reply, reply
        return reply["answer"]

    def close(self) -> None:
        """End the process, if there is one."""
        if "_process" in self.__dict__:
            assert self._process.stdin is not None
            self._process.stdin.close()
            self._process.wait(TIMEOUT_S)
            self._reader.join()


class Java:
    """Kafka's own."""

    PROTOCOL = "classic"

    def __init__(self, bootstrap: str, topic: str, group: str | None, reset: str, jvm: Jvm) -> None:
        settings = {
            "bootstrap.servers": bootstrap,
            "enable.auto.commit": "false",
            "auto.offset.reset": reset,
            "group.protocol": self.PROTOCOL,
            **({} if group is None else {"group.id": group}),
        }
        self._jvm = jvm
        jvm.ask("open", settings=settings, topic=topic)

    def assign(self) -> None:
        self._jvm.ask("assign")

    def subscribe(self) -> None:
        self._jvm.ask("subscribe")

    def starts_at(self) -> int:
        return int(self._jvm.ask("starts_at"))

    def seek(self, offset: int) -> None:
        self._jvm.ask("seek", offset=offset)

    def read(self, count: int) -> list[int]:
        return list(self._jvm.ask("read", count=count))

    def offset_for_time(self, time_ms: int) -> int | None:
        found: int | None = self._jvm.ask("offset_for_time", time=time_ms)
        return found

    def commit(self, offset: int | None = None) -> None:
        self._jvm.ask("commit", offset=offset)

    def commit_async(self, offset: int) -> str:
        return str(self._jvm.ask("commit_async", offset=offset))

    def committed(self) -> int | None:
        found: int | None = self._jvm.ask("committed")
        return found

    def close(self) -> None:
        self._jvm.ask("close")


class ModernJava(Java):
    """Kafka's own with the consumer protocol, which is another consumer inside."""

    PROTOCOL = "consumer"
