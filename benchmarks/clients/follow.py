"""Follows a partition and prints how old each stamped record was when it arrived."""

from __future__ import annotations

import json
import sys
import time
from typing import Any

from benchmarks.clients.paced import STAMP
from benchmarks.librdkafka import PartitionReader, on_message

GIVE_UP_SECONDS = 60.0


def main(spec: dict[str, Any]) -> dict[str, list[float]]:
    """Says `ready`, then reads until all expected records have come."""
    warm_up, ages_ms = int(spec["warm_up"]), list[float]()
    wanted = warm_up + int(spec["records"])

    def take(value: bytes) -> None:
        ages_ms.append((time.monotonic_ns() - STAMP.unpack_from(value)[0]) / 1e6)

    callback = on_message(take)
    with PartitionReader(spec["topic"], 0, {"bootstrap.servers": spec["bootstrap"]}) as reader:
        print("ready", flush=True)
        deadline = time.monotonic() + GIVE_UP_SECONDS
        while len(ages_ms) < wanted and time.monotonic() < deadline:
            reader.handle(callback)
    if len(ages_ms) < wanted:
        raise TimeoutError(f"only {len(ages_ms)} of {wanted} records arrived")
    return {"end_to_end_ms": ages_ms[warm_up:]}


if __name__ == "__main__":
    print(json.dumps(main(json.loads(sys.argv[1]))))
