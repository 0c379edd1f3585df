"""Produces at a steady pace with confluent-kafka and prints the latency of each acknowledgement."""

from __future__ import annotations

import json
import struct
import sys
import time
from collections.abc import Callable
from typing import Any

from confluent_kafka import Producer

from benchmarks.payloads import sample_values

STAMP = struct.Struct(">q")


def _on_delivery(sent_ns: int, latencies_ms: list[float]) -> Callable[[Any, Any], None]:
    def delivered(error: Any, _message: Any) -> None:
        if error is not None:
            raise RuntimeError(f"a record was not delivered: {error}")
        latencies_ms.append((time.monotonic_ns() - sent_ns) / 1e6)

    return delivered


def main(spec: dict[str, Any]) -> dict[str, list[float]]:
    """Sends one record at each tick, whether or not earlier ones have been acknowledged."""
    config = {"bootstrap.servers": spec["bootstrap"], "acks": spec["acks"], "linger.ms": 0}
    producer = Producer(config)
    topic, interval_ns = spec["topic"], int(1e9 / spec["per_second"])
    filler = sample_values(1, int(spec["value_size"]) - STAMP.size)[0]
    warm_up, latencies_ms = int(spec["warm_up"]), list[float]()
    tick_ns = time.monotonic_ns()
    for _ in range(warm_up + int(spec["records"])):
        sent_ns = time.monotonic_ns()
        callback = _on_delivery(sent_ns, latencies_ms)
        producer.produce(topic, STAMP.pack(sent_ns) + filler, partition=0, on_delivery=callback)
        tick_ns += interval_ns
        while (left_ns := tick_ns - time.monotonic_ns()) > 0:
            producer.poll(left_ns / 1e9)
    producer.flush()
    return {"ack_ms": latencies_ms[warm_up:]}


if __name__ == "__main__":
    print(json.dumps(main(json.loads(sys.argv[1]))))
