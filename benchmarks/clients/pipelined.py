"""Sends produce requests that were encoded beforehand over one connection, five in flight."""

from __future__ import annotations

import json
import socket
import sys
from typing import Any

from benchmarks.clients.connection import BrokerRefused, connect, read_frame
from benchmarks.clients.stopwatch import Stopwatch
from benchmarks.frames import batch, produce_error, produce_request
from benchmarks.payloads import sample_values

IN_FLIGHT = 5


def _acknowledged(connection: socket.socket, buffer: memoryview, topic: str) -> None:
    # With several requests in flight, several replies may have arrived: each is read on its own.
    error = produce_error(topic, read_frame(connection, buffer))
    if error:
        raise BrokerRefused(f"the broker answered a produce request with error {error}")


def main(spec: dict[str, Any]) -> dict[str, float]:
    """Warms the connection with one request and measures the others."""
    topic, size = spec["topic"], int(spec["value_size"])
    per_batch = max(int(spec["batch_bytes"]) // (size + 10), 1)
    frame = produce_request(topic, 0, batch(sample_values(per_batch, size)))
    requests = int(spec["records"]) // per_batch
    reply_bytes = 4 + 4 + 4 + 2 + len(topic) + 4 + 4 + 2 + 8 + 8 + 8 + 4
    buffer = memoryview(bytearray(reply_bytes))
    with connect(spec["bootstrap"]) as connection:
        connection.sendall(frame)
        _acknowledged(connection, buffer, topic)
        with Stopwatch() as watch:
            for sent in range(requests):
                connection.sendall(frame)
                if sent >= IN_FLIGHT - 1:
                    _acknowledged(connection, buffer, topic)
            for _ in range(min(IN_FLIGHT - 1, requests)):
                _acknowledged(connection, buffer, topic)
    return {
        "records": (requests + 1) * per_batch,
        "measured": requests * per_batch,
        "seconds": watch.seconds,
        "busy": watch.busy,
    }


if __name__ == "__main__":
    print(json.dumps(main(json.loads(sys.argv[1]))))
