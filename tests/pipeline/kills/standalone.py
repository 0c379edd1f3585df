"""A standalone cluster of Spark with two hosts: only on another host does Spark let a slow task run a second time."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.pipeline.kills.application import JVM
from tests.pipeline.kills.driver import kill_session, workers_environment
from tests.support.waiting import wait_for
from tools.apache_kafka import free_ports

HOSTS = ("127.0.0.2", "127.0.0.3")
CORES = 6
STARTED_WITHIN_S = 60.0


@dataclass(frozen=True)
class SparkCluster:
    """Where an application finds its executors, and the sessions of processes they belong to."""

    master: str
    sessions: Sequence[int] = ()

    @property
    def speculates(self) -> bool:
        """Whether a slow task is run a second time: that takes hosts beside each other."""
        return bool(self.sessions)


@contextmanager
def standalone(directory: Path, steps: Path, patience: float) -> Iterator[SparkCluster]:
    """A master and two workers."""
    port, *web = free_ports(2 + len(HOSTS))
    master = f"spark://127.0.0.1:{port}"
    parts = [["master.Master", "--host", "127.0.0.1", "--port", str(port)]]
    for host in HOSTS:
        work = str(directory / f"work-{host}")
        parts.append(
            ["worker.Worker", "--host", host, "-c", str(CORES), "-m", "4g", "-d", work, master]
        )
    log, running = directory / "cluster.log", []
    try:
        for (name, *words), web_port in zip(parts, web, strict=True):
            running.append(_started(name, [*words, "--webui-port", str(web_port)], steps, log))
        wait_for(
            lambda: log.read_text().count("Successfully registered with master") == len(HOSTS),
            "the workers of Spark",
            STARTED_WITHIN_S * patience,
        )
        yield SparkCluster(master, [process.pid for process in running])
    finally:
        for process in reversed(running):
            kill_session(process.pid)
            process.wait(10)


def _started(name: str, words: list[str], steps: Path, log_file: Path) -> subprocess.Popen[bytes]:
    never_give_up = "-Dspark.deploy.maxExecutorRetries=-1"
    environment = {
        **workers_environment(steps),
        "SPARK_DAEMON_MEMORY": "256m",
        "SPARK_DAEMON_JAVA_OPTS": f"{never_give_up} {JVM}",
    }
    with log_file.open("ab") as log:
        return subprocess.Popen(
            [
                f"{environment['SPARK_HOME']}/bin/spark-class",
                f"org.apache.spark.deploy.{name}",
                *words,
            ],
            env={**os.environ, **environment},
            cwd=log_file.parent,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
