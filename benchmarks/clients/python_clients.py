"""One Python client, as its users would write it: a producer or a consumer in a plain loop."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable
from typing import Any

from benchmarks.clients.stopwatch import Stopwatch

LINGER_MS = 5
BATCH_BYTES = 16_384
POLL_MS = 1000
POLL_RECORDS = 500

Spec = dict[str, Any]


def value_of(spec: Spec) -> bytes:
    """A record's value; its bytes do not matter, since nothing is compressed."""
    return b"x" * int(spec["value_size"])


def measured(watch: Stopwatch) -> dict[str, float]:
    """What the scenario wants to know."""
    return {"seconds": watch.seconds, "busy": watch.busy}


def ottla_produce(spec: Spec) -> dict[str, float]:
    """`ottla.Producer`."""
    from ottla import Producer

    topic, value = spec["topic"], value_of(spec)
    settings = {"bootstrap.servers": spec["bootstrap"], "acks": 1, "linger.ms": LINGER_MS}
    with Producer(settings, batch_size=BATCH_BYTES) as producer:
        producer.send(topic, value).result()
        with Stopwatch() as watch:
            for _ in range(spec["records"]):
                producer.send(topic, value)
            producer.flush()
    return measured(watch)


def ottla_async_produce(spec: Spec) -> dict[str, float]:
    """`ottla.AsyncProducer`."""
    from ottla import AsyncProducer

    async def produce() -> dict[str, float]:
        topic, value = spec["topic"], value_of(spec)
        settings = {"bootstrap.servers": spec["bootstrap"], "acks": 1, "linger.ms": LINGER_MS}
        async with AsyncProducer(settings, batch_size=BATCH_BYTES) as producer:
            await producer.send_and_wait(topic, value)
            with Stopwatch() as watch:
                for _ in range(spec["records"]):
                    await producer.send(topic, value)
                await producer.flush()
        return measured(watch)

    return asyncio.run(produce())


def aiokafka_produce(spec: Spec) -> dict[str, float]:
    """aiokafka's producer."""
    from aiokafka import AIOKafkaProducer

    async def produce() -> dict[str, float]:
        topic, value = spec["topic"], value_of(spec)
        async with AIOKafkaProducer(
            bootstrap_servers=spec["bootstrap"],
            acks=1,
            linger_ms=LINGER_MS,
            max_batch_size=BATCH_BYTES,
        ) as producer:
            await producer.send_and_wait(topic, value)
            with Stopwatch() as watch:
                for _ in range(spec["records"]):
                    await producer.send(topic, value)
                await producer.flush()
        return measured(watch)

    return asyncio.run(produce())


def kafka_python_produce(spec: Spec) -> dict[str, float]:
    """kafka-python's producer."""
    from kafka import KafkaProducer

    topic, value = spec["topic"], value_of(spec)
    producer = KafkaProducer(
        bootstrap_servers=spec["bootstrap"],
        acks=1,
        linger_ms=LINGER_MS,
        batch_size=BATCH_BYTES,
        enable_idempotence=False,
    )
    producer.send(topic, value).get(60)
    with Stopwatch() as watch:
        for _ in range(spec["records"]):
            producer.send(topic, value)
        producer.flush()
    producer.close()
    return measured(watch)


def ottla_consume(spec: Spec) -> dict[str, float]:
    """`ottla.Consumer`."""
    from ottla import Consumer, TopicPartition

    settings = {"bootstrap.servers": spec["bootstrap"], "auto.offset.reset": "earliest"}
    with Consumer(settings) as consumer:
        consumer.assign([TopicPartition(spec["topic"], 0)])
        left = spec["records"] - len(consumer.poll(60, max_records=1))
        with Stopwatch() as watch:
            if spec["polls"]:
                while left > 0:
                    left -= len(consumer.poll(POLL_MS / 1000))
            else:
                for _ in consumer:
                    left -= 1
                    if not left:
                        break
    return measured(watch)


def ottla_async_consume(spec: Spec) -> dict[str, float]:
    """`ottla.AsyncConsumer`."""
    from ottla import AsyncConsumer, TopicPartition

    async def consume() -> dict[str, float]:
        settings = {"bootstrap.servers": spec["bootstrap"], "auto.offset.reset": "earliest"}
        async with AsyncConsumer(settings) as consumer:
            await consumer.assign([TopicPartition(spec["topic"], 0)])
            left = spec["records"] - len(await consumer.poll(60, max_records=1))
            with Stopwatch() as watch:
                if spec["polls"]:
                    while left > 0:
                        left -= len(await consumer.poll(POLL_MS / 1000))
                else:
                    async for _ in consumer:
                        left -= 1
                        if not left:
                            break
        return measured(watch)

    return asyncio.run(consume())


def aiokafka_consume(spec: Spec) -> dict[str, float]:
    """aiokafka's consumer."""
    from aiokafka import AIOKafkaConsumer, TopicPartition

    async def consume() -> dict[str, float]:
        async with AIOKafkaConsumer(
            bootstrap_servers=spec["bootstrap"],
            auto_offset_reset="earliest",
            enable_auto_commit=False,
        ) as consumer:
            consumer.assign([TopicPartition(spec["topic"], 0)])
            await consumer.getone()
            left = spec["records"] - 1
            with Stopwatch() as watch:
                if spec["polls"]:
                    while left > 0:
                        found = await consumer.getmany(timeout_ms=POLL_MS, max_records=POLL_RECORDS)
                        left -= sum(map(len, found.values()))
                else:
                    async for _ in consumer:
                        left -= 1
                        if not left:
                            break
        return measured(watch)

    return asyncio.run(consume())


def kafka_python_consume(spec: Spec) -> dict[str, float]:
    """kafka-python's consumer."""
    from kafka import KafkaConsumer, TopicPartition

    consumer = KafkaConsumer(
        bootstrap_servers=spec["bootstrap"], auto_offset_reset="earliest", enable_auto_commit=False
    )
    consumer.assign([TopicPartition(spec["topic"], 0)])
    next(consumer)
    left = spec["records"] - 1
    with Stopwatch() as watch:
        if spec["polls"]:
            while left > 0:
                left -= sum(map(len, consumer.poll(POLL_MS).values()))
        else:
            for _ in consumer:
                left -= 1
                if not left:
                    break
    consumer.close()
    return measured(watch)


PROGRAMS: dict[tuple[str, str], Callable[[Spec], dict[str, float]]] = {
    ("ottla", "produce"): ottla_produce,
    ("ottla async", "produce"): ottla_async_produce,
    ("aiokafka", "produce"): aiokafka_produce,
    ("kafka-python", "produce"): kafka_python_produce,
    ("ottla", "consume"): ottla_consume,
    ("ottla async", "consume"): ottla_async_consume,
    ("aiokafka", "consume"): aiokafka_consume,
    ("kafka-python", "consume"): kafka_python_consume,
}


def main(spec: Spec) -> dict[str, float]:
    """Runs the program that the task names."""
    return PROGRAMS[spec["client"], spec["work"]](spec)


if __name__ == "__main__":
    print(json.dumps(main(json.loads(sys.argv[1]))))
