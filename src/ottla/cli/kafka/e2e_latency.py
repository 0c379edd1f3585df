"""kafka-e2e-latency: sends records one by one and measures how soon each can be read."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from time import perf_counter_ns
from typing import Final

from ottla.base.ids import TopicPartition
from ottla.cli.kafka.command import complain, run
from ottla.cli.kafka.connect import ask, read_properties
from ottla.cli.kafka.options import Command, Failed, Given, Option, UsageError
from ottla.cli.kafka.perf_payloads import random_letters
from ottla.cli.kafka.perf_statistics import percentile
from ottla.client.administration.topics import NewTopic, Topics
from ottla.client.async_consumer import AsyncConsumer
from ottla.client.async_producer import AsyncProducer
from ottla.client.consumer_record import ConsumerRecord
from ottla.client.consumer_settings import ConsumerSettings
from ottla.client.producer_settings import ProducerSettings
from ottla.client.record_encoder import Headers
from ottla.client.settings import is_known
from ottla.security.settings import is_about_security

_REQUIRED: Final = ("bootstrap-server", "topic", "num-records", "producer-acks", "record-size")
_POLL_S: Final = 60.0
_MS_IN_NS: Final = 1_000_000
_REPORT_EVERY: Final = 1000
_POSITIONAL: Final = (
    "WARNING: Positional argument usage is deprecated and will be removed in Apache Kafka 5.0. "
    "Please use named arguments instead: --bootstrap-server, --topic, --num-records, "
    "--producer-acks, --record-size, --command-config"
)
COMMAND = Command(
    "kafka-e2e-latency",
    "Measures how long records take from a producer to a consumer.",
    (
        Option("bootstrap-server", "REQUIRED: brokers to ask first.", "String: bootstrap-server"),
        Option("topic", "REQUIRED: the topic to use.", "String: topic-name"),
        Option("num-records", "REQUIRED: how many records to send.", "Integer: count"),
        Option("producer-acks", "REQUIRED: '1' or 'all'.", "String: producer-acks"),
        Option("record-size", "REQUIRED: bytes of a value.", "Integer: bytes"),
        Option("command-config", "A properties file for all clients.", "String: config-file", True),
        Option("record-key-size", "Bytes of a key. (default: 0, no key)", "Integer: bytes", True),
        Option("num-headers", "Headers of a record. (default: 0)", "Integer: count", True),
        Option("record-header-key-size", "Bytes of a header's name.", "Integer: bytes", True),
        Option("record-header-size", "Bytes of a header; -1 for null.", "Integer: bytes", True),
    ),
)


def main(argv: Sequence[str] | None = None) -> int:
    """Run kafka-e2e-latency; the exit code."""
    words = list(sys.argv[1:] if argv is None else argv)
    if words and not any(word.startswith("--") for word in words):
        if len(words) not in (5, 6):
            complain(
                "Invalid number of arguments. Expected 5 or 6 positional arguments, but got "
                f"{len(words)}. Usage: bootstrap-server topic num-records producer-acks "
                "record-size [optional] command-config"
            )
            return 1
        print(_POSITIONAL)
        names = (*_REQUIRED, "command-config")
        words = [f"--{name}={word}" for name, word in zip(names, words, strict=False)]
    return run(COMMAND, _execute, words)


def _execute(given: Given) -> int:
    given.require(*_REQUIRED)
    if given.value("producer-acks") not in ("1", "all"):
        raise UsageError(
            "Invalid value for --producer-acks. Latency testing requires synchronous "
            "acknowledgement. Please use '1' or 'all'."
        )
    _make_topic(given)
    asyncio.run(_measure(given))
    return 0


def _make_topic(given: Given) -> None:
    topic = given.value("topic") or ""

    async def make(admin: Topics) -> None:
        if topic in await admin.list_topics():
            return
        print(
            f'Topic "{topic}" does not exist. Will create topic with 1 partition(s) and '
            "replication factor = 1"
        )
        await admin.create_topics([NewTopic(topic, 1, 1)])

    ask(Topics, given.value("bootstrap-server") or "", given.value("command-config"), make)


async def _measure(given: Given) -> None:
    consumer = AsyncConsumer(_settings(given, ConsumerSettings, {}))
    lasting = {"linger.ms": "0", "acks": given.value("producer-acks") or ""}
    producer = AsyncProducer(_settings(given, ProducerSettings, lasting))
    async with consumer, producer:
        await _go_to_the_end(consumer, given.value("topic") or "")
        latencies = [
            await _one(given, consumer, producer, number)
            for number in range(given.number("num-records") or 0)
        ]
    if latencies:
        print(f"Avg latency: {sum(latencies) / len(latencies) / _MS_IN_NS:.4f} ms")
        found = sorted(each // _MS_IN_NS for each in latencies)
        shares = [percentile(found, share) for share in (0.5, 0.99, 0.999)]
        print("Percentiles: 50th = {}, 99th = {}, 99.9th = {}".format(*shares))


async def _go_to_the_end(consumer: AsyncConsumer, topic: str) -> None:
    partitions = [TopicPartition(topic, n) for n in await consumer.partitions_for(topic)]
    await consumer.assign(partitions)
    consumer.seek_to_end()
    for each in partitions:
        await consumer.position(each)


async def _one(given: Given, consumer: AsyncConsumer, producer: AsyncProducer, number: int) -> int:
    value = random_letters(given.number("record-size") or 0)
    key_size = given.number("record-key-size") or 0
    key = random_letters(key_size) if key_size else None
    began = perf_counter_ns()
    await producer.send_and_wait(given.value("topic") or "", value, key, headers=_headers(given))
    records = await consumer.poll(_POLL_S)
    elapsed = perf_counter_ns() - began
    _validate(records, value)
    if number % _REPORT_EVERY == 0:
        print(f"{number}\t{elapsed / _MS_IN_NS}", flush=True)
    return elapsed


def _headers(given: Given) -> Headers:
    size = given.number("record-header-size") or 0
    name_size = given.number("record-header-key-size") or 0
    return [
        (random_letters(name_size).decode(), None if size < 0 else random_letters(size))
        for _ in range(given.number("num-headers") or 0)
    ]


def _validate(records: list[ConsumerRecord], sent: bytes) -> None:
    if not records:
        raise Failed(f"poll() timed out before finding a result (timeout:[{_POLL_S * 1000:.0f}])")
    if len(records) != 1:
        raise Failed(
            f"Only one result was expected during this test. We found [{len(records)}]; use a "
            "topic that nobody else writes to."
        )
    if records[0].value != sent:
        raise Failed("The record read did not match the record sent; use a topic of its own.")


def _settings(
    given: Given, table: type[ConsumerSettings | ProducerSettings], fixed: dict[str, str]
) -> dict[str, str]:
    path = given.value("command-config")
    file = read_properties(path) if path else {}
    own = {
        name: value
        for name, value in file.items()
        if is_known(table, name) or is_about_security(name)
    }
    return {**own, **fixed, "bootstrap.servers": given.value("bootstrap-server") or ""}
