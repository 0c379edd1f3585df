"""Sends produce requests that were encoded beforehand, over one connection to each leader, five in flight."""

from __future__ import annotations

import json
import socket
import sys
from collections import defaultdict
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import cycle, islice
from typing import Any

from benchmarks.clients.connection import BrokerRefused, connect, read_frame
from benchmarks.clients.stopwatch import Stopwatch
from benchmarks.frames import batch, produce_error, produce_request
from benchmarks.payloads import sample_values
from benchmarks.topics import leaders

IN_FLIGHT = 5


class Pipeline:
    """The requests for the partitions that one broker leads; its frames are sent in turn."""

    def __init__(self, address: str, topic: str, frames: Sequence[bytes]) -> None:
        self.connection: socket.socket = connect(address)
        self._topic = topic
        self._frames = frames
        reply_bytes = 4 + 4 + 4 + 2 + len(topic) + 4 + 4 + 2 + 8 + 8 + 8 + 4
        self._buffer = memoryview(bytearray(reply_bytes))

    def send(self, requests: int) -> None:
        """Sends so many requests, and reads as many replies."""
        for sent, frame in enumerate(islice(cycle(self._frames), requests)):
            self.connection.sendall(frame)
            if sent >= IN_FLIGHT - 1:
                self._acknowledged()
        for _ in range(min(IN_FLIGHT - 1, requests)):
            self._acknowledged()

    def _acknowledged(self) -> None:
        # With several requests in flight, several replies may have arrived: each is read on its own.
        error = produce_error(self._topic, read_frame(self.connection, self._buffer))
        if error:
            raise BrokerRefused(f"the broker answered a produce request with error {error}")


def main(spec: dict[str, Any]) -> dict[str, float]:
    """Warms each connection with one request to each partition and measures the others."""
    topic, size, partitions = spec["topic"], int(spec["value_size"]), int(spec["partitions"])
    per_batch = max(int(spec["batch_bytes"]) // (size + 10), 1)
    records = batch(sample_values(per_batch, size))
    led: defaultdict[str, list[bytes]] = defaultdict(list)
    for partition, address in leaders(spec["bootstrap"], topic, partitions).items():
        led[address].append(produce_request(topic, partition, records, int(spec["acks"])))
    each = int(spec["records"]) // per_batch // partitions
    pipelines = [(Pipeline(address, topic, frames), len(frames)) for address, frames in led.items()]
    for pipeline, count in pipelines:
        pipeline.send(count)
    with ThreadPoolExecutor(len(pipelines)) as threads, Stopwatch() as watch:
        running = [threads.submit(pipeline.send, each * count) for pipeline, count in pipelines]
        for one in running:
            one.result()
    for pipeline, _ in pipelines:
        pipeline.connection.close()
    return {
        "records": (each + 1) * partitions * per_batch,
        "measured": each * partitions * per_batch,
        "seconds": watch.seconds,
        "busy": watch.busy,
    }


if __name__ == "__main__":
    print(json.dumps(main(json.loads(sys.argv[1]))))
