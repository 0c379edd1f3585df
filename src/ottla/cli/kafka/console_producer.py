"""kafka-console-producer: sends each line of standard input as a record."""

from __future__ import annotations

import signal
from collections.abc import Sequence
from functools import partial
from types import FrameType
from typing import Final

from ottla.base.errors import ApiError
from ottla.cli.kafka.client_options import (
    file_and_pairs,
    refuse_both,
    renamed,
    understood,
)
from ottla.cli.kafka.command import BOOTSTRAP_SERVER, complain, run
from ottla.cli.kafka.line_reader import Line, LineReader
from ottla.cli.kafka.options import Command, Failed, Given, Option
from ottla.cli.kafka.streams import read_lines
from ottla.client.delivery import RecordMetadata
from ottla.client.producer import Producer
from ottla.client.producer_settings import ProducerSettings

_PROMPT: Final = ">"
_READER: Final = "LineMessageReader"
_READER_HELP: Final = (
    "A property of the reader, may be given again:\n"
    " parse.key=false\n parse.headers=false\n ignore.error=false\n key.separator=\\t\n"
    " headers.delimiter=\\t\n headers.separator=,\n headers.key.separator=:\n"
    " null.marker=   what stands for null in keys, values and headers\n"
    "With parse.headers=true and parse.key=true a line is\n"
    ' "h1:v1,h2:v2...\\tkey\\tvalue"'
)
# Option, setting, and the value where neither says anything.
_NUMBERS: Final = (
    ("batch-size", "batch.size", "16384"),
    ("message-send-max-retries", "retries", "3"),
    ("retry-backoff-ms", "retry.backoff.ms", "100"),
    ("timeout", "linger.ms", "1000"),
    ("request-timeout-ms", "request.timeout.ms", "1500"),
    ("metadata-expiry-ms", "metadata.max.age.ms", "300000"),
    ("max-block-ms", "max.block.ms", "60000"),
    ("max-memory-bytes", "buffer.memory", "33554432"),
    ("socket-buffer-size", "send.buffer.bytes", "102400"),
)
COMMAND = Command(
    "kafka-console-producer",
    "Sends each line of standard input to a topic.",
    (
        BOOTSTRAP_SERVER,
        Option("topic", "REQUIRED: the topic to send to.", "String: topic"),
        Option("sync", "Wait for each record to be written before the next is sent."),
        Option(
            "compression-codec",
            "Compress with 'none', 'gzip', 'snappy', 'lz4' or 'zstd'; without a value with gzip.",
            "String: compression-codec",
            value_may_be_missing=True,
        ),
        Option(
            "batch-size",
            "How many bytes to collect for a partition. (default: 16384)",
            "Integer: size",
        ),
        Option("message-send-max-retries", "How often to try again. (default: 3)", "Integer"),
        Option("retry-backoff-ms", "How long to wait before that. (default: 100)", "Long"),
        Option("timeout", "How long to wait for more records. (default: 1000)", "Long: timeout_ms"),
        Option(
            "request-required-acks",
            "Who must have a record: all (-1), 1 or 0. (default: -1)",
            "String: request required acks",
        ),
        Option(
            "request-timeout-ms",
            "How long a broker may take to answer. (default: 1500)",
            "Integer: request timeout ms",
        ),
        Option(
            "metadata-expiry-ms",
            "How often to ask who leads. (default: 300000)",
            "Long: metadata expiration interval",
        ),
        Option(
            "max-block-ms",
            "How long to wait for the topic or for room. (default: 60000)",
            "Long: max block on send",
        ),
        Option(
            "max-memory-bytes",
            "How many bytes may wait to be sent. (default: 33554432)",
            "Long: total memory in bytes",
        ),
        Option(
            "max-partition-memory-bytes",
            "(Deprecated) The same as --batch-size.",
            "Integer: memory in bytes per partition",
        ),
        Option(
            "socket-buffer-size", "Without effect: the system finds a good size.", "Integer: size"
        ),
        Option(
            "line-reader", "How to read lines; there is LineMessageReader.", "String: reader_class"
        ),
        Option("reader-property", _READER_HELP, "String: prop"),
        Option("property", "(DEPRECATED) The same as --reader-property.", "String: prop"),
        Option("reader-config", "A properties file for the reader.", "String: config file"),
        Option(
            "command-config",
            "A properties file with settings of the producer.",
            "String: config file",
        ),
        Option(
            "command-property",
            "A setting of the producer; may be given again.",
            "String: producer_prop",
        ),
        Option(
            "producer-property",
            "(DEPRECATED) The same as --command-property.",
            "String: producer_prop",
        ),
        Option(
            "producer.config", "(DEPRECATED) The same as --command-config.", "String: config file"
        ),
    ),
)


def main(argv: Sequence[str] | None = None) -> int:
    """Run kafka-console-producer; the exit code."""
    return run(COMMAND, _execute, argv)


def _execute(given: Given) -> int:
    given.require("topic", "bootstrap-server")
    refuse_both(given, "command-property", "producer-property")
    refuse_both(given, "command-config", "producer.config")
    refuse_both(given, "reader-property", "property")
    settings, reader = _settings(given), _reader(given)
    sending = Sending(given.value("topic") or "", sync=given.has("sync"))
    former = signal.signal(signal.SIGTERM, _terminate)
    try:
        with Producer(settings) as producer:
            sending.send_lines(producer, reader)
    except _Terminated:
        return 128 + signal.SIGTERM
    finally:
        signal.signal(signal.SIGTERM, former)
    return 1 if sending.failed else 0


class _Terminated(KeyboardInterrupt):
    """Somebody wants the command to end; what was typed so far is still sent, as with Ctrl-C."""


def _terminate(number: int, frame: FrameType | None) -> None:
    raise _Terminated


class Sending:
    """Sends lines to a topic, and tells of those that could not be written."""

    def __init__(self, topic: str, *, sync: bool) -> None:
        self._topic = topic
        self._sync = sync
        self.failed = False

    def send_lines(self, producer: Producer, reader: LineReader) -> None:
        """Send every line of standard input."""
        for line in read_lines(_PROMPT):
            record = reader.read(line)
            try:
                delivery = producer.send(
                    self._topic,
                    record.value,
                    record.key,
                    headers=record.headers,
                    on_delivery=partial(self._told, record),
                )
                if self._sync:
                    delivery.result()
            except ApiError as refused:  # this record alone
                if self._sync:
                    raise
                self._told(record, None, refused)

    def _told(self, record: Line, metadata: RecordMetadata | None, error: Exception | None) -> None:
        if error is None or self._sync:
            return
        self.failed = True
        key = "null" if record.key is None else f"{len(record.key)} bytes"
        value = "null" if record.value is None else f"{len(record.value)} bytes"
        complain(
            f"Error when sending message to topic {self._topic} with key: {key}, value: {value} "
            f"with error: {error}"
        )


def _reader(given: Given) -> LineReader:
    named = given.value("line-reader")
    if named is not None and named.rpartition(".")[2] != _READER:
        raise Failed(f"There is no reader {named}; classes of one's own cannot be loaded.")
    pairs = renamed(given, "reader-property", "property", "Warning:")
    return LineReader(file_and_pairs(given, "reader-config", pairs))


def _settings(given: Given) -> dict[str, str]:
    pairs = renamed(given, "command-property", "producer-property", "Warning:")
    file = renamed(given, "command-config", "producer.config", "Warning:")
    settings = understood(ProducerSettings, file_and_pairs(given, file, pairs))
    for option, name, default in _NUMBERS:
        number = given.long_number(option)
        if number is not None or name not in settings:
            settings[name] = default if number is None else str(number)
    if given.has("max-partition-memory-bytes"):
        print(
            "Warning: --max-partition-memory-bytes is deprecated and will be removed in Apache "
            "Kafka 5.0. Use --batch-size instead."
        )
        settings["batch.size"] = str(given.number("max-partition-memory-bytes"))
    if given.has("request-required-acks") or "acks" not in settings:
        settings["acks"] = given.value("request-required-acks") or "-1"
    if given.has("compression-codec"):
        settings["compression.type"] = given.value("compression-codec") or "gzip"
    settings.setdefault("client.id", "console-producer")
    settings["bootstrap.servers"] = given.value("bootstrap-server") or ""
    return settings
