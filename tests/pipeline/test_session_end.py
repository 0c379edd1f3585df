"""A program that works with Spark and ends prints its own words: no traceback of Python, no stack trace of Java."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.clients import create_topic, produce
from tests.support.waiting import wait_for

pytestmark = pytest.mark.java

PROGRAM = """
import sys
from ottla.pipeline import session

bootstrap, topic, checkpoint = sys.argv[1:]
spark = session(master="local[2]", settings={"spark.ui.enabled": "false", "spark.driver.host": "127.0.0.1"})
options = {"kafka.bootstrap.servers": bootstrap, "subscribe": topic, "startingOffsets": "earliest"}
print(spark.read.format("ottla").options(**options).load().count(), flush=True)

writer = spark.readStream.format("ottla").options(**options).load().writeStream.format("noop")
stopped = writer.option("checkpointLocation", checkpoint + "/stopped").start()
stopped.processAllAvailable()
stopped.stop()

running = writer.option("checkpointLocation", checkpoint + "/running").start()
running.processAllAvailable()
print("waiting", flush=True)
try:
    running.awaitTermination()
except KeyboardInterrupt:
    print("interrupted")
"""


def test_nothing_is_printed_of_workers_queries_and_interrupts(
    bootstrap: str, tmp_path: Path
) -> None:
    topic = create_topic(bootstrap, partitions=2)
    produce(bootstrap, topic, [{"value": b"%d" % n, "partition": n % 2} for n in range(10)])
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM, bootstrap, topic, str(tmp_path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as program:
        assert program.stdout is not None
        assert [program.stdout.readline().strip() for _ in range(2)] == ["10", "waiting"]
        # As a terminal does it: to the program, the JVM, and the workers.
        os.killpg(program.pid, signal.SIGINT)
        printed, complaints = program.communicate(timeout=60)
    assert (printed.split(), program.returncode) == (["interrupted"], 0), complaints
    assert not re.search(r"Traceback|Exception|^\s+at |ERROR", complaints, re.MULTILINE), complaints
    wait_for(lambda: not processes_of(program.pid), "every process to end", 20.0)


def processes_of(session: int) -> list[str]:
    """The processes of a terminal session that still run."""
    columns = ["ps", "-o", "state=,args=", "-s", str(session)]
    lines = subprocess.run(columns, capture_output=True, text=True, check=False).stdout.splitlines()
    return [line for line in lines if not line.startswith("Z")]
