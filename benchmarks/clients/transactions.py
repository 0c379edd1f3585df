"""One transactional producer that commits as often as it can."""

from __future__ import annotations

import json
import sys
import time
import uuid
from typing import Any

from confluent_kafka import Producer

from benchmarks.clients.stopwatch import Stopwatch
from benchmarks.payloads import sample_values

TIMEOUT_SECONDS = 60.0
WARM_UP = 20


def main(spec: dict[str, Any]) -> dict[str, float]:
    """Commits some transactions that do not count, then counts for some seconds."""
    producer = Producer(
        {
            "bootstrap.servers": spec["bootstrap"],
            "transactional.id": f"bench-{uuid.uuid4()}",
            "linger.ms": 0,
        }
    )
    producer.init_transactions(TIMEOUT_SECONDS)
    values = sample_values(int(spec["records"]), int(spec["value_size"]))

    def commit_one() -> None:
        producer.begin_transaction()
        for value in values:
            producer.produce(spec["topic"], value)
        producer.commit_transaction(TIMEOUT_SECONDS)

    for _ in range(WARM_UP):
        commit_one()
    done, deadline = 0, time.perf_counter() + spec["seconds"]
    with Stopwatch() as watch:
        while time.perf_counter() < deadline:
            commit_one()
            done += 1
    return {"transactions": done, "seconds": watch.seconds, "busy": watch.busy}


if __name__ == "__main__":
    print(json.dumps(main(json.loads(sys.argv[1]))))
