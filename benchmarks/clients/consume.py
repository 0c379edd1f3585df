"""Reads a number of records from the start of a partition with librdkafka."""

from __future__ import annotations

import json
import sys
from contextlib import ExitStack
from typing import Any

from benchmarks.clients.stopwatch import Stopwatch
from benchmarks.librdkafka import PartitionReader

CONFIG = {
    "fetch.message.max.bytes": 4 * 1024 * 1024,
    "queued.min.messages": 1_000_000,
    "queued.max.messages.kbytes": 128 * 1024,
}


def main(spec: dict[str, Any]) -> dict[str, float]:
    """Measures from the connection to the last record."""
    wanted, taken = int(spec["records"]), 0
    config = {"bootstrap.servers": spec["bootstrap"], **CONFIG}
    with ExitStack() as until_measured, Stopwatch() as watch:
        reader = until_measured.enter_context(PartitionReader(spec["topic"], 0, config))
        while taken < wanted:
            taken += reader.discard()
    return {"records": taken, "seconds": watch.seconds, "busy": watch.busy}


if __name__ == "__main__":
    print(json.dumps(main(json.loads(sys.argv[1]))))
