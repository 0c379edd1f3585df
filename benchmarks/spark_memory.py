"""How much memory Spark's Python workers take on a topic far larger than they are.

python -m benchmarks.spark_memory                     10 GB, read and then copied
python -m benchmarks.spark_memory --gigabytes 1 read  less, and only read

It fails if a worker takes more than 512 MB, or goes on growing in the last quarter of the work.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import threading
import time
from contextlib import suppress
from pathlib import Path

from benchmarks.clients import run_client
from benchmarks.processes import tree
from benchmarks.scenarios.spark import PARTITIONS, run
from benchmarks.spark import SparkOttla
from benchmarks.topics import create_topic

WORK = {"read": "drain", "copy": "copy"}
RECORD_BYTES = 1000
SLICE_RECORDS = 1_000_000
MOST_MB = 512.0
MOST_GROWTH = 1.1
LOOK_SECONDS = 0.2


class Watch:
    """The largest Python worker below a process, moment by moment, until it is closed."""

    def __init__(self, pid: int) -> None:
        self.largest_mb: list[float] = []
        self._pid = pid
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()

    def close(self) -> tuple[float, float]:
        """The most that a worker took until three quarters of the time were over, and in the last."""
        self._ended.set()
        self._thread.join()
        last = len(self.largest_mb) * 3 // 4
        return max(self.largest_mb[:last], default=0), max(self.largest_mb[last:], default=0)

    def _look(self) -> None:
        while not self._ended.wait(LOOK_SECONDS):
            self.largest_mb.append(max(map(worker_mb, tree(self._pid)), default=0.0))


def worker_mb(pid: int) -> float:
    """Resident memory of a Python worker, 0 for any other process."""
    with suppress(OSError):
        if b"pyspark.daemon" in Path(f"/proc/{pid}/cmdline").read_bytes():
            pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
            return pages * 4096 / 1e6
    return 0.0


def fill(bootstrap: str, gigabytes: float) -> str:
    """A topic of 1 KB records, written a gigabyte at a time."""
    topic, left = create_topic(bootstrap, PARTITIONS), int(gigabytes * 1e9 / RECORD_BYTES)
    while left > 0:
        records = min(left, SLICE_RECORDS)
        spec = {
            "bootstrap": bootstrap,
            "topic": topic,
            "partitions": PARTITIONS,
            "records": records,
            "value_size": RECORD_BYTES,
            "keyed": True,
            "config": {"batch.size": 1_000_000, "linger.ms": 5},
        }
        run_client("produce", spec)
        left -= records
    return topic


def measure(spark: SparkOttla, topic: str, what: str) -> bool:
    """Do the work, say what it took, and whether that is within bounds."""
    options = {"kafka.bootstrap.servers": spark.bootstrap, "subscribe": topic}
    watch, began = Watch(spark.spark.pid), time.monotonic()
    try:
        run(spark, spark, WORK[what], options)
    finally:
        before, last = watch.close()
    seconds = time.monotonic() - began
    print(
        f"{what}: {seconds:.0f} s, largest worker {before:.0f} MB, and {last:.0f} MB in the last quarter",
        flush=True,
    )
    return max(before, last) <= MOST_MB and last <= before * MOST_GROWTH


def main() -> int:
    """Fill a topic, work on it, and judge."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("what", nargs="*", choices=[*WORK, []], help="read, copy (default: both)")
    parser.add_argument("--gigabytes", type=float, default=10.0, help="(default: 10)")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="ottla-spark-memory-") as directory:
        spark = SparkOttla(Path(directory))
        spark.prepare()
        spark.start()
        try:
            topic = fill(spark.bootstrap, arguments.gigabytes)
            kept = [measure(spark, topic, what) for what in arguments.what or WORK]
        finally:
            spark.stop()
    return 0 if all(kept) else 1


if __name__ == "__main__":
    sys.exit(main())
