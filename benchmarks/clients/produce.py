"""Produces a number of records with librdkafka and prints how long it took."""

from __future__ import annotations

import json
import sys
from typing import Any

from benchmarks.clients.stopwatch import Stopwatch
from benchmarks.librdkafka import BatchProducer, Messages
from benchmarks.payloads import sample_values

POOL_SIZE = 10_000
QUEUE_KB = 128 * 1024
CONFIG = {
    "acks": 1,
    "batch.num.messages": 1_000_000,
    "queue.buffering.max.messages": 0,
    "queue.buffering.max.kbytes": QUEUE_KB,
}


def main(spec: dict[str, Any]) -> dict[str, float]:
    """Connects and warms up with one record, then measures all the others."""
    records = int(spec["records"])
    pool_size = max(POOL_SIZE, int(spec["partitions"]))
    values = sample_values(pool_size, spec["value_size"])
    keys = [b"key-%d" % number for number in range(pool_size)] if spec.get("keyed") else None
    messages = Messages(values, spec["partitions"], keys)
    config = {"bootstrap.servers": spec["bootstrap"], **CONFIG, **spec["config"]}
    with BatchProducer(spec["topic"], config) as producer:
        producer.produce(messages, 1)
        producer.flush()
        with Stopwatch() as watch:
            for done in range(0, records, messages.count):
                producer.produce(messages, min(messages.count, records - done))
            producer.flush()
    return {"records": records + 1, "seconds": watch.seconds, "busy": watch.busy}


if __name__ == "__main__":
    print(json.dumps(main(json.loads(sys.argv[1]))))
