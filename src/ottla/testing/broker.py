"""A real broker in a process of its own, for as long as a test needs it.

with Broker(num_partitions=4) as broker:
    producer = ottla.Producer({"bootstrap.servers": broker.bootstrap_servers})
"""

from __future__ import annotations

import shutil
import tempfile
import weakref
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from ottla.testing import topics
from ottla.testing.faults import Faults
from ottla.testing.process import BrokerFailed, BrokerProcess
from ottla.testing.sightings import Sighting
from ottla.testing.topics import Topic

HOST: Final = "127.0.0.1"
QUICK_SETTINGS: Final[Mapping[str, str]] = {
    # A test starts one consumer, and does not want to wait for a second.
    "group.initial.rebalance.delay.ms": "0",
    # Members of the new protocol hear of a rebalance with their next heartbeat.
    "group.consumer.min.heartbeat.interval.ms": "100",
    "group.consumer.heartbeat.interval.ms": "250",
    # A test that waits for a member to be given up may say how long that takes.
    "group.min.session.timeout.ms": "100",
    "group.consumer.min.session.timeout.ms": "100",
    "offsets.topic.num.partitions": "4",
    "transaction.state.log.num.partitions": "4",
    "log.segment.delete.delay.ms": "1000",
    # A test talks to its broker as clients do.
    "ottla.metrics.listener": "",
}


class Broker:
    """A broker on a free port of this machine, with settings by Kafka's names.

    Its data are temporary, unless `data_dir` says where to keep them. It ends with its context, and
    with the process that started it. Settings are given as a dict, or as keywords with underscores.
    """

    def __init__(
        self,
        settings: Mapping[str, object] | None = None,
        *,
        data_dir: Path | str | None = None,
        port: int = 0,
        start_timeout_s: float = 30.0,
        **named: object,
    ) -> None:
        given = {**(settings or {}), **{topics.dotted(name): named[name] for name in named}}
        self.settings = {
            **QUICK_SETTINGS,
            **{name: topics.text(value) for name, value in given.items()},
        }
        self.faults = Faults(self._ask)
        self.port = port
        self.node_id = -1
        self._start_timeout_s = start_timeout_s
        directory = Path(tempfile.mkdtemp(prefix="ottla-"))
        self._clean_up = weakref.finalize(self, shutil.rmtree, directory, ignore_errors=True)
        self._keeps_data = data_dir is not None
        self.data_dir = directory / "data" if data_dir is None else Path(data_dir)
        self._log_file = directory / "broker.log"
        self._last_log = ""
        self._clock_ahead_ms = 0
        self._process: BrokerProcess | None = None

    @property
    def bootstrap_servers(self) -> str:
        """HOST:PORT, as clients take it; a restart keeps it."""
        return f"{HOST}:{self.port}"

    @property
    def running(self) -> bool:
        """Whether its process is alive."""
        return self._process is not None and self._process.running

    @property
    def pid(self) -> int:
        """The id of its process."""
        return self._life().pid

    @property
    def log(self) -> str:
        """All that it has said, over all its lives."""
        return (
            self._log_file.read_text(errors="replace")
            if self._log_file.exists()
            else self._last_log
        )

    def start(self) -> Self:
        """Start it and wait until it serves; one that never did is closed."""
        self.launch()
        try:
            self.wait_until_ready()
        except BrokerFailed:
            if self.node_id < 0:
                self.close()
            raise
        return self

    def launch(self) -> None:
        """Start it, without waiting until it serves."""
        if self.running:
            raise BrokerFailed(f"the broker on {self.bootstrap_servers} is running already")
        if not self._clean_up.alive:
            raise BrokerFailed("this broker was closed: make another one")
        self.data_dir.mkdir(parents=True, exist_ok=True)
        where = {"listeners": f"PLAINTEXT://{HOST}:{self.port}", "log.dirs": str(self.data_dir)}
        self._process = BrokerProcess(
            {**where, **self.settings}, self._clock_ahead_ms, self._log_file
        )

    def wait_until_ready(self) -> None:
        """Wait until a broker that was launched serves."""
        ready = self._life().wait_until_ready(self._start_timeout_s)
        self.node_id = ready["node_id"]
        self.port = int(ready["bootstrap_servers"].rpartition(":")[2])

    def stop(self, timeout_s: float = 30.0) -> None:
        """Stop it cleanly; its data, its port and its log stay."""
        if not self.running:
            self.kill()
            return
        code = self._life().stop(timeout_s)
        self._process = None
        if code:
            raise BrokerFailed(f"the broker stopped with exit code {code}; it said:\n{self.log}")

    def kill(self) -> None:
        """End it as a crash would: kill -9."""
        if self._process is not None:
            self._process.kill()
            self._process = None

    def restart(self) -> Self:
        """Stop it, if it runs, and start it on the same data and port; rules are forgotten, the clock is not."""
        self.stop()
        self.faults.used = False
        return self.start()

    def close(self) -> None:
        """End it for good; temporary data are removed."""
        if self._keeps_data:
            self.stop()
        self.kill()
        self._last_log = self.log
        self._clean_up()

    def create_topic(
        self,
        name: str | None = None,
        partitions: int = 1,
        replication_factor: int = -1,
        **configs: object,
    ) -> Topic:
        """Make a topic, of a fresh name if none is given, with settings such as cleanup_policy="compact"."""
        return topics.create_topic(
            self.bootstrap_servers,
            topics.fresh_name() if name is None else name,
            partitions,
            replication_factor,
            configs,
        )

    def advance_clock(
        self,
        *,
        days: float = 0,
        hours: float = 0,
        minutes: float = 0,
        seconds: float = 0,
        milliseconds: float = 0,
    ) -> None:
        """Set its clock ahead. What is past its retention then is deleted when this returns.

        Members of groups and transactions that are overdue by the new time are given up as well.
        """
        ahead = timedelta(
            days=days, hours=hours, minutes=minutes, seconds=seconds, milliseconds=milliseconds
        )
        self._set_clock(self._clock_ahead_ms + ahead // timedelta(milliseconds=1))

    def reset_clock(self) -> None:
        """Set its clock to the time of day again."""
        self._set_clock(0)

    def restore(self) -> None:
        """Undo what a test did to it: end rules, set the clock, start it again if it was left stopped."""
        if not self.running:
            self._clock_ahead_ms = 0
            self.restart()
            return
        if self.faults.used:
            self.faults.clear()
        if self._clock_ahead_ms:
            self.reset_clock()

    def sightings(self, since_ms: int = 0) -> list[Sighting]:
        """The last requests that it has seen since a moment, and what became of them."""
        return [Sighting(*each) for each in self._ask("sightings", at_ms=since_ms)]

    def _set_clock(self, ahead_ms: int) -> None:
        self._clock_ahead_ms = ahead_ms
        self._ask("set_clock", ahead_ms=ahead_ms)

    def _ask(self, command: str, **arguments: Any) -> Any:
        return self._life().ask(command, **arguments)

    def _life(self) -> BrokerProcess:
        if self._process is None:
            raise BrokerFailed("the broker is not running: start it, or use it in a `with`")
        return self._process

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()
