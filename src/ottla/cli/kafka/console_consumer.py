"""kafka-console-consumer: prints the records of topics."""

from __future__ import annotations

import asyncio
import re
import signal
import sys
from collections.abc import Sequence
from random import randrange
from typing import Final, NamedTuple

from ottla.base.errors import OttlaError
from ottla.base.ids import TopicPartition
from ottla.cli.kafka.client_options import (
    file_and_pairs,
    meet_brokers,
    refuse_both,
    renamed,
    understood,
)
from ottla.cli.kafka.command import BOOTSTRAP_SERVER, complain, run
from ottla.cli.kafka.options import Command, Failed, Given, Option, UsageError
from ottla.cli.kafka.record_format import Format, formatter
from ottla.cli.kafka.streams import write_bytes
from ottla.client.async_consumer import AsyncConsumer
from ottla.client.consumer_record import ConsumerRecord
from ottla.client.consumer_settings import CLASSIC, ConsumerSettings

_EARLIEST: Final = "earliest"
_LATEST: Final = "latest"
_FOREVER: Final = 1 << 62
_STOPPING: Final = (signal.SIGINT, signal.SIGTERM)
_LONGEST_WAIT_MS: Final = 60_000
_AT_ONCE: Final = 500
_TRY_THE_NEW_PROTOCOL: Final = (
    "The consumer rebalance protocol (KIP-848) is production-ready! Set group.protocol=consumer to "
    "try it out. See https://kafka.apache.org/documentation/#consumer_rebalance_protocol"
)
_FORMATTER_HELP: Final = (
    "A property of the formatter, may be given again:\n"
    " print.timestamp=true|false\n print.key=true|false\n print.offset=true|false\n"
    " print.epoch=true|false\n print.partition=true|false\n print.headers=true|false\n"
    " print.value=true|false\n key.separator=<key.separator>\n line.separator=<line.separator>\n"
    " headers.separator=<headers.separator>\n null.literal=<null.literal>\n"
    " key.deserializer=<key.deserializer>\n value.deserializer=<value.deserializer>\n"
    " headers.deserializer=<headers.deserializer>"
)
COMMAND = Command(
    "kafka-console-consumer",
    "Reads records from topics and prints them.",
    (
        BOOTSTRAP_SERVER,
        Option("topic", "The topic to read.", "String: topic"),
        Option(
            "include", "A pattern; all topics that match are read.", "String: Java regex (String)"
        ),
        Option(
            "partition",
            "Read this partition alone, from its end or --offset.",
            "Integer: partition",
        ),
        Option(
            "offset",
            "Where to begin: an offset, 'earliest' or 'latest'. (default: latest)",
            "String: consume offset",
        ),
        Option("from-beginning", "Begin with the first record, unless the group has been further."),
        Option("max-messages", "End after so many records.", "Integer: num_messages"),
        Option("timeout-ms", "End when no record has come for so long.", "Long: timeout_ms"),
        Option("group", "The group to read in.", "String: consumer group id"),
        Option(
            "isolation-level",
            "read_committed leaves out records of transactions that are open or aborted. "
            "(default: read_uncommitted)",
            "String",
        ),
        Option(
            "command-config",
            "A properties file with settings of the consumer.",
            "String: config file",
        ),
        Option(
            "command-property",
            "A setting of the consumer; may be given again.",
            "String: consumer_prop",
        ),
        Option(
            "consumer-property",
            "(DEPRECATED) The same as --command-property.",
            "String: consumer_prop",
        ),
        Option(
            "consumer.config", "(DEPRECATED) The same as --command-config.", "String: config file"
        ),
        Option(
            "formatter", "How to print records. (default: DefaultMessageFormatter)", "String: class"
        ),
        Option("formatter-property", _FORMATTER_HELP, "String: prop"),
        Option("property", "(DEPRECATED) The same as --formatter-property.", "String: prop"),
        Option("formatter-config", "A properties file for the formatter.", "String: config file"),
        Option(
            "key-deserializer",
            "What to make of keys: a class of Kafka's.",
            "String: deserializer for keys",
        ),
        Option(
            "value-deserializer",
            "What to make of values: a class of Kafka's.",
            "String: deserializer for values",
        ),
        Option("skip-message-on-error", "Go on after a record that cannot be printed."),
        Option("enable-systest-events", "Print a line when the consumer has ended."),
    ),
)


class Wish(NamedTuple):
    """What to read and how to print it."""

    settings: dict[str, str]
    topic: str | None
    pattern: re.Pattern[str] | None
    partition: int | None
    offset: int | str
    most: int
    timeout_ms: int
    show: Format
    skip_errors: bool


def main(argv: Sequence[str] | None = None) -> int:
    """Run kafka-console-consumer; the exit code."""
    return run(COMMAND, _execute, argv)


def _execute(given: Given) -> int:
    reading = Reading(_wish(given))
    try:
        asyncio.run(reading.read())
    except BrokenPipeError:
        print("Unable to write to standard out, closing consumer.", file=sys.stderr)
        raise
    except OttlaError:
        if reading.count:
            reading.tell()
        raise
    reading.tell()
    if given.has("enable-systest-events"):
        print("shutdown_complete")
    return reading.code


class Reading:
    """Reads until there is enough, and counts."""

    def __init__(self, wish: Wish) -> None:
        self._wish = wish
        self.count = 0
        self.code = 0

    def tell(self) -> None:
        """Say how much was read."""
        complain(f"Processed a total of {self.count} messages")

    async def read(self) -> None:
        """Print records until enough were read, none came in time, or somebody says stop."""
        reading = asyncio.ensure_future(self._read())
        loop = asyncio.get_running_loop()
        for number in _STOPPING:
            loop.add_signal_handler(number, self._stop, number, reading)
        try:
            await reading
        except asyncio.CancelledError:
            if not self.code:
                raise
        finally:
            for number in _STOPPING:
                loop.remove_signal_handler(number)

    def _stop(self, number: int, reading: asyncio.Future[None]) -> None:
        self.code = 128 + number
        reading.cancel()

    async def _read(self) -> None:
        wish = self._wish
        async with AsyncConsumer(wish.settings) as consumer:
            await meet_brokers(consumer, wish.topic)
            await self._choose(consumer)
            while self.count < wish.most:
                records = await self._next(consumer, min(wish.most - self.count, _AT_ONCE))
                if not records:
                    return
                self._print(records)

    async def _choose(self, consumer: AsyncConsumer) -> None:
        wish = self._wish
        if wish.partition is None:
            if wish.settings.get("group.protocol", CLASSIC).lower() == CLASSIC:
                complain(_TRY_THE_NEW_PROTOCOL)
            await consumer.subscribe(wish.pattern or [wish.topic or ""])
            return
        at = TopicPartition(wish.topic or "", wish.partition)
        await consumer.assign([at])
        if wish.offset == _EARLIEST:
            consumer.seek_to_beginning(at)
        elif isinstance(wish.offset, int):
            consumer.seek(at, wish.offset)
        else:
            consumer.seek_to_end(at)

    async def _next(self, consumer: AsyncConsumer, most: int) -> list[ConsumerRecord]:
        """Some records; none once the time is over."""
        left_ms = self._wish.timeout_ms
        while True:
            wait_ms = min(left_ms, _LONGEST_WAIT_MS)
            records = await consumer.poll(wait_ms / 1000, most)
            left_ms -= wait_ms
            if records or left_ms <= 0:
                return records

    def _print(self, records: list[ConsumerRecord]) -> None:
        shown = []
        for record in records:
            self.count += 1
            try:
                shown.append(self._wish.show(record))
            except OttlaError as flaw:
                write_bytes(b"".join(shown))
                shown = []
                if not self._wish.skip_errors:
                    raise
                complain(f"{flaw}; offset {record.offset} is skipped.")
        write_bytes(b"".join(shown))


def _wish(given: Given) -> Wish:
    _check(given)
    settings = _settings(given)
    most = given.number("max-messages")
    timeout_ms = given.long_number("timeout-ms")
    return Wish(
        settings,
        given.value("topic"),
        _pattern(given.value("include")),
        given.number("partition"),
        _offset(given),
        _FOREVER if most is None or most < 0 else most,
        _FOREVER if timeout_ms is None or timeout_ms < 0 else timeout_ms,
        _format(given),
        given.has("skip-message-on-error"),
    )


def _check(given: Given) -> None:
    if given.has("topic") == given.has("include"):
        raise UsageError("Exactly one of the following arguments is required: [topic], [include]")
    if given.has("partition"):
        if not given.has("topic"):
            raise UsageError("The topic is required when partition is specified.")
        if given.has("from-beginning") and given.has("offset"):
            raise UsageError("Options from-beginning and offset cannot be specified together.")
    elif given.has("offset"):
        raise UsageError("The partition is required when offset is specified.")
    given.require("bootstrap-server")
    refuse_both(given, "consumer-property", "command-property")
    refuse_both(given, "consumer.config", "command-config")
    refuse_both(given, "property", "formatter-property")


def _settings(given: Given) -> dict[str, str]:
    pairs = renamed(given, "command-property", "consumer-property", "Option")
    file = renamed(given, "command-config", "consumer.config", "Option")
    settings = understood(ConsumerSettings, file_and_pairs(given, file, pairs))
    reset = _EARLIEST if given.has("from-beginning") else _LATEST
    if reset == _EARLIEST and settings.get("auto.offset.reset", reset) != reset:
        raise Failed(
            "Can't simultaneously specify --from-beginning and 'auto.offset.reset="
            f"{settings['auto.offset.reset']}', please remove one option"
        )
    settings = {"client.id": "console-consumer", "auto.offset.reset": reset, **settings}
    settings["bootstrap.servers"] = given.value("bootstrap-server") or ""
    if given.has("isolation-level"):
        settings["isolation.level"] = given.value("isolation-level") or ""
    group = _group(given.value("group"), settings.get("group.id"))
    if given.has("partition"):
        if group is not None:
            raise UsageError("Options group and partition cannot be specified together.")
        return settings
    if group is None:  # one that nobody will ask for again commits nothing
        settings.setdefault("enable.auto.commit", "false")
    return {**settings, "group.id": group or f"console-consumer-{randrange(100_000)}"}


def _group(group: str | None, named: str | None) -> str | None:
    if group is not None and named is not None and group != named:
        raise UsageError(
            "The group ids provided in different places (directly using '--group', via "
            "'--consumer-property', or via '--consumer.config') do not match. Detected group ids: "
            f"'{group}', '{named}'"
        )
    return group or named


def _offset(given: Given) -> int | str:
    text = given.value("offset")
    if text is None:
        return _EARLIEST if given.has("from-beginning") else _LATEST
    if text.lower() in (_EARLIEST, _LATEST):
        return text.lower()
    if not text.isascii() or not text.isdecimal():
        raise UsageError(
            f"The provided offset value '{text}' is incorrect. Valid values are 'earliest', "
            "'latest', or a non-negative long."
        )
    return int(text)


def _pattern(text: str | None) -> re.Pattern[str] | None:
    try:
        return None if text is None else re.compile(text)
    except re.error as flaw:
        raise Failed(f"--include {text}: {flaw}") from None


def _format(given: Given) -> Format:
    pairs = renamed(given, "formatter-property", "property", "Option")
    properties = file_and_pairs(given, "formatter-config", pairs)
    for part in ("key", "value"):
        named = given.value(f"{part}-deserializer")
        if named:
            properties.setdefault(f"{part}.deserializer", named)
    return formatter(given.value("formatter"), properties)
