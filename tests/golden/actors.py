"""Those who use a broker while a transcript is played: members of groups, producers in transactions."""

import threading
from contextlib import closing
from types import TracebackType
from typing import Any, Self

from confluent_kafka import Consumer, Producer

from ottla import Admin, TopicPartition
from ottla.client.administration.group_offsets import CommittedOffset

TIMEOUT_S = 20.0
POLL_S = 0.05


class Member:
    """A consumer that reads on in a thread of its own."""

    def __init__(self, bootstrap: str, group: str, topic: str, settings: dict[str, Any]) -> None:
        self._consumer = Consumer(
            {
                "bootstrap.servers": bootstrap,
                "group.id": group,
                "client.id": f"client-of-{group}",
                "enable.auto.commit": False,
                "auto.offset.reset": "earliest",
                **settings,
            }
        )
        self.reading = threading.Event()
        self._leaving = threading.Event()
        self._consumer.subscribe([topic], on_assign=lambda *_: self.reading.set())
        self._thread = threading.Thread(target=self._read)
        self._thread.start()

    def _read(self) -> None:
        with closing(self._consumer):
            while not self._leaving.is_set():
                self._consumer.poll(POLL_S)

    def leave(self) -> None:
        self._leaving.set()
        self._thread.join(TIMEOUT_S)


class Actors:
    """Everybody who is about; all leave at the end."""

    def __init__(self, bootstrap: str) -> None:
        self._bootstrap = bootstrap
        self._members: list[Member] = []
        self._producers: list[Producer] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.leave()

    def join(self, group: str, topic: str, *settings: str) -> None:
        """A member that has all partitions of a topic."""
        named = dict(setting.split("=", 1) for setting in settings)
        member = Member(self._bootstrap, group, topic, named)
        self._members.append(member)
        assert member.reading.wait(TIMEOUT_S), f"a member of {group} got no partitions"

    def leave(self) -> None:
        """No more members, no more producers."""
        for member in self._members:
            member.leave()
        self._members.clear()
        self._producers.clear()

    def commit(self, group: str, *offsets: str) -> None:
        """Offsets `topic:partition:offset` for a group without members."""
        wanted = {
            TopicPartition(topic, int(partition)): CommittedOffset(int(offset))
            for topic, partition, offset in (text.split(":") for text in offsets)
        }
        with Admin({"bootstrap.servers": self._bootstrap}) as admin:
            assert set(admin.alter_group_offsets(group, wanted).values()) == {None}

    def transaction(self, name: str, topic: str, end: str) -> None:
        """A transaction with a record in partition 0 of a topic, `committed` or left `open`."""
        producer = Producer({"bootstrap.servers": self._bootstrap, "transactional.id": name})
        producer.init_transactions(TIMEOUT_S)
        producer.begin_transaction()
        producer.produce(topic, b"in a transaction", partition=0)
        assert producer.flush(TIMEOUT_S) == 0
        if end == "committed":
            producer.commit_transaction(TIMEOUT_S)
        self._producers.append(producer)
