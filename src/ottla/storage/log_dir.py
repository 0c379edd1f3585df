"""One directory of log.dirs: its lock, its meta.properties, and whether it still works."""

import uuid
from collections.abc import Callable

from ottla.base.errors import ConfigError, LogDirOffline
from ottla.base.ids import id_text, new_topic_id, parse_id
from ottla.base.log import logger
from ottla.base.units import INT_MAX
from ottla.storage import fs
from ottla.storage.producer_limit import ProducerLimit

META_PROPERTIES = "meta.properties"
LOCK_FILE = ".lock"

log = logger(__name__)


class LogDir:
    """A log directory, shared by the logs in it."""

    __slots__ = ("_lock", "directory_id", "offline", "on_offline", "path", "producer_limit")

    def __init__(self, path: str, producer_limit: ProducerLimit | None = None) -> None:
        self.path = path
        # Shared by the directories of a broker.
        self.producer_limit = producer_limit or ProducerLimit(INT_MAX)
        self.directory_id = uuid.UUID(int=0)
        # The error that took the directory out of use; only a restart clears it.
        self.offline: LogDirOffline | None = None
        self.on_offline: Callable[[LogDir], None] | None = None
        self._lock = -1

    def acquire(self) -> None:
        """Make the directory if need be and keep every other broker out of it."""
        fs.make_directory(self.path)
        lock = fs.lock(f"{self.path}/{LOCK_FILE}")
        if lock is None:
            raise ConfigError(
                "log.dirs", self.path, "another broker holds its .lock; stop it or choose another"
            )
        self._lock = lock

    def release(self) -> None:
        """Let another broker have the directory."""
        if self._lock >= 0:
            fs.close(self._lock)
            self._lock = -1

    def check_owner(self, cluster_id: str, node_id: int, engine: str) -> dict[str, str]:
        """What a directory of this broker must say; ConfigError if it says something else."""
        known = self._known()
        expected = {"cluster.id": cluster_id, "node.id": str(node_id), "ottla.engine": engine}
        for name, value in expected.items():
            if known.get(name, value) != value:
                raise ConfigError(
                    "log.dirs",
                    self.path,
                    f"its {META_PROPERTIES} says {name}={known[name]}, but this broker has {value}; nothing was"
                    " changed. Give each broker its own disk, or another log.dirs",
                )
        return expected

    def identify(self, cluster_id: str, node_id: int, engine: str) -> None:
        """Check that the directory belongs to this broker, or make it so when it is new."""
        expected, known = self.check_owner(cluster_id, node_id, engine), self._known()
        directory_id = known.get("directory.id")
        self.directory_id = parse_id(directory_id) if directory_id else new_topic_id()
        found = {"version": "1", **expected, "directory.id": id_text(self.directory_id)}
        if found != known:
            text = "".join(f"{name}={value}\n" for name, value in found.items())
            fs.write_atomic(f"{self.path}/{META_PROPERTIES}", text.encode())

    def _known(self) -> dict[str, str]:
        known = read_properties(f"{self.path}/{META_PROPERTIES}")
        if "broker.id" in known:
            known["node.id"] = known.pop("broker.id")
        return known

    def fail(self, error: LogDirOffline) -> None:
        """Take the directory out of use until a restart has scanned it."""
        if self.offline is not None:
            return
        self.offline = error
        log.error("log directory offline", directory=self.path, error=str(error))
        if self.on_offline is not None:
            self.on_offline(self)


def read_properties(path: str) -> dict[str, str]:
    """The pairs of a properties file; none when there is no file."""
    pairs = {}
    for line in (fs.read_file(path) or b"").decode().splitlines():
        name, equals, value = line.partition("=")
        if equals and not name.startswith("#"):
            pairs[name.strip()] = value.strip()
    return pairs


def cluster_id_of(directory: str) -> str | None:
    """The cluster that a directory already belongs to, if any."""
    return read_properties(f"{directory}/{META_PROPERTIES}").get("cluster.id")
