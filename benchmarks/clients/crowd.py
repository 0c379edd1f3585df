"""Opens many connections and keeps them; each sends one large request when told to.

Prints `open` when all connections have been answered once, waits for a line on stdin, sends,
prints `sent`, and waits for another line before it leaves: the caller measures in between.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from benchmarks.clients.connection import BrokerRefused, connect, read_frame
from benchmarks.frames import batch, produce_error, produce_request

SMALL_BYTES, LARGE_BYTES = 100, 1_000_000


def main(spec: dict[str, Any]) -> None:
    """Runs through the three stages."""
    topic = spec["topic"]
    buffer = memoryview(bytearray(4096))
    connections = [connect(spec["bootstrap"]) for _ in range(int(spec["connections"]))]
    for stage, size in (("open", SMALL_BYTES), ("sent", LARGE_BYTES)):
        frame = produce_request(topic, 0, batch([bytes(size)]))
        for connection in connections:
            connection.sendall(frame)
            error = produce_error(topic, read_frame(connection, buffer))
            if error:
                raise BrokerRefused(f"the broker answered a produce request with error {error}")
        print(stage, flush=True)
        sys.stdin.readline()


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
    print(json.dumps({}))
