"""`ottla spark package` on a standalone cluster of Spark, whose worker has a bare Python and no ottla."""

import os
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.support.broker import OTTLA
from tests.support.clients import consume, create_topic, produce
from tests.support.requirements import requires
from tests.support.waiting import wait_for
from tools.apache_kafka import free_ports
from tools.java import SHORT_LIVED

pytestmark = pytest.mark.java

BARE_PYTHON = getattr(sys, "_base_executable", sys.executable)
JVM = " ".join(SHORT_LIVED)
RECORDS = 5000
JOB = """
import sys
from pyspark.sql import SparkSession

def where(_):
    import ottla
    yield ottla.__file__

spark = SparkSession.builder.getOrCreate()
_, bootstrap, topic, target = sys.argv
cluster = {"kafka.bootstrap.servers": bootstrap}
frame = spark.read.format("ottla").options(**cluster, subscribe=topic).load()
frame.select("key", "value").write.format("ottla").options(**cluster, topic=target).mode("append").save()
print("ottla of the worker:", *spark.sparkContext.parallelize([1], 1).mapPartitions(where).collect())
"""


def spark_home() -> Path:
    found = find_spec("pyspark")
    assert found is not None
    assert found.origin is not None
    return Path(found.origin).parent


def bare_environment(**more: str) -> dict[str, str]:
    """Nothing that would let a Python find the packages of this one."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "JAVA_HOME") if name in os.environ}
    named = {"SPARK_HOME": str(spark_home()), "PYSPARK_PYTHON": BARE_PYTHON}
    named |= {"SPARK_DAEMON_MEMORY": "256m", "SPARK_DAEMON_JAVA_OPTS": JVM}
    return {**kept, **named, "SPARK_LOCAL_IP": "127.0.0.1", **more}


@pytest.fixture
def master(tmp_path: Path) -> Iterator[str]:
    """The address of a master with one worker."""
    requires("java")
    port, *web = free_ports(3)
    address = f"spark://127.0.0.1:{port}"
    host = ["--host", "127.0.0.1", "--webui-port"]
    parts = {
        "master.Master": [*host, str(web[0]), "--port", str(port)],
        "worker.Worker": [
            *host,
            str(web[1]),
            "--work-dir",
            str(tmp_path / "work"),
            "-c",
            "1",
            address,
        ],
    }
    log, running = tmp_path / "cluster.log", []
    with log.open("ab") as output:
        for name, words in parts.items():
            command = [str(spark_home() / "bin" / "spark-class"), f"org.apache.spark.deploy.{name}"]
            running.append(
                subprocess.Popen(
                    [*command, *words],
                    env=bare_environment(),
                    cwd=tmp_path,
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=output,
                )
            )
    try:
        wait_for(lambda: "Successfully registered with master" in log.read_text(), "the worker", 60)
        yield address
    finally:
        for process in reversed(running):
            process.terminate()
            process.wait(20)


def package(to: Path) -> list[str]:
    """The options that the command says to submit with."""
    done = subprocess.run(
        [str(OTTLA), "spark", "package", "--to", str(to)],
        capture_output=True,
        text=True,
        timeout=240,
        check=True,
    )
    first, *options, last = done.stdout.splitlines()[-1].split()
    assert (first, last) == ("spark-submit", "JOB.py")
    return options


@pytest.mark.timeout(300)
def test_a_worker_without_ottla_reads_and_writes(
    master: str, bootstrap: str, tmp_path: Path
) -> None:
    topic, target = create_topic(bootstrap, partitions=3), create_topic(bootstrap)
    produce(bootstrap, topic, [b"%d" % n for n in range(RECORDS)])
    options = package(tmp_path / "ottla-spark.tar.gz")
    (tmp_path / "job.py").write_text(JOB)
    # The driver is at home: it has the packages that are installed here.
    at_home = os.pathsep.join(path for path in sys.path if path)
    done = subprocess.run(
        [
            str(spark_home() / "bin" / "spark-submit"),
            *("--master", master, "--conf", "spark.driver.host=127.0.0.1", *options),
            *("--driver-java-options", JVM, "--conf", f"spark.executor.extraJavaOptions={JVM}"),
            *("--conf", "spark.ui.enabled=false", "--executor-memory", "512m"),
            *(str(tmp_path / "job.py"), bootstrap, topic, target),
        ],
        env=bare_environment(PYTHONPATH=at_home),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=400,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    where = done.stdout.partition("ottla of the worker: ")[2]
    assert where.startswith(str(tmp_path / "work")), where
    assert {m.value() for m in consume(bootstrap, target)} == {b"%d" % n for n in range(RECORDS)}
