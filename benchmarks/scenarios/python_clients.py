"""Python clients in the loops that people write: ottla's own beside aiokafka and kafka-python.

Here the clients are compared with each other; the broker is the same for all of them.
"""

from __future__ import annotations

from benchmarks.clients import run_client
from benchmarks.contestants import Contestant
from benchmarks.results import Measured, Row
from benchmarks.scenarios.scenario import Scale, Scenario
from benchmarks.topics import create_topic, delete_topic, temporary_topic

GROUP = "python clients"
CLIENTS = ("ottla", "ottla async", "aiokafka", "kafka-python")
VALUE_SIZE = 100
RUNS = 3


def _spec(
    broker: Contestant, client: str, work: str, topic: str, records: int
) -> dict[str, object]:
    return {
        "bootstrap": broker.bootstrap,
        "client": client,
        "work": work,
        "topic": topic,
        "records": records,
        "value_size": VALUE_SIZE,
    }


def _row(name: str, client: str, work: str) -> Row:
    return Row(f"{name}-{client.replace(' ', '-')}", f"{work}, {client}", "k rec/s", GROUP)


class PythonProducers(Scenario):
    """Each client's producer in a loop of sends."""

    max_runs = RUNS

    def __init__(self, name: str, records: int) -> None:
        super().__init__(name, tuple(_row(name, client, "produce 100 B") for client in CLIENTS))
        self.records = records

    def measure(self, broker: Contestant, scale: Scale) -> Measured:
        """Lets each client fill a topic of its own."""
        records = scale.amount(self.records)
        values, busy = {}, {}
        for client, row in zip(CLIENTS, self.rows, strict=True):
            with temporary_topic(broker.bootstrap) as topic:
                spec = _spec(broker, client, "produce", topic, records)
                result = run_client("python_clients", spec)
            values[row.name] = records / result["seconds"] / 1e3
            busy[row.name] = result["busy"]
        return Measured(values, busy)


class PythonConsumers(Scenario):
    """Each client's consumer, record by record or poll by poll."""

    max_runs = RUNS

    def __init__(self, name: str, title: str, records: int, *, polls: bool) -> None:
        super().__init__(name, tuple(_row(name, client, title) for client in CLIENTS))
        self.records = records
        self.polls = polls
        self._topics: dict[str, str] = {}

    def prepare(self, broker: Contestant, scale: Scale) -> None:
        """Fills the topic that all of them read."""
        self._topics[broker.name] = topic = create_topic(broker.bootstrap)
        records = scale.amount(self.records)
        run_client("python_clients", _spec(broker, "ottla", "produce", topic, records))

    def measure(self, broker: Contestant, scale: Scale) -> Measured:
        """Lets each client read all of it."""
        records = scale.amount(self.records)
        values, busy = {}, {}
        for client, row in zip(CLIENTS, self.rows, strict=True):
            spec = _spec(broker, client, "consume", self._topics[broker.name], records)
            result = run_client("python_clients", {**spec, "polls": self.polls})
            values[row.name] = records / result["seconds"] / 1e3
            busy[row.name] = result["busy"]
        return Measured(values, busy)

    def clean_up(self, broker: Contestant) -> None:
        """Removes the topic."""
        delete_topic(broker.bootstrap, self._topics.pop(broker.name))
