"""Fetches a partition from its start over one connection, looking at batch headers only."""

from __future__ import annotations

import json
import sys
from typing import Any

from benchmarks.clients.connection import BrokerRefused, connect, read_frame
from benchmarks.clients.stopwatch import Stopwatch
from benchmarks.frames import fetch_request, fetched, next_offset

MAX_BYTES = 8 * 1024 * 1024
BUFFER_BYTES = MAX_BYTES + 2 * 1024 * 1024


def main(spec: dict[str, Any]) -> dict[str, float]:
    """Measures from the first request to the last record."""
    topic, wanted = spec["topic"], int(spec["records"])
    buffer = memoryview(bytearray(BUFFER_BYTES))
    offset = total_bytes = 0
    with connect(spec["bootstrap"]) as connection, Stopwatch() as watch:
        while offset < wanted:
            connection.sendall(fetch_request(topic, 0, offset, MAX_BYTES))
            reply = read_frame(connection, buffer)
            error, position, size = fetched(topic, reply)
            if error:
                raise BrokerRefused(f"the broker answered a fetch with error {error}")
            offset = next_offset(reply[position : position + size], offset)
            total_bytes += size
    return {"bytes": total_bytes, "seconds": watch.seconds, "busy": watch.busy}


if __name__ == "__main__":
    print(json.dumps(main(json.loads(sys.argv[1]))))
