"""Runs a local ZooKeeper ensemble of 1, 3, 5 or 7 servers as child processes.

    with LocalEnsemble(directory, servers=3) as ensemble:
        ...  # zookeeper.connect = ensemble.connect

The servers listen on this machine alone. They survive Ctrl-C, which a terminal sends to all of its
processes, so that brokers can say farewell to them; they end with the process that started them.
"""

import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from ottla.base.errors import OttlaError
from ottla.node.zookeeper_jars import find_classpath, find_java

HOST: Final = "127.0.0.1"
MAIN_CLASS: Final = "org.apache.zookeeper.server.quorum.QuorumPeerMain"
SIZES: Final = (1, 3, 5, 7)

_SERVING: Final = ("standalone", "leader", "follower")
_POLL_S: Final = 0.02
_LOG_TAIL_LINES: Final = 20
_JVM_OPTIONS: Final = (
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-XX:-UsePerfData",
    "-Xss512k",
    "-Djava.awt.headless=true",
    "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
    "-Dzookeeper.preAllocSize=4096",
)
_PROPERTIES: Final[Mapping[str, str]] = {
    # Sessions end in steps of a tick; 500 ms lets them last from 1 s on.
    "tickTime": "500",
    "initLimit": "40",
    "syncLimit": "20",
    "minSessionTimeout": "1000",
    "maxSessionTimeout": "120000",
    "maxClientCnxns": "0",
    "admin.enableServer": "false",
    "4lw.commands.whitelist": "ruok,srvr,mntr,cons,dump",
    "autopurge.snapRetainCount": "3",
    "autopurge.purgeInterval": "1",
}


class EnsembleFailed(OttlaError):
    """A ZooKeeper server did not start, or ended."""


@dataclass(slots=True)
class Server:
    """One server of an ensemble; `number` counts from 1."""

    number: int
    directory: Path
    client_port: int
    process: subprocess.Popen[bytes] | None = field(default=None, repr=False)

    @property
    def address(self) -> str:
        """Where clients find it."""
        return f"{HOST}:{self.client_port}"

    @property
    def running(self) -> bool:
        """Whether its process is alive."""
        return self.process is not None and self.process.poll() is None

    @property
    def pid(self) -> int:
        """The process id of the running server."""
        if self.process is None:
            raise EnsembleFailed(f"ZooKeeper server {self.number} is not running")
        return self.process.pid

    @property
    def settings_file(self) -> Path:
        """Its zoo.cfg, written at each start."""
        return self.directory / "zoo.cfg"

    @property
    def log_file(self) -> Path:
        """What it printed, over all its lives."""
        return self.directory / "zookeeper.log"

    def mode(self) -> str:
        """leader, follower or standalone; empty while it does not serve."""
        answer = four_letter_word(HOST, self.client_port, "srvr")
        modes = [line[6:] for line in answer.splitlines() if line.startswith("Mode: ")]
        return modes[0] if modes and modes[0] in _SERVING else ""

    def kill(self) -> None:
        """SIGKILL, as a crash would."""
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        """SIGTERM; a server that hangs is killed, which harms none of its data."""
        self._end(signal.SIGTERM)

    def _end(self, number: int) -> None:
        process, self.process = self.process, None
        if process is None:
            return
        process.send_signal(number)
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def last_words(self) -> str:
        """The end of what it printed."""
        lines = self.log_file.read_text(errors="replace").splitlines()
        return "\n".join(lines[-_LOG_TAIL_LINES:])


class LocalEnsemble:
    """Servers on this machine, alive as long as their context; data stay in the directory."""

    def __init__(
        self,
        directory: Path,
        servers: int = 1,
        *,
        client_ports: Sequence[int] = (),
        heap_mb: int = 64,
        classpath: str | None = None,
        properties: Mapping[str, str] | None = None,
        jvm_options: Sequence[str] = (),
    ) -> None:
        if servers not in SIZES:
            raise EnsembleFailed(
                f"an ensemble has 1, 3, 5 or 7 servers, not {servers}: it works while more than "
                "half of them do, so an even number only adds to what can fail"
            )
        self._java = find_java()
        self._classpath = classpath or find_classpath()
        self._options = (f"-Xmx{heap_mb}m", *_JVM_OPTIONS, *jvm_options)
        self._properties = {**_PROPERTIES, **(properties or {})}
        free = free_ports(servers * 3)
        self._peer_ports = list(zip(free[servers::2], free[servers + 1 :: 2], strict=True))
        ports = client_ports or free[:servers]
        self.servers = tuple(
            Server(n, directory / f"zookeeper-{n}", port)
            for n, port in zip(range(1, servers + 1), ports, strict=True)
        )

    @property
    def connect(self) -> str:
        """What brokers take as zookeeper.connect."""
        return ",".join(server.address for server in self.servers)

    @property
    def leader(self) -> Server:
        """The server that leads the others, or stands alone."""
        for server in self.servers:
            if server.running and server.mode() in ("leader", "standalone"):
                return server
        raise EnsembleFailed("no ZooKeeper server leads at this moment")

    def start(
        self, timeout_s: float = 60.0, on_ready: Callable[[Server], object] | None = None
    ) -> None:
        """Starts all servers and waits until each serves; `on_ready` hears of each."""
        try:
            for server in self.servers:
                self.launch(server)
            for server in self.servers:
                self.wait_until_serving(server, timeout_s)
                if on_ready is not None:
                    on_ready(server)
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """Ends all servers."""
        for server in self.servers:
            server.stop()

    def launch(self, server: Server) -> None:
        """Starts one server, without waiting until it serves."""
        server.directory.mkdir(parents=True, exist_ok=True)
        (server.directory / "myid").write_text(f"{server.number}\n")
        lines = [f"{name}={value}\n" for name, value in self._settings(server).items()]
        server.settings_file.write_text("".join(lines))
        java = [self._java, *self._options, "-cp", self._classpath]
        with server.log_file.open("ab") as output:
            server.process = subprocess.Popen(
                [*_ends_with_us(), *java, MAIN_CLASS, str(server.settings_file)],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )

    def wait_until_serving(self, server: Server, timeout_s: float = 60.0) -> None:
        """Returns when one server serves clients; EnsembleFailed if it does not in time."""
        deadline = time.monotonic() + timeout_s
        while not server.mode():
            alive = server.running
            if not alive or time.monotonic() > deadline:
                why = f"does not serve after {timeout_s:g} s" if alive else "ended"
                raise EnsembleFailed(
                    f"ZooKeeper server {server.number} {why}; its log, {server.log_file}, ends "
                    f"with:\n{server.last_words()}"
                )
            time.sleep(_POLL_S)

    def _settings(self, server: Server) -> dict[str, str]:
        settings = {
            **self._properties,
            "dataDir": str(server.directory),
            "clientPort": str(server.client_port),
            "clientPortAddress": HOST,
        }
        if len(self.servers) > 1:
            for other, (peer, election) in zip(self.servers, self._peer_ports, strict=True):
                settings[f"server.{other.number}"] = f"{HOST}:{peer}:{election}"
        return settings

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()


def four_letter_word(host: str, port: int, word: str, timeout_s: float = 2.0) -> str:
    """What a server answers to one of its four-letter words; empty if it does not."""
    answer = b""
    try:
        with socket.create_connection((host, port), timeout_s) as connection:
            connection.sendall(word.encode())
            while part := connection.recv(65536):
                answer += part
    except OSError:
        return ""
    return answer.decode(errors="replace")


def free_ports(count: int) -> list[int]:
    """Distinct ports that nothing listens on at this moment."""
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind((HOST, 0))
        return [each.getsockname()[1] for each in sockets]


def _ends_with_us() -> list[str]:
    """Lets the kernel end a child with its parent, however that ends, where a command for it exists."""
    setpriv = shutil.which("setpriv")
    return [setpriv, "--pdeathsig", "TERM"] if setpriv else []
