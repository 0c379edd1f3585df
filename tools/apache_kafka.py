"""Brings Apache Kafka from Maven Central and runs its broker and its tools beside ottla."""

from __future__ import annotations

import signal
import socket
import subprocess
import uuid
from base64 import urlsafe_b64encode
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType

from tools.java import SHORT_LIVED
from tools.maven import JarsUnavailable, fetched
from tools.probe import NotServing, wait_until_serving

VERSION = "4.3.0"
REPOSITORY = Path(__file__).resolve().parent.parent
POM = REPOSITORY / "tools" / "kafka" / "pom.xml"
LOG4J = REPOSITORY / "tools" / "kafka" / "log4j2.properties"
CACHE = REPOSITORY / ".cache" / f"kafka-{VERSION}"

# What Kafka's own start scripts pass (bin/kafka-run-class.sh).
JVM_OPTIONS = (
    "-server",
    "-XX:+UseG1GC",
    "-XX:MaxGCPauseMillis=20",
    "-XX:InitiatingHeapOccupancyPercent=35",
    "-XX:+ExplicitGCInvokesConcurrent",
    "-XX:MaxInlineLevel=15",
    "-Djava.awt.headless=true",
)
TOOL_JVM_OPTIONS = ("-Xmx256m", *SHORT_LIVED)


def jars() -> Path:
    """The directory of Kafka's jars, fetched through Maven the first time."""
    return fetched(POM, CACHE)


def java_command(jvm_options: Sequence[str], class_name: str, args: Sequence[str]) -> list[str]:
    """The command line that runs one class out of Kafka's jars."""
    logging = f"-Dlog4j2.configurationFile={LOG4J}"
    return ["java", *jvm_options, logging, "-cp", f"{jars()}/*", class_name, *args]


def run_tool(
    class_name: str, args: Sequence[str], input: str | None = None, timeout: float = 60.0
) -> subprocess.CompletedProcess[str]:
    """Runs one of Kafka's command-line tools to its end and returns what it printed."""
    return subprocess.run(
        java_command(TOOL_JVM_OPTIONS, class_name, args),
        input=input,
        stdin=subprocess.DEVNULL if input is None else None,
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )


def free_ports(count: int) -> list[int]:
    """Distinct ports that nothing listens on at this moment."""
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]


def new_cluster_id() -> str:
    """A name for a cluster, as Kafka makes them."""
    return urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")


@dataclass(frozen=True)
class Quorum:
    """The brokers of one cluster, all of them voters: their controllers' ports by node id."""

    ports: Mapping[int, int]
    cluster_id: str = field(default_factory=new_cluster_id)

    @property
    def voters(self) -> str:
        """As controller.quorum.voters takes them."""
        return ",".join(f"{node}@127.0.0.1:{port}" for node, port in self.ports.items())


class ApacheKafka:
    """One Apache Kafka broker in KRaft combined mode, alive as long as its context.

    `scram` names logins as kafka-storage takes them: SCRAM-SHA-256=[name=ann,password=secret].
    """

    def __init__(
        self,
        data_dir: Path | str,
        port: int = 0,
        heap_mb: int = 1024,
        properties: Mapping[str, str] | None = None,
        scram: Sequence[str] = (),
        node_id: int = 1,
        quorum: Quorum | None = None,
        jvm_options: Sequence[str] = JVM_OPTIONS,
    ) -> None:
        self.data_dir = Path(data_dir)
        self.heap_mb = heap_mb
        self._jvm_options = jvm_options
        self.node_id = node_id
        broker_port, controller_port = free_ports(2)
        self.port = port or broker_port
        self._quorum = quorum or Quorum({node_id: controller_port})
        self._extra_properties = dict(properties or {})
        self._scram = scram
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def bootstrap(self) -> str:
        """The address to give to clients."""
        return f"127.0.0.1:{self.port}"

    @property
    def pid(self) -> int:
        """The process id of the running broker."""
        if self._process is None:
            raise RuntimeError("Apache Kafka is not running")
        return self._process.pid

    def __enter__(self) -> ApacheKafka:
        self.format()
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def format(self) -> None:
        """Writes the settings and, unless done before, formats the storage."""
        log_dir = self.data_dir / "logs"
        log_dir.mkdir(parents=True, exist_ok=True)
        lines = [f"{name}={value}\n" for name, value in self._properties(log_dir).items()]
        self._settings_file.write_text("".join(lines))
        if (log_dir / "meta.properties").exists():
            return
        cluster_id = self._quorum.cluster_id
        args = ["format", f"--cluster-id={cluster_id}", "--config", str(self._settings_file)]
        args += [word for login in self._scram for word in ("--add-scram", login)]
        done = run_tool("kafka.tools.StorageTool", args)
        if done.returncode != 0:
            raise JarsUnavailable(f"formatting the storage failed:\n{done.stdout}{done.stderr}")

    def start(self, timeout_seconds: float = 90.0) -> None:
        """Starts the broker and returns when it answers."""
        self.launch()
        self.wait_until_serving(timeout_seconds)

    def launch(self) -> None:
        """Starts the broker, without waiting: of a cluster, none answers before most have started."""
        heap = (f"-Xmx{self.heap_mb}m", f"-Xms{self.heap_mb}m")
        command = java_command(
            (*heap, *self._jvm_options), "kafka.Kafka", [str(self._settings_file)]
        )
        with self._output_file.open("ab") as output:
            self._process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT
            )

    def wait_until_serving(self, timeout_seconds: float = 90.0) -> None:
        """Returns when the broker answers; one that does not is stopped."""
        try:
            wait_until_serving("127.0.0.1", self.port, timeout_seconds, alive=self._is_alive)
        except BaseException as error:
            self.stop()
            if isinstance(error, NotServing):
                raise NotServing(f"{error}:\n{self._last_output()}") from error
            raise

    def stop(self, timeout_seconds: float = 30.0) -> None:
        """Asks the broker to end, and ends it if it does not."""
        process, self._process = self._process, None
        if process is None:
            return
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(timeout_seconds)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def kill(self) -> None:
        """SIGKILL, as a crash would."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()

    def _is_alive(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def _settings_file(self) -> Path:
        return self.data_dir / "server.properties"

    @property
    def _output_file(self) -> Path:
        return self.data_dir / "server.log"

    def _last_output(self) -> str:
        return "\n".join(self._output_file.read_text(errors="replace").splitlines()[-20:])

    def _properties(self, log_dir: Path) -> dict[str, str]:
        return {
            "process.roles": "broker,controller",
            "node.id": str(self.node_id),
            "listeners": f"PLAINTEXT://{self.bootstrap},"
            f"CONTROLLER://127.0.0.1:{self._quorum.ports[self.node_id]}",
            "controller.listener.names": "CONTROLLER",
            "controller.quorum.voters": self._quorum.voters,
            "log.dirs": str(log_dir),
            # one broker cannot hold the three replicas that are the default
            "offsets.topic.replication.factor": "1",
            "transaction.state.log.replication.factor": "1",
            "transaction.state.log.min.isr": "1",
            "share.coordinator.state.topic.replication.factor": "1",
            "share.coordinator.state.topic.min.isr": "1",
            "group.initial.rebalance.delay.ms": "0",
            **self._extra_properties,
        }
