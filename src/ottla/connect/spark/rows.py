"""Records to rows and back: converters, transforms, and what happens to a record that cannot be converted."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from ottla.connect.converters.converter import Converter
from ottla.connect.data.record import Header, Record
from ottla.connect.errors import ConnectError, DataInvalid
from ottla.connect.plugins import converter_class
from ottla.connect.transforms.chain import Chain

Settings = Mapping[str, str | None]
Headers = list[tuple[str, bytes | None]]


class Row(NamedTuple):
    """A record as bytes, as it stands in a topic."""

    topic: str
    partition: int | None
    key: bytes | None
    value: bytes | None
    headers: Headers


class Converters(NamedTuple):
    """Of keys, values and headers."""

    key: Converter
    value: Converter
    header: Converter


def converters_of(settings: Settings) -> Converters:
    """Return the converters that a configuration names: `key.converter`, and what begins with that."""
    return Converters(*(_converter(settings, part) for part in ("key", "value", "header")))


def _converter(settings: Settings, part: str) -> Converter:
    setting = f"{part}.converter"
    prefix = f"{setting}."
    name = settings.get(setting) or "string"
    if name.endswith("SimpleHeaderConverter"):
        name = "string"
    inside = {n[len(prefix) :]: value for n, value in settings.items() if n.startswith(prefix)}
    return converter_class(name)(inside, is_key=part == "key")


class Failure(NamedTuple):
    """Why a record was not moved, for the headers of the dead letter topic."""

    stage: str
    error: Exception


_STAGES: Final = {"convert": "VALUE_CONVERTER", "transform": "TRANSFORMATION"}


class Tolerance:
    """What is done about records that fail: `errors.tolerance` none stops the connector, all passes them over."""

    def __init__(self, settings: Settings, connector: str) -> None:
        self.passes = (settings.get("errors.tolerance") or "none").strip().lower() == "all"
        self.topic = settings.get("errors.deadletterqueue.topic.name") or None
        self._with_context = (
            settings.get("errors.deadletterqueue.context.headers.enable") or "true"
        ).lower() == "true"
        self._connector = connector

    def headers(self, origin: tuple[str, int, int], failure: Failure) -> Headers:
        """Return the headers that tell why a record is in the dead letter topic."""
        if not self._with_context:
            return []
        topic, partition, offset = origin
        stack = "".join(traceback.format_exception(failure.error))
        told = {
            "topic": topic,
            "partition": partition,
            "offset": offset,
            "connector.name": self._connector,
            "task.id": 0,
            "stage": failure.stage,
            "exception.class.name": type(failure.error).__name__,
            "exception.message": failure.error,
            "exception.stacktrace": stack,
        }
        return [(f"__connect.errors.{name}", str(value).encode()) for name, value in told.items()]


class Outgoing:
    """Makes rows of what a source has read."""

    def __init__(self, settings: Settings, connector: str) -> None:
        self._convert = converters_of(settings)
        self._chain = Chain(settings)
        self._tolerance = Tolerance(settings, connector)

    def rows(self, records: Iterator[Record]) -> Iterator[Row]:
        """Return the rows to write; records that fail are passed over where that is tolerated."""
        for record in records:
            try:
                transformed = self._chain.apply(record)
                if transformed is not None:
                    yield self._row(transformed)
            except ConnectError as error:
                if not self._tolerance.passes:
                    raise
                if self._tolerance.topic:
                    headers = self._tolerance.headers(
                        (record.topic, -1, -1), Failure(_STAGES["transform"], error)
                    )
                    yield Row(
                        self._tolerance.topic, None, None, str(record.value).encode(), headers
                    )

    def _row(self, record: Record) -> Row:
        topic = record.topic
        return Row(
            topic,
            record.partition,
            self._convert.key.to_bytes(topic, record.key_schema, record.key),
            self._convert.value.to_bytes(topic, record.value_schema, record.value),
            [
                (h.key, self._convert.header.to_bytes(topic, h.schema, h.value))
                for h in record.headers
            ],
        )


class Taken(NamedTuple):
    """A record as it was read from a topic."""

    offset: int
    timestamp_ms: int | None
    key: bytes | None
    value: bytes | None
    headers: Headers


class Incoming:
    """Makes records of what stands in a topic."""

    def __init__(
        self, settings: Settings, connector: str, bury: Callable[[Row], None] | None = None
    ) -> None:
        self._convert = converters_of(settings)
        self._chain = Chain(settings)
        self._tolerance = Tolerance(settings, connector)
        self._send_dead = bury

    @property
    def dead_letter_topic(self) -> str | None:
        """Return where records go that fail, if anywhere."""
        return self._tolerance.topic if self._tolerance.passes else None

    def records(self, topic: str, partition: int, taken: Iterator[Taken]) -> Iterator[Record]:
        """Return the records for the connector; those that fail are passed over where that is tolerated."""
        for each in taken:
            try:
                record = self._chain.apply(self._record(topic, partition, each))
            except Exception as error:
                if not isinstance(error, ConnectError):
                    error = DataInvalid(f"{type(error).__name__}: {error}")
                if not self._tolerance.passes:
                    place = f"{topic}-{partition} offset {each.offset}"
                    raise DataInvalid(
                        f"the record at {place} cannot be converted: {error}"
                    ) from None
                self._give_up(topic, partition, each, error)
            else:
                if record is not None:
                    yield record

    def _record(self, topic: str, partition: int, taken: Taken) -> Record:
        key_schema, key = self._convert.key.from_bytes(topic, taken.key)
        value_schema, value = self._convert.value.from_bytes(topic, taken.value)
        headers = tuple(
            Header(name, *self._convert.header.from_bytes(topic, data))
            for name, data in taken.headers
        )
        return Record(
            topic,
            partition,
            key_schema,
            key,
            value_schema,
            value,
            taken.timestamp_ms,
            headers,
            taken.offset,
        )

    def _give_up(self, topic: str, partition: int, taken: Taken, error: Exception) -> None:
        if self._send_dead is None or self._tolerance.topic is None:
            return
        added = self._tolerance.headers(
            (topic, partition, taken.offset), Failure(_STAGES["convert"], error)
        )
        headers = [*taken.headers, *added]
        self._send_dead(Row(self._tolerance.topic, None, taken.key, taken.value, headers))


def settings_of(text: str) -> dict[str, Any]:
    """Return a configuration that travelled as JSON, its references resolved here."""
    import json

    from ottla.connect.references import resolved

    return resolved(json.loads(text))
