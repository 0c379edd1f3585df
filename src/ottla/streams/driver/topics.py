"""Operators of the test driver that write topics: sinks, and internal topics between sub-topologies."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ottla.streams.driver.message import Message, Origin
from ottla.streams.driver.operator import Operator
from ottla.streams.processors import Headers
from ottla.streams.serdes.serde import Serde
from ottla.streams.topology.processing import Repartition, Sink

if TYPE_CHECKING:
    from ottla.streams.driver.run import Run


@dataclass(frozen=True)
class Written:
    """A record as a sink wrote it, and how it can be read."""

    key: bytes | None
    value: bytes | None
    timestamp_ms: int
    headers: Headers
    key_serde: Serde
    value_serde: Serde


class RunSink(Operator[Sink]):
    """to."""

    def handle(self, message: Message, side: int) -> Iterable[Message]:
        node = self.node
        topic: Any = (
            node.topic if isinstance(node.topic, str) else self.key_value(node.topic, message)
        )
        if topic is None:
            self.run.dropped(node, "no topic")
            return []
        if not isinstance(topic, str):
            raise TypeError(f"the topic is {topic!r}, but must be a str")
        key = None if message.key is None else node.key_out.serialize(message.key)
        value = None if message.value is None else node.value_out.serialize(message.value)
        self.run.append(
            topic,
            Written(
                key, value, message.timestamp_ms, message.headers, node.key_out, node.value_out
            ),
        )
        return []


class RunRepartition(Operator[Repartition]):
    """An internal topic: what is written is read again, once everything before it has been handled."""

    def __init__(self, node: Repartition, run: Run) -> None:
        super().__init__(node, run)
        self._olds: dict[int, bytes | None] = {}
        self._written = 0

    def handle(self, message: Message, side: int) -> Iterable[Message]:
        node = self.node
        if message.key is None and node.drops_null_keys:
            self.run.dropped(node, "null key")
            return []
        assert node.key_serde is not None
        key = None if message.key is None else node.key_serde.serialize(message.key)
        self._olds[self._written] = self._bytes(message.old)
        self._written += 1
        self.run.send(
            node.topic_name(self.run.application_id), key, self._bytes(message.value),
            message.timestamp_ms, message.headers,
        )  # fmt: skip
        return []

    def read(self, origin: Origin) -> Message:
        """The message of a record that came back."""
        serde = self.node.key_serde
        assert serde is not None
        key = None if origin.key is None else serde.deserialize(origin.key)
        old = self._value(self._olds.pop(origin.offset))
        return Message(key, self._value(origin.value), origin.timestamp_ms, origin.headers, old)

    def _bytes(self, value: Any) -> bytes | None:
        assert self.node.value_serde is not None
        return None if value is None else self.node.value_serde.serialize(value)

    def _value(self, data: bytes | None) -> Any:
        assert self.node.value_serde is not None
        return None if data is None else self.node.value_serde.deserialize(data)
