"""How kafka-console-consumer prints records: Kafka's formatters, by the names of their classes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

from ottla.cli.kafka.command import complain
from ottla.cli.kafka.java_deserializers import Deserializer, deserializer
from ottla.cli.kafka.options import UsageError
from ottla.client.consumer_record import LOG_APPEND_TIME, ConsumerRecord

Format: TypeAlias = Callable[[ConsumerRecord], bytes]

_PACKAGES: Final = ("org.apache.kafka.tools.consumer.", "kafka.tools.", "kafka.coordinator.")
_DEFAULT: Final = "DefaultMessageFormatter"
_NO_TIMESTAMP: Final = -1


def formatter(name: str | None, properties: Mapping[str, str]) -> Format:
    """What prints a record; the package of the class may be left out, or be an older one."""
    short = _DEFAULT if name is None else name
    for package in _PACKAGES:
        short = short.removeprefix(package)
    if short in (_DEFAULT, "LoggingMessageFormatter"):  # there is no other log to write to
        return DefaultFormat(properties)
    if short == "NoOpMessageFormatter":
        return lambda record: b""
    if short in ("OffsetsMessageFormatter", "GroupMetadataMessageFormatter"):
        from ottla.cli.kafka.coordinator_format import offsets_format

        return offsets_format(commits=short.startswith("Offsets"))
    if short == "TransactionLogMessageFormatter":
        from ottla.cli.kafka.coordinator_format import transactions_format

        return transactions_format
    raise UsageError(f"There is no formatter {name}; classes of one's own cannot be loaded.")


class DefaultFormat:
    """Kafka's DefaultMessageFormatter: the columns that were asked for, and a separator between."""

    def __init__(self, properties: Mapping[str, str]) -> None:
        self._key_separator = properties.get("key.separator", "\t").encode()
        self._line_separator = properties.get("line.separator", "\n").encode()
        self._headers_separator = properties.get("headers.separator", ",").encode()
        self._null = properties.get("null.literal", "null").encode()
        self._key = _deserializer(properties, "key.deserializer")
        self._value = _deserializer(properties, "value.deserializer")
        self._header = _deserializer(properties, "headers.deserializer")
        printed = {
            "timestamp": _timestamp,
            "partition": lambda record: b"Partition:%d" % record.partition,
            "offset": lambda record: b"Offset:%d" % record.offset,
            "delivery": lambda record: b"Delivery:NOT_PRESENT",
            # Kafka's console consumer drops the epoch before it prints; so it never is present.
            "epoch": lambda record: b"Epoch:NOT_PRESENT",
            "headers": self._headers,
            "key": lambda record: self._shown(record.key, self._key),
            "value": lambda record: self._shown(record.value, self._value),
        }
        defaults = {"value": "true"}
        self._columns: list[Format] = [
            column
            for name, column in printed.items()
            if _true(properties.get(f"print.{name}", defaults.get(name, "false")))
        ]

    def __call__(self, record: ConsumerRecord) -> bytes:
        if not self._columns:
            return b""
        cells = [column(record) for column in self._columns]
        return self._key_separator.join(cells) + self._line_separator

    def _shown(self, data: bytes | None, by: Deserializer | None) -> bytes:
        if data is None:
            return self._null
        return data if by is None else by(data)

    def _headers(self, record: ConsumerRecord) -> bytes:
        if not record.headers:
            return b"NO_HEADERS"
        return self._headers_separator.join(
            name.encode() + b":" + self._shown(value, self._header)
            for name, value in record.headers
        )


def _timestamp(record: ConsumerRecord) -> bytes:
    if record.timestamp == _NO_TIMESTAMP:
        return b"NO_TIMESTAMP"
    kind = b"LogAppendTime" if record.timestamp_type == LOG_APPEND_TIME else b"CreateTime"
    return b"%b:%d" % (kind, record.timestamp)


def _true(text: str) -> bool:
    return text.strip().lower() == "true"


def _deserializer(properties: Mapping[str, str], name: str) -> Deserializer | None:
    wanted = properties.get(name)
    if wanted is None:
        return None
    found = deserializer(wanted)
    if found is None:
        complain(
            f"Unable to instantiate a deserializer from {wanted}; bytes are printed as they are."
        )
    return found
