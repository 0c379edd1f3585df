"""Where a cluster runs: plain processes on this machine; other sites have networks, disks and clocks that fail."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from types import TracebackType
from typing import ClassVar, Final, Self

from ottla.node.ensemble import LocalEnsemble
from tests.support.broker import OttlaBroker
from tests.support.requirements import requires
from tests.support.zookeeper import ensemble

BROKERS: Final = (1, 2, 3)
SESSION_S: Final = 6.0
LAG_S: Final = 8.0
SETTINGS: Final = {
    "zookeeper.session.timeout.ms": f"{SESSION_S * 1000:.0f}",
    "replica.lag.time.max.ms": f"{LAG_S * 1000:.0f}",
    "replica.socket.timeout.ms": "5000",
    "default.replication.factor": "3",
    "offsets.topic.replication.factor": "3",
    "transaction.state.log.replication.factor": "3",
    "min.insync.replicas": "2",
    "unclean.leader.election.enable": "false",
    "group.initial.rebalance.delay.ms": "0",
    "group.min.session.timeout.ms": "500",
    "offsets.topic.num.partitions": "3",
    "transaction.state.log.num.partitions": "3",
    "log.cleaner.backoff.ms": "500",
}


class Site:
    """Three brokers and a ZooKeeper on this machine; everything is gone when the context ends, except for files."""

    NEEDS: ClassVar[tuple[str, ...]] = ("java",)

    def __init__(self, directory: Path, zookeepers: int = 1) -> None:
        self.directory = directory
        self.zookeepers = zookeepers
        self.brokers: dict[int, OttlaBroker] = {}
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        requires(*self.NEEDS)
        self.directory.mkdir(parents=True, exist_ok=True)
        with ExitStack() as stack:
            self.prepare(stack)
            self.ensemble = stack.enter_context(self.make_ensemble())
            for number in BROKERS:
                self.brokers[number] = self.make_broker(number, self.settings(number))
                stack.callback(self.brokers[number].kill)
            with ThreadPoolExecutor() as together:
                list(together.map(OttlaBroker.start, self.brokers.values()))
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._stack.close()

    @property
    def connect(self) -> str:
        """What brokers take as zookeeper.connect."""
        return f"{self.ensemble.connect}/faults"

    @property
    def bootstrap(self) -> str:
        """All brokers."""
        return ",".join(each.bootstrap for each in self.brokers.values())

    def settings(self, number: int) -> dict[str, str]:
        """The settings of one broker."""
        own = {
            "zookeeper.connect": self.connect,
            "broker.id": str(number),
            "broker.rack": f"rack-{number}",
        }
        return {**SETTINGS, **own}

    def data_dir(self, number: int) -> Path:
        """Where a broker keeps its logs."""
        return self.directory / f"broker-{number}"

    def log_file(self, number: int) -> Path:
        """Where a broker says what it does."""
        return self.directory / f"broker-{number}.log"

    def prepare(self, stack: ExitStack) -> None:
        """Set up what the processes need; the stack takes it down again."""

    def make_ensemble(self) -> AbstractContextManager[LocalEnsemble]:
        """The ZooKeeper of the cluster."""
        return ensemble(self.directory / "zookeeper", self.zookeepers)

    def make_broker(self, number: int, settings: dict[str, str]) -> OttlaBroker:
        """One broker, not started yet."""
        return OttlaBroker(self.data_dir(number), settings, self.log_file(number))
