"""The two brokers that are compared, behind one interface; `clusters` has three of each."""

from __future__ import annotations

import subprocess
import sys
import time
from abc import ABC, abstractmethod
from pathlib import Path

from benchmarks.processes import cpu_seconds, memory_mb
from tools.apache_kafka import ApacheKafka, free_ports, jars
from tools.probe import NotServing, wait_until_serving

SETTINGS = {
    # so that the coordinator is measured and not the time it is told to wait
    "group.initial.rebalance.delay.ms": "0",
    # so that a compaction begins when the benchmark wants it
    "log.cleaner.backoff.ms": "1000",
    # so that the data of one run is gone before the next
    "log.segment.delete.delay.ms": "100",
}
DELETED_WITHIN_SECONDS = 30.0


class Contestant(ABC):
    """A broker, or several that make one cluster: it can be started, measured and stopped."""

    name: str
    replication_factor = 1
    deleted_topics = "*/*-delete"
    """Where the files of deleted topics are until they are removed."""

    def __init__(self, data_dir: Path) -> None:
        self.data_dir = data_dir
        self.startup_seconds = 0.0

    @property
    @abstractmethod
    def pids(self) -> list[int]:
        """The process ids of the running brokers."""

    @property
    @abstractmethod
    def bootstrap(self) -> str:
        """HOST:PORT, as clients take it."""

    @abstractmethod
    def prepare(self) -> None:
        """Does what must happen once, before the first start."""

    @abstractmethod
    def launch(self) -> None:
        """Starts the process and returns when it serves."""

    @abstractmethod
    def stop(self) -> None:
        """Stops the process cleanly."""

    def start(self) -> None:
        """Prepares and launches the broker, and keeps how long the launch took."""
        self.data_dir.mkdir(parents=True, exist_ok=True)
        self.prepare()
        begin = time.monotonic()
        self.launch()
        self.startup_seconds = time.monotonic() - begin

    def cpu_seconds(self) -> float:
        """CPU time the brokers have used so far."""
        return sum(map(cpu_seconds, self.pids))

    def memory_mb(self) -> float:
        """Memory the brokers hold now."""
        return sum(map(memory_mb, self.pids))

    def wait_until_deleted(self) -> None:
        """Returns when the files of all deleted topics are gone."""
        deadline = time.monotonic() + DELETED_WITHIN_SECONDS
        while next(self.data_dir.glob(self.deleted_topics), None) is not None:
            if time.monotonic() > deadline:
                raise TimeoutError(f"{self.name} keeps the files of deleted topics")
            time.sleep(0.05)

    def partition_dir(self, topic: str, partition: int = 0) -> Path:
        """Where the broker keeps one partition: both use Kafka's names for directories."""
        return next(self.data_dir.rglob(f"{topic}-{partition}"))


class Kafka(Contestant):
    """Apache Kafka with the heap of its own start script."""

    name = "kafka"

    def __init__(self, data_dir: Path) -> None:
        super().__init__(data_dir)
        jars()
        self._broker = ApacheKafka(data_dir, properties=SETTINGS)

    @property
    def pids(self) -> list[int]:
        """The process id of the JVM."""
        return [self._broker.pid]

    @property
    def bootstrap(self) -> str:
        """HOST:PORT, as clients take it."""
        return self._broker.bootstrap

    def prepare(self) -> None:
        """Formats the storage."""
        self._broker.format()

    def launch(self) -> None:
        """Starts the JVM and returns when it serves."""
        self._broker.start()

    def stop(self) -> None:
        """Stops the JVM cleanly."""
        self._broker.stop()


class Ottla(Contestant):
    """`ottla broker`, as an operator starts it."""

    name = "ottla"
    program = Path(sys.executable).with_name("ottla")

    def __init__(self, data_dir: Path) -> None:
        super().__init__(data_dir)
        self._port = free_ports(1)[0]
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pids(self) -> list[int]:
        """The process id of the broker."""
        if self._process is None:
            raise RuntimeError("ottla is not running")
        return [self._process.pid]

    @property
    def bootstrap(self) -> str:
        """HOST:PORT, as clients take it."""
        return f"127.0.0.1:{self._port}"

    def prepare(self) -> None:
        """Nothing: ottla makes what it needs at its first start."""

    def launch(self) -> None:
        """Starts the broker and returns when it serves."""
        command = [str(self.program), "broker", "--port", str(self._port)]
        command += ["--data-dir", str(self.data_dir / "data")]
        for name, value in SETTINGS.items():
            command += ["--set", f"{name}={value}"]
        output_file = self.data_dir / "broker.log"
        with output_file.open("ab") as output:
            self._process = process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT
            )
        try:
            wait_until_serving("127.0.0.1", self._port, alive=lambda: process.poll() is None)
        except NotServing as error:
            self.stop()
            log = "\n".join(output_file.read_text(errors="replace").splitlines()[-20:])
            raise NotServing(f"{error}:\n{log}") from error

    def stop(self) -> None:
        """Stops the broker cleanly."""
        process, self._process = self._process, None
        if process is None:
            return
        process.terminate()
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


CONTESTANTS: dict[str, type[Kafka] | type[Ottla]] = {"ottla": Ottla, "kafka": Kafka}
