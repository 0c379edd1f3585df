"""Those who read: everything by turns, everything at the end, as members of a group, and as observers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from threading import Event
from typing import Any, NamedTuple

from confluent_kafka import (
    Consumer,
    IsolationLevel,
    KafkaError,
    KafkaException,
    Message,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient, OffsetSpec

from tests.checker.history import (
    NO_POSITION,
    Action,
    Isolation,
    Operation,
    Outcome,
    Polled,
    Watermarks,
)
from tests.support.clients import consumer, read_to_end
from tests.workload.recorder import Recorder
from tests.workload.worker import TIMEOUT_S, Worker, key_of, partition_of, polled

POLL_S = 0.05
POLLED_AT_ONCE = 200
REFUSED = (
    KafkaError.ILLEGAL_GENERATION,
    KafkaError.UNKNOWN_MEMBER_ID,
    KafkaError.REBALANCE_IN_PROGRESS,
    KafkaError.FENCED_INSTANCE_ID,
)


class Bound(NamedTuple):
    """An offset that bounds a log, and the epoch of the leader who says so."""

    offset: int
    epoch: int


def records(messages: Iterable[Message]) -> tuple[Polled, ...]:
    """What was read, without the errors that a client goes on after."""
    return tuple(polled(message) for message in messages if message.error() is None)


class Reader(Worker):
    """Reads all logs from their start, in order, and goes on."""

    def __init__(
        self,
        name: str,
        bootstrap: str,
        recorder: Recorder,
        keys: Sequence[str],
        isolation: Isolation,
    ) -> None:
        super().__init__(name, bootstrap, recorder)
        self.keys, self.isolation = keys, isolation

    def begin(self) -> None:
        self.client = Consumer(
            self.settings(
                group_id="unused",
                enable_auto_commit=False,
                auto_offset_reset="error",
                isolation_level=str(self.isolation),
                fetch_wait_max_ms=50,
            )
        )
        start = dict.fromkeys(self.keys, 0)
        self.recorder.note(self.name, Action.ASSIGN, keys=frozenset(start), positions=start)
        self.client.assign([partition_of(key) for key in self.keys])

    def work(self) -> None:
        operation = self.recorder.begin(self.name, Action.POLL, isolation=self.isolation)
        found = records(self.client.consume(POLLED_AT_ONCE, POLL_S))
        self.recorder.end(operation, Outcome.OK, steps=found)

    def finish(self) -> None:
        self.client.close()


def read_all(
    bootstrap: str, recorder: Recorder, keys: Sequence[str], isolation: Isolation, **facts: Any
) -> Operation:
    """Read whole logs, as the last of a run does."""
    client = consumer(bootstrap, isolation_level=str(isolation), check_crcs=True)
    operation = recorder.begin(
        f"all-{isolation}",
        Action.READ_TO_END,
        keys=frozenset(keys),
        isolation=isolation,
        facts=facts,
    )
    try:
        client.assign([partition_of(key) for key in keys])
        found = records(read_to_end(client, len(keys)))
    finally:
        client.close()
    return recorder.end(operation, Outcome.OK, steps=found)


class Member(Worker):
    """A member of a group that commits what it has read, and waits for the answer."""

    def __init__(
        self, name: str, bootstrap: str, recorder: Recorder, group: str, topic: str
    ) -> None:
        super().__init__(name, bootstrap, recorder)
        self.group, self.topic = group, topic
        self.generation = -1
        self.positions: dict[str, int] = {}
        self.commits_again = Event()

    def begin(self) -> None:
        self.client = Consumer(
            self.settings(
                group_id=self.group,
                enable_auto_commit=False,
                auto_offset_reset="earliest",
                fetch_wait_max_ms=50,
                **self.protocol(),
            )
        )
        self.client.subscribe([self.topic], on_assign=self.assigned)

    def protocol(self) -> dict[str, Any]:
        """Settings of the protocol of the group."""
        return {"session_timeout_ms": 1000, "heartbeat_interval_ms": 100}

    def assigned(self, client: Consumer, partitions: list[TopicPartition]) -> None:
        """The group has given this member its share."""
        self.generation = generation_of(client)
        keys = frozenset(key_of(each.topic, each.partition) for each in partitions)
        self.positions = {key: at for key, at in self.positions.items() if key in keys}
        self.recorder.note(
            self.name, Action.SUBSCRIBE, keys=keys, group=self.group, generation=self.generation
        )

    def work(self) -> None:
        if self.commits_again.is_set():
            self.commit(dict(self.positions))
            self.commits_again.clear()
        operation = self.recorder.begin(self.name, Action.POLL)
        found = records(self.client.consume(POLLED_AT_ONCE, POLL_S))
        self.recorder.end(operation, Outcome.OK, steps=found)
        if found:
            positions = {each.key: each.offset + 1 for each in found}
            self.positions |= positions
            self.commit(positions)

    def commit(self, positions: dict[str, int]) -> None:
        """Keep positions; former owners are refused."""
        operation = self.recorder.begin(
            self.name,
            Action.COMMIT,
            group=self.group,
            generation=self.generation,
            positions=positions,
        )
        try:
            told = self.client.commit(
                offsets=[partition_of(*each) for each in positions.items()], asynchronous=False
            )
            errors = [each.error for each in told if each.error is not None]
        except KafkaException as failed:
            errors = [failed.args[0]]
        if not errors:
            self.recorder.end(operation, Outcome.OK)
        elif all(error.code() in REFUSED for error in errors):
            self.recorder.end(operation, self.recorder.refused(operation), error=str(errors[0]))
        else:
            self.recorder.end(operation, Outcome.UNKNOWN, error=str(errors[0]))

    def finish(self) -> None:
        self.client.close()


class ModernMember(Member):
    """The same in a group whose coordinator assigns (KIP-848), and says how often it wants to hear from its members.

    There each member is in an epoch of its own, and commits in one that another has left behind may be right: that is
    why no member of this kind takes part where every promise is checked.
    """

    def protocol(self) -> dict[str, Any]:
        return {"group_protocol": "consumer"}

    def assigned(self, client: Consumer, partitions: list[TopicPartition]) -> None:
        """The group has given this member more."""
        super().assigned(client, [*client.assignment(), *partitions])


def generation_of(client: Consumer) -> int:
    """The generation of its group that a client believes in, which librdkafka tells only in sealed form."""
    sealed: bytes = client.consumer_group_metadata()
    assert sealed.startswith(b"CGMDv2:"), "librdkafka has changed the form of its group metadata"
    return int.from_bytes(sealed[7:11], "little", signed=True)


class Observer(Worker):
    """Looks at committed offsets and at the bounds of logs."""

    def __init__(
        self,
        name: str,
        bootstrap: str,
        recorder: Recorder,
        groups: Sequence[str],
        keys: Sequence[str],
    ) -> None:
        super().__init__(name, bootstrap, recorder)
        self.groups, self.keys = groups, keys

    def begin(self) -> None:
        self.admin = AdminClient(self.settings())
        self.clients = {
            group: Consumer(self.settings(group_id=group, isolation_level="read_committed"))
            for group in self.groups
        }

    def work(self) -> None:
        for group in self.groups:
            self.look_at_group(group)
        self.look_at_logs()
        self.enough.wait(POLL_S)

    def look_at_group(self, group: str) -> None:
        """What the group has committed."""
        operation = self.recorder.begin(self.name, Action.FETCH_OFFSETS, group=group)
        try:
            asked = [partition_of(key) for key in self.keys]
            told = self.clients[group].committed(asked, timeout=2.0)
        except KafkaException as failed:
            self.recorder.end(operation, Outcome.FAIL, error=str(failed))
            return
        positions = {
            key_of(each.topic, each.partition): max(each.offset, NO_POSITION)
            for each in told
            if each.error is None
        }
        self.recorder.end(operation, Outcome.OK, positions=positions)

    def look_at_logs(self) -> None:
        """Where logs begin and end; the smaller is asked first, so that all stand in order."""
        operation = self.recorder.begin(self.name, Action.WATERMARKS)
        try:
            starts = self.ask(OffsetSpec.earliest(), IsolationLevel.READ_UNCOMMITTED)
            stable = self.ask(OffsetSpec.latest(), IsolationLevel.READ_COMMITTED)
            high = self.ask(OffsetSpec.latest(), IsolationLevel.READ_UNCOMMITTED)
        except KafkaException as failed:
            self.recorder.end(operation, Outcome.FAIL, error=str(failed))
            return
        told = {
            key: Watermarks(
                starts[key].offset, stable[key].offset, high[key].offset, None, high[key].epoch
            )
            for key in self.keys
            # Of two leaders the older one may know of less.
            if stable[key].epoch == high[key].epoch
        }
        # Of a broker that went away meanwhile, librdkafka says that an offset is -1001.
        answers = (*starts.values(), *stable.values(), *high.values())
        outcome = Outcome.OK if min(each.offset for each in answers) >= 0 else Outcome.FAIL
        self.recorder.end(operation, outcome, watermarks=told)

    def ask(self, what: OffsetSpec, isolation: IsolationLevel) -> dict[str, Bound]:
        """One offset of every log."""
        asked = {partition_of(key): what for key in self.keys}
        answers = self.admin.list_offsets(asked, isolation_level=isolation, request_timeout=2.0)
        found = {
            key_of(each.topic, each.partition): future.result(TIMEOUT_S)
            for each, future in answers.items()
        }
        return {key: Bound(each.offset, each.leader_epoch or 0) for key, each in found.items()}

    def finish(self) -> None:
        for client in self.clients.values():
            client.close()
