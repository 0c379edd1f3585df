"""kafka-consumer-perf-test: reads records as quickly as it can and prints how it went."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from random import randrange
from time import time
from typing import Final, NamedTuple

from ottla.base.ids import TopicPartition
from ottla.base.units import MiB
from ottla.cli.kafka.client_options import file_and_pairs, meet_brokers, understood
from ottla.cli.kafka.command import BOOTSTRAP_SERVER, run
from ottla.cli.kafka.options import Command, Given, Option, UsageError
from ottla.cli.kafka.times import java_date
from ottla.client.async_consumer import AsyncConsumer
from ottla.client.consumer_settings import ConsumerSettings

_POLL_S: Final = 0.1
_DATE_FORMAT: Final = "yyyy-MM-dd HH:mm:ss:SSS"
_TOTAL_HEADER: Final = "start.time, end.time"
_DETAILED_HEADER: Final = "time, threadId"
_HEADER: Final = (
    "data.consumed.in.MB, MB.sec, data.consumed.in.nMsg, nMsg.sec, rebalance.time.ms, "
    "fetch.time.ms, fetch.MB.sec, fetch.nMsg.sec"
)
COMMAND = Command(
    "kafka-consumer-perf-test",
    "Reads records from topics and prints throughput.",
    (
        BOOTSTRAP_SERVER,
        Option("topic", "The topic to read.", "String: topic"),
        Option(
            "include", "A pattern; all topics that match are read.", "String: Java regex (String)"
        ),
        Option("num-records", "REQUIRED: how many records to read.", "Long: count"),
        Option("messages", "(DEPRECATED) The same as --num-records.", "Long: count"),
        Option("group", "The group to read in. (default: one made up)", "String: gid"),
        Option("from-latest", "Begin behind the last record, unless the group has been further."),
        Option(
            "fetch-size",
            "Bytes of a partition to fetch at once. (default: 1048576)",
            "Integer: size",
        ),
        Option(
            "socket-buffer-size", "Without effect: the system finds a good size.", "Integer: size"
        ),
        Option(
            "timeout",
            "How long to wait for records, in ms. (default: 10000)",
            "Long: milliseconds",
            value_may_be_missing=True,
        ),
        Option("reporting-interval", "ms between lines. (default: 5000)", "Long: interval_ms"),
        Option("show-detailed-stats", "Print a line for each --reporting-interval."),
        Option(
            "date-format", f"How to print times. (default: {_DATE_FORMAT})", "String: date format"
        ),
        Option("hide-header", "Leave out the names of the columns."),
        Option("print-metrics", "Print counters at the end."),
        Option(
            "command-config",
            "A properties file with settings of the consumer.",
            "String: config file",
        ),
        Option(
            "command-property",
            "A setting of the consumer; may be given again.",
            "String: prop1=val1",
        ),
        Option(
            "consumer.config", "(DEPRECATED) The same as --command-config.", "String: config file"
        ),
    ),
)


class Progress(NamedTuple):
    """How much was read at a time, and how long joining had taken."""

    time_s: float
    records: int = 0
    size_bytes: int = 0
    joining_s: float = 0.0

    def since(self, before: Progress) -> str:
        """The columns about what came after an earlier time."""
        seconds = max(self.time_s - before.time_s, 0.001)
        fetching_s = seconds - (self.joining_s - before.joining_s)
        size_mb, count = (self.size_bytes - before.size_bytes) / MiB, self.records - before.records
        rates = (size_mb / fetching_s, count / fetching_s) if fetching_s > 0 else (0.0, 0.0)
        return (
            f"{self.size_bytes / MiB:.4f}, {size_mb / seconds:.4f}, {self.records}, "
            f"{count / seconds:.4f}, {(self.joining_s - before.joining_s) * 1000:.0f}, "
            f"{max(fetching_s, 0) * 1000:.0f}, {rates[0]:.4f}, {rates[1]:.4f}"
        )


def main(argv: Sequence[str] | None = None) -> int:
    """Run kafka-consumer-perf-test; the exit code."""
    return run(COMMAND, _execute, argv)


def _execute(given: Given) -> int:
    for one, other in (("messages", "num-records"), ("topic", "include")):
        if given.has(one) == given.has(other):
            raise UsageError(
                f"Exactly one of the following arguments is required: [{one}], [{other}]"
            )
    given.require("bootstrap-server")
    if given.has("messages"):
        print("Warning: --messages is deprecated. Use --num-records instead.")
    settings = _settings(given)
    if not given.has("hide-header"):
        detailed = given.has("show-detailed-stats")
        print(f"{_DETAILED_HEADER if detailed else _TOTAL_HEADER}, {_HEADER}")
    asyncio.run(Test(given, settings).run())
    return 0


def _settings(given: Given) -> dict[str, str]:
    file = "command-config"
    if given.has("consumer.config"):
        if given.has(file):
            raise UsageError(
                "Options --consumer.config and --command-config cannot be specified together."
            )
        file = "consumer.config"
        print(
            "Option --consumer.config is deprecated and will be removed in a future version. "
            "Use --command-config instead."
        )
    settings = {
        "client.id": "perf-consumer-client",
        "group.id": given.value("group") or f"perf-consumer-{randrange(100_000)}",
        "max.partition.fetch.bytes": str(given.number("fetch-size") or MiB),
        "auto.offset.reset": "latest" if given.has("from-latest") else "earliest",
        "check.crcs": "false",
        **file_and_pairs(given, file, "command-property"),
    }
    settings["bootstrap.servers"] = given.value("bootstrap-server") or ""
    return understood(ConsumerSettings, settings)


class Test:
    """One run."""

    def __init__(self, given: Given, settings: dict[str, str]) -> None:
        self._settings = settings
        self._topic, self._include = given.value("topic"), given.value("include")
        self._wanted = given.long_number("num-records") or given.long_number("messages") or 0
        self._timeout_ms = given.long_number("timeout") or 10_000
        self._interval_s = (given.long_number("reporting-interval") or 5000) / 1000
        self._detailed = given.has("show-detailed-stats")
        self._metrics = given.has("print-metrics")
        self._date_format = given.value("date-format") or _DATE_FORMAT
        self._owned: set[TopicPartition] = set()
        self._joining_since = 0.0
        self._joining_s = 0.0

    async def run(self) -> None:
        """Read enough, or until nothing comes any more, and print the results."""
        start = now = Progress(time())
        self._joining_since = start.time_s
        async with AsyncConsumer(self._settings) as consumer:
            await meet_brokers(consumer, self._topic)
            await consumer.subscribe(
                [self._topic] if self._topic is not None else re.compile(self._include or ""),
                on_assigned=self._assigned,
                on_revoked=self._revoked,
            )
            now = await self._read(consumer, start)
        if now.records < self._wanted:
            print(
                "WARNING: Exiting before consuming the expected number of records: timeout "
                f"({self._timeout_ms} ms) exceeded. You can use the --timeout option to increase "
                "the timeout."
            )
        if not self._detailed:
            print(f"{self._date(start.time_s)}, {self._date(now.time_s)}, {now.since(start)}")
        if self._metrics:
            self._print_metrics(start, now)

    async def _read(self, consumer: AsyncConsumer, start: Progress) -> Progress:
        now = reported = start
        last_s = start.time_s
        while now.records < self._wanted and (time() - last_s) * 1000 <= self._timeout_ms:
            records = await consumer.poll(_POLL_S)
            if not records:
                continue
            last_s = time()
            size = sum(len(each.key or b"") + len(each.value or b"") for each in records)
            now = Progress(
                last_s, now.records + len(records), now.size_bytes + size, self._joining_s
            )
            if last_s - reported.time_s >= self._interval_s:
                if self._detailed:
                    print(f"{self._date(last_s)}, 0, {now.since(reported)}", flush=True)
                reported = now
        return now._replace(time_s=time(), joining_s=self._joining_s)

    def _assigned(self, partitions: list[TopicPartition]) -> None:
        if not self._owned:
            self._joining_s += time() - self._joining_since
        self._owned.update(partitions)

    def _revoked(self, partitions: list[TopicPartition]) -> None:
        self._owned.difference_update(partitions)
        if not self._owned:
            self._joining_since = time()

    def _date(self, seconds: float) -> str:
        return java_date(seconds, self._date_format)

    def _print_metrics(self, start: Progress, now: Progress) -> None:
        seconds = max(now.time_s - start.time_s, 0.001)
        owner = f"{{client-id={self._settings['client.id']}}}"
        names = {
            f"consumer-fetch-manager-metrics:bytes-consumed-total:{owner}": now.size_bytes,
            f"consumer-fetch-manager-metrics:records-consumed-rate:{owner}": now.records / seconds,
            f"consumer-fetch-manager-metrics:records-consumed-total:{owner}": now.records,
        }
        width = max(map(len, names))
        print(f"\n{'Metric Name'.ljust(width)}   Value")
        for name, value in names.items():
            print(f"{name.ljust(width)} : {value:.3f}")
