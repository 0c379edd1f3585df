"""TopologyTestDriver: send records, read what came of them, move the clock, look into stores; without Spark."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ottla.streams.driver.run import Run
from ottla.streams.driver.state import State
from ottla.streams.driver.topics import Written
from ottla.streams.errors import StreamsError
from ottla.streams.processors import Headers, Record
from ottla.streams.serdes.serde import Serde
from ottla.streams.topology.processing import DeadLetters, Repartition
from ottla.streams.topology.topology import Topology
from ottla.streams.windows import Windowed


class TopologyTestDriver:
    """Runs a topology record by record, each to its end before the next, as Kafka's driver of this name does.

    An operator whose `on_error` is "fail" raises `RecordError` out of `send`. Records without a timestamp get
    that of the wall clock, which stands still but for `advance`. `application_id` names internal topics.
    """

    def __init__(self, topology: Topology, application_id: str = "test", now_ms: int = 0) -> None:
        self._run = Run(topology, application_id)
        self._run.now_ms = now_ms
        self._read: dict[str, int] = {}

    def input(self, topic: str) -> InputTopic:
        """A topic that the topology reads."""
        readers = self._run.readers(topic)
        if not readers or isinstance(readers[0], Repartition):
            known = sorted({name for source in self._run.topology.sources for name in source.reads})
            raise StreamsError(
                f"the topology does not read the topic {topic!r}; it reads {', '.join(known)}"
            )
        key, value = readers[0].key_serde, readers[0].value_serde
        assert key is not None
        assert value is not None
        return InputTopic(topic, self, key, value)

    def output(self, topic: str) -> OutputTopic:
        """A topic that the topology writes."""
        topics = [sink.topic for sink in self._run.topology.sinks]
        fixed = {name for name in topics if isinstance(name, str)}
        computed = not all(isinstance(name, str) for name in topics)
        letters = f"{self._run.application_id}{DeadLetters.suffix}"
        if topic not in fixed and topic != letters and not computed:
            raise StreamsError(
                f"the topology does not write the topic {topic!r}; it writes {', '.join(sorted(fixed))}, and "
                f"{letters} where on_error says so"
            )
        return OutputTopic(topic, self)

    def advance(self, ms: int) -> None:
        """Move the wall clock, so that its timers fire."""
        self._run.now_ms += ms
        self._run.origin = None
        for operator in self._run.operators.values():
            operator.advance(self._run.now_ms)
        self._run.work()

    @contextmanager
    def batch(self) -> Iterator[None]:
        """Handle what is sent inside as one batch, as Spark would.

        Its order is by the running maximum of the timestamp, then by topic; late is what was late when the batch
        began; an aggregate hands on one change for each key; what an internal topic gets is the next batch.
        """
        if self._run.batching:
            raise StreamsError("a batch is open already: they cannot be nested")
        self._run.batching = True
        try:
            yield
            self._run.work()
        finally:
            self._run.batching = False

    def store(self, name: str) -> StoreView:
        """A state store, by the name that `store=` gave it."""
        if name not in self._run.states:
            raise StreamsError(
                f"there is no store {name!r}; there are {', '.join(sorted(self._run.states)) or 'none'}"
            )
        return StoreView(self._run.states[name])

    @property
    def dropped(self) -> dict[str, int]:
        """How many records operators left out by their rules: null keys, late ones; by operator and reason."""
        return dict(self._run.drops)

    @property
    def failures(self) -> dict[str, int]:
        """How many records were skipped or went to the dead letters, by operator."""
        return dict(self._run.failures)

    def close(self) -> None:
        """Close the processors."""
        for operator in self._run.operators.values():
            operator.close()


class InputTopic:
    """Where records are sent."""

    def __init__(self, topic: str, driver: TopologyTestDriver, key: Serde, value: Serde) -> None:
        self._topic = topic
        self._driver = driver
        self._key_serde = key
        self._value_serde = value

    def send(
        self,
        key: Any,
        value: Any,
        timestamp_ms: int | None = None,
        headers: Headers | list[tuple[str, bytes | None]] = (),
    ) -> None:
        """Send a record, written with the serdes of the operator that reads it; None stays null."""
        self.send_bytes(
            None if key is None else self._key_serde.serialize(key),
            None if value is None else self._value_serde.serialize(value),
            timestamp_ms,
            headers,
        )

    def send_bytes(
        self,
        key: bytes | None,
        value: bytes | None,
        timestamp_ms: int | None = None,
        headers: Headers | list[tuple[str, bytes | None]] = (),
    ) -> None:
        """Send bytes as they are: poison, for instance."""
        run = self._driver._run
        time = run.now_ms if timestamp_ms is None else timestamp_ms
        run.send(self._topic, key, value, time, tuple(headers))
        if not run.batching:
            run.work()


class OutputTopic:
    """Where records are read, each once."""

    def __init__(self, topic: str, driver: TopologyTestDriver) -> None:
        self._topic = topic
        self._driver = driver

    def read(self) -> list[Record]:
        """The records that were written since the last call."""
        written = self._driver._run.written.get(self._topic, [])
        first = self._driver._read.get(self._topic, 0)
        self._driver._read[self._topic] = len(written)
        return [_record(each) for each in written[first:]]

    def read_map(self) -> dict[Any, Any]:
        """The last value of each key that was written since the last call; a null one is None."""
        return {record.key: record.value for record in self.read()}


def _record(written: Written) -> Record:
    key = None if written.key is None else written.key_serde.deserialize(written.key)
    value = None if written.value is None else written.value_serde.deserialize(written.value)
    return Record(key, value, written.timestamp_ms, written.headers)


class StoreView:
    """A store, to be looked into. Keys of windows and sessions are `Windowed`."""

    def __init__(self, state: State) -> None:
        self._state = state

    def get(self, key: Any) -> Any:
        """The value of a key, None if there is none."""
        entry = self._state.get(key)
        return None if entry is None else entry.value

    def all(self) -> list[tuple[Any, Any]]:
        """All keys with their values, in the order of the keys' bytes."""
        return [(key, entry.value) for key, entry in self._state.items()]

    def range(self, first: Any, last: Any) -> list[tuple[Any, Any]]:
        """The keys from the first to the last, both inclusive, in the order of their bytes."""
        low, high = self._state.key_bytes(first), self._state.key_bytes(last)
        return [
            (key, entry.value)
            for key, entry in self._state.items()
            if low <= self._state.key_bytes(_plain(key)) <= high
        ]

    def prefix(self, start: str | bytes) -> list[tuple[Any, Any]]:
        """The keys whose bytes begin so."""
        data = start.encode() if isinstance(start, str) else start
        return [
            (key, entry.value)
            for key, entry in self._state.items()
            if self._state.key_bytes(_plain(key)).startswith(data)
        ]

    def fetch(self, key: Any, from_ms: int = 0, to_ms: int | None = None) -> list[tuple[Any, Any]]:
        """The windows or sessions of a plain key that begin in a time, by start."""
        return [
            (window, entry.value)
            for window, entry in self._state.of_key(key)
            if from_ms <= window.start_ms and (to_ms is None or window.start_ms <= to_ms)
        ]


def _plain(key: Any) -> Any:
    return key.key if isinstance(key, Windowed) else key
