"""Pure: the interface of the metadata tree: versioned nodes, compare-and-set, atomic writes.

Two engines carry it: SQLite for one broker, ZooKeeper for a cluster. What it promises is what both
can keep:

- `multi` is one atomic step. When it fails nothing changed, and it raises; it never hands back
  errors among its results.
- `OutcomeUnknown` is the one failure after which a write may or may not have happened, as when the
  connection breaks between a multi and its answer. Read back before trying again, and let what is
  read decide: a node that this session owns (`Stat.ephemeral_owner == session_id`), or a version or
  content that no other could have written. A read that succeeds afterwards settles it: a write that
  the first such read does not show will not take effect later.
- `TreeUnavailable` says that nothing was done, because there is no connection now.
- A watch says where to look, not what happened: changes may be merged, and after a reconnect one
  event stands for a whole subtree. Whoever watches re-reads. Watch first, then read.
- Events of a write are delivered before that write's awaiter resumes.
- A session that was lost is followed by another: first LOST is told, then CONNECTED. Ephemeral
  nodes are not made again; whoever made them looks for them, and makes those that are gone. After
  LOST the session may also turn out to be the same (`session_id`): it was merely given up too soon.
"""

from collections.abc import Callable, Sequence
from enum import Enum
from typing import NamedTuple, Protocol

from ottla.base.errors import ClusterError

ANY_VERSION = -1


class TreeError(ClusterError):
    """The tree refused an operation on a path."""

    def __init__(self, path: str, why: str) -> None:
        super().__init__(f"{path}: {why}")
        self.path = path


class NoNode(TreeError):
    """The node, or the parent of a node to be made, does not exist."""

    def __init__(self, path: str) -> None:
        super().__init__(path, "there is no such node")


class NodeExists(TreeError):
    """A node of that path exists already."""

    def __init__(self, path: str) -> None:
        super().__init__(path, "the node exists already")


class BadVersion(TreeError):
    """The node has another version than the one expected: somebody else wrote first."""

    def __init__(self, path: str, expected: int, found: int | None = None) -> None:
        other = "another" if found is None else found
        super().__init__(path, f"version {expected} was expected, {other} was found")


class NotEmpty(TreeError):
    """The node to be deleted has children."""

    def __init__(self, path: str) -> None:
        super().__init__(path, "the node has children")


class EphemeralParent(TreeError):
    """A child was to be made below a node that dies with its session."""

    def __init__(self, path: str) -> None:
        super().__init__(path, "a node that dies with its session cannot have children")


class MultiFailed(ClusterError):
    """A multi changed nothing, because the operation at `index` met `error`."""

    def __init__(self, index: int, error: TreeError) -> None:
        super().__init__(f"operation {index}: {error}")
        self.index = index
        self.error = error


class TooLarge(ClusterError):
    """The write is larger than the tree takes in one step; nothing was done."""


class SessionLost(ClusterError):
    """The tree was closed: its ephemeral nodes are gone, and nothing more is done."""


class TreeUnavailable(ClusterError):
    """The tree cannot be reached now, and nothing was done; it will be back by itself."""


class OutcomeUnknown(ClusterError):
    """The write may or may not have taken effect: read back before trying again."""


class SessionState(Enum):
    """How this process stands with the tree; only while connected are reads and writes tried, and decisions made."""

    CONNECTED = "connected"
    # Leaders go on: the session may yet be taken up again by another server of the ensemble.
    SUSPENDED = "suspended"
    # The ephemeral nodes may be gone: register anew, and only then take part again, once connected.
    LOST = "lost"


class Stat(NamedTuple):
    """What the tree knows of a node besides its data; `ephemeral_owner` 0 means that it stays."""

    version: int
    czxid: int
    mzxid: int
    ephemeral_owner: int


class Create(NamedTuple):
    """Makes a node; with `sequence`, ten digits that grow are added to its name."""

    path: str
    data: bytes = b""
    ephemeral: bool = False
    sequence: bool = False


class Set(NamedTuple):
    """Replaces the data of a node."""

    path: str
    data: bytes
    version: int = ANY_VERSION


class Delete(NamedTuple):
    """Removes a node that has no children."""

    path: str
    version: int = ANY_VERSION


class Check(NamedTuple):
    """Changes nothing, but lets the multi fail unless the node exists in this version."""

    path: str
    version: int = ANY_VERSION


Op = Create | Set | Delete | Check


class TreeEvent(NamedTuple):
    """The node at `path` changed, came or went; with `subtree`, so may have all that is below."""

    path: str
    subtree: bool = False


EventCallback = Callable[[Sequence[TreeEvent]], None]
SessionCallback = Callable[[SessionState], None]
Cancel = Callable[[], None]


class Tree(Protocol):
    """A tree of versioned nodes; paths are absolute, as in `/brokers/topics/orders`."""

    @property
    def session_id(self) -> int:
        """The session that owns the ephemeral nodes made now; 0 before the first one."""

    @property
    def state(self) -> SessionState:
        """How this process stands with the tree at this moment."""

    async def get(self, path: str) -> tuple[bytes, Stat]:
        """Reads a node; NoNode if there is none."""

    async def get_many(self, paths: Sequence[str]) -> list[tuple[bytes, Stat] | None]:
        """Reads many nodes, though not in one atomic step; None stands for a missing one."""

    async def exists(self, path: str) -> Stat | None:
        """Tells whether a node exists, and what is known of it."""

    async def children(self, path: str) -> list[str]:
        """Lists the names of a node's children, sorted; NoNode if there is no such node."""

    async def create(
        self,
        path: str,
        data: bytes = b"",
        *,
        ephemeral: bool = False,
        sequence: bool = False,
        make_parents: bool = False,
    ) -> str:
        """Makes a node, and the parents it lacks if so asked; returns its path."""

    async def set(self, path: str, data: bytes, version: int = ANY_VERSION) -> Stat:
        """Replaces a node's data, if it still has this version."""

    async def delete(self, path: str, version: int = ANY_VERSION) -> None:
        """Removes a node without children, if it still has this version."""

    async def multi(self, ops: Sequence[Op]) -> list[str]:
        """Does all of it or nothing (MultiFailed); returns the path of each operation's node."""

    def watch(self, prefix: str, callback: EventCallback) -> Cancel:
        """Calls back on the loop for changes at or below a path, until cancelled.

        The callback notes what to re-read and returns; it must not raise.
        """

    def watch_session(self, callback: SessionCallback) -> Cancel:
        """Calls back with the state of the session: now, and whenever it changes."""

    async def close(self) -> None:
        """Ends the session after the writes under way; later calls raise SessionLost."""


def check_path(path: str) -> None:
    """Refuses (ValueError) what no engine takes as the path of a node that comes or goes."""
    names = path.split("/")
    if names[0] or len(names) < 2 or any(name in ("", ".", "..") for name in names[1:]):
        raise ValueError(f"{path!r} is not the path of a node that can be made or deleted")


def parent_of(path: str) -> str:
    """Names the parent of a path; that of `/a` is `/`."""
    return path[: path.rindex("/")] or "/"


def is_at_or_below(path: str, prefix: str) -> bool:
    """Tells whether a path lies in the subtree of another."""
    return prefix == "/" or path == prefix or path.startswith(f"{prefix}/")
