"""Runs a whole cluster on this machine: a ZooKeeper ensemble and brokers, each a process of its own.

Ctrl-C in a terminal reaches every process of it at once, so the children get sessions of their own: this process alone
decides in which order they end. Brokers stop one after the other, so that each can hand over what it leads.
"""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from ottla.base.errors import OttlaError
from ottla.client.connection import Connection
from ottla.client.errors import ClientError
from ottla.node.ensemble import LocalEnsemble
from ottla.protocol.apis.describe_cluster import DescribeClusterRequest

_READY: Final = "ready on "
_METRICS: Final = "metrics on "
_POLL_S: Final = 0.02
_START_TIMEOUT_S: Final = 60.0
_STOP_TIMEOUT_S: Final = 30.0
_LOG_TAIL_LINES: Final = 20


class ClusterFailed(OttlaError):
    """A broker of the cluster did not start."""


@dataclass(slots=True)
class LocalBroker:
    """One broker process; what it says goes to a file beside its data."""

    number: int
    directory: Path
    port: int
    bootstrap: str = ""
    metrics: str = ""
    settings: dict[str, str] = field(default_factory=dict, repr=False)
    process: subprocess.Popen[bytes] | None = field(default=None, repr=False)

    @property
    def log_file(self) -> Path:
        """Where its output goes."""
        return self.directory.with_suffix(".log")

    @property
    def running(self) -> bool:
        """Whether the process is alive."""
        return self.process is not None and self.process.poll() is None

    @property
    def pid(self) -> int | None:
        """The id of the process that was started last."""
        return None if self.process is None else self.process.pid

    @property
    def arguments(self) -> list[str]:
        """What `ottla` is told so that this broker runs, on its port once it has one."""
        port = self.bootstrap.rpartition(":")[2] or str(self.port)
        sets = [part for pair in self.settings.items() for part in ("--set", "=".join(pair))]
        where = ["--port", port, "--data-dir", str(self.directory.absolute())]
        return ["broker", *where, *sets]

    def launch(self, settings: Mapping[str, str]) -> None:
        """Start the process, without waiting until it serves."""
        self.directory.mkdir(parents=True, exist_ok=True)
        self.settings = dict(settings)
        with self.log_file.open("wb") as output:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "ottla", *self.arguments],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )

    def wait_until_ready(self, timeout_s: float = _START_TIMEOUT_S) -> None:
        """Return when it serves; ClusterFailed with its last words if it does not."""
        deadline = time.monotonic() + timeout_s
        while True:
            alive = self.running
            lines = self.log_file.read_text(errors="replace").splitlines()
            ready = [line for line in lines if line.startswith("ottla broker") and _READY in line]
            if ready:
                self.bootstrap = ready[-1].rpartition(_READY)[2]
                self.metrics = next((line for line in lines if line.startswith(_METRICS)), "")
                return
            if not alive or time.monotonic() > deadline:
                why = "is not ready" if alive else "ended"
                tail = "\n".join(lines[-_LOG_TAIL_LINES:])
                raise ClusterFailed(f"broker {self.number} {why}; it said:\n{tail}")
            time.sleep(_POLL_S)

    def stop(self) -> None:
        """SIGTERM, and SIGKILL if that does not end it in time."""
        if self.process is None:
            return
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(_STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


async def _known_by(bootstrap: str) -> int:
    """How many brokers the one at this address knows; none while it does not answer."""
    host, _, port = bootstrap.rpartition(":")
    try:
        connection = await Connection.open(host, int(port))
        try:
            return len((await connection.ask(DescribeClusterRequest())).brokers)
        finally:
            await connection.close()
    except ClientError:
        return 0


class LocalCluster:
    """Brokers 1 to N around an ensemble; the data stay in the directory."""

    def __init__(
        self,
        directory: Path,
        brokers: int,
        zookeepers: int,
        *,
        first_port: int,
        settings: Mapping[str, str],
    ) -> None:
        self.ensemble = LocalEnsemble(directory, zookeepers)
        self.brokers = [
            LocalBroker(number, directory / f"broker-{number}", first_port and first_port + offset)
            for offset, number in enumerate(range(1, brokers + 1))
        ]
        self._settings = dict(settings)

    @property
    def bootstrap(self) -> str:
        """All brokers, as clients take them."""
        return ",".join(broker.bootstrap for broker in self.brokers)

    def start(self, tell: Callable[[str], object]) -> None:
        """Start the ensemble, then all brokers; `tell` hears of each that serves."""
        self.ensemble.start(
            on_ready=lambda server: tell(f"ZooKeeper {server.number} on {server.address}")
        )
        for broker in self.brokers:
            self.launch(broker)
        for broker in self.brokers:
            broker.wait_until_ready()
            tell(f"broker {broker.number} on {broker.bootstrap}")
        self._wait_until_all_know_all()

    def _wait_until_all_know_all(self) -> None:
        """A broker serves before the others have heard of it, and a topic may want a replica on each."""
        deadline = time.monotonic() + _START_TIMEOUT_S
        while asyncio.run(self._fewest_known()) < len(self.brokers):
            if time.monotonic() > deadline:
                raise ClusterFailed(
                    f"the brokers do not find one another within {_START_TIMEOUT_S:g} s"
                )
            time.sleep(_POLL_S)

    async def _fewest_known(self) -> int:
        return min([await _known_by(broker.bootstrap) for broker in self.brokers])

    def launch(self, broker: LocalBroker) -> None:
        """Start one broker, for the first time or again, without waiting until it serves."""
        joining = {"zookeeper.connect": self.ensemble.connect, "broker.id": str(broker.number)}
        broker.launch({**self._settings, **joining})

    def ended(self) -> Sequence[LocalBroker]:
        """Brokers that have ended although nobody told them to."""
        return [broker for broker in self.brokers if broker.process and not broker.running]

    def stop(self, tell: Callable[[str], object]) -> None:
        """Stop the brokers one after the other, then the ensemble."""
        for broker in self.brokers:
            if broker.running:
                broker.stop()
                tell(f"broker {broker.number} stopped")
        self.ensemble.stop()
