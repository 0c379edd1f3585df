"""How fast groups become stable, offsets are committed, and transactions end."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import count

from benchmarks.clients import run_client
from benchmarks.contestants import Contestant
from benchmarks.goals import Goal
from benchmarks.results import Measured, Row
from benchmarks.scenarios.scenario import (
    CORES,
    CPU_GROUP,
    Part,
    Scale,
    Scenario,
    broker_cpu,
    cpu_row,
)
from benchmarks.topics import temporary_topic, wait_for_records

GROUP = "groups and transactions"
SECONDS = 3.0
VALUE_SIZE = 100
PARTITIONS_PER_MEMBER = 2
TWICE = Goal(times_at_least=2.0)
HALF = Goal(times_at_most=0.5)

_numbers = count(1)


class GroupUntilStable(Scenario):
    """Members that come all at once, until each owns its share."""

    # A run keeps a broker busy for milliseconds: after one, a JVM has compiled next to nothing of what it takes.
    warming_runs = 15
    runs_for_one = 3

    def __init__(self, name: str, members: int, protocol: str) -> None:
        title = f"{protocol} group of {members} until stable"
        row = Row(name, title, "ms", GROUP, higher_is_better=False, goal=HALF)
        super().__init__(name, (row,))
        self.members = members
        self.protocol = protocol

    def measure(self, broker: Contestant, scale: Scale) -> Measured:
        """Lets a new group come together."""
        partitions = PARTITIONS_PER_MEMBER * self.members
        with temporary_topic(broker.bootstrap, partitions) as topic:
            spec = {
                "bootstrap": broker.bootstrap,
                "topic": topic,
                "partitions": partitions,
                "members": self.members,
                "protocol": self.protocol,
                "group": f"bench-group-{next(_numbers)}",
            }
            result = run_client("group", spec)
        return Measured({self.name: result["seconds"] * 1e3}, {self.name: result["busy"]})


class Commits(Scenario):
    """Groups that each wait for an answer before the next commit."""

    def __init__(self, name: str, connections: int, part: Part = Part.SINGLE) -> None:
        title = f"commits, {connections} connection{'s' if connections > 1 else ''}"
        on_all = part is Part.CORES
        speed = Row(name, title, "k commits/s", CORES if on_all else GROUP, goal=TWICE)
        cost = cpu_row(name, title, CORES if on_all else CPU_GROUP, "commits")
        super().__init__(name, (speed, cost))
        self.connections = connections
        self.part = part

    def measure(self, broker: Contestant, scale: Scale) -> Measured:
        """Counts commits for some seconds."""
        with temporary_topic(broker.bootstrap) as topic:
            spec = {
                "bootstrap": broker.bootstrap,
                "topic": topic,
                "connections": self.connections,
                "seconds": scale.seconds(SECONDS),
            }
            with broker_cpu(broker) as cpu:
                result = run_client("commits", spec)
        speed, cost = self.rows
        values = {
            speed.name: result["commits"] / result["seconds"] / 1e3,
            cost.name: cpu.seconds / result["commits"] * 1e6,
        }
        return Measured(values, {speed.name: result["busy"]})


class TransactionsPerSecond(Scenario):
    """One producer, one transaction after another."""

    client: str
    """The program that is the producer."""

    def __init__(self, name: str, title: str, **task: int) -> None:
        super().__init__(name, (Row(name, title, "txn/s", GROUP, goal=TWICE),))
        self.task = task

    def measure(self, broker: Contestant, scale: Scale) -> Measured:
        """Counts transactions for some seconds."""
        with temporary_topic(broker.bootstrap) as topic:
            spec = {
                "bootstrap": broker.bootstrap,
                "topic": topic,
                "value_size": VALUE_SIZE,
                "seconds": scale.seconds(SECONDS),
                **self.task,
            }
            result = run_client(self.client, spec)
            self.check(broker, topic, result)
        speed = result["transactions"] / result["seconds"]
        return Measured({self.name: speed}, {self.name: result["busy"]})

    def check(self, broker: Contestant, topic: str, result: Mapping[str, float]) -> None:
        """Fails if the log does not hold what was acknowledged."""


class Transactions(TransactionsPerSecond):
    """A producer of librdkafka."""

    client = "transactions"

    def __init__(self, name: str, records: int) -> None:
        title = f"transactions of {records} record{'s' if records > 1 else ''}"
        super().__init__(name, title, records=records)


class EncodedTransactions(TransactionsPerSecond):
    """Requests encoded beforehand: the client costs next to nothing, the broker is the limit."""

    client = "encoded_transactions"

    def __init__(self, name: str, version: int) -> None:
        of_version = f" of version {version}" if version > 1 else ""
        title = f"transactions{of_version} of 1 record, encoded beforehand"
        super().__init__(name, title, version=version)

    def check(self, broker: Contestant, topic: str, result: Mapping[str, float]) -> None:
        """Each left its record and its marker; the last marker may follow its acknowledgement."""
        wait_for_records(broker.bootstrap, topic, 2 * int(result["acknowledged"]))
