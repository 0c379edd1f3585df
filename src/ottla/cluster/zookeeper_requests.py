"""The tree's operations as ZooKeeper's requests, and ZooKeeper's errors as the tree's.

Two requests that kazoo 2.11 lacks are written here, both of ZooKeeper 3.6: AddWatch, so that one
watch covers a whole tree and stays, and MultiRead, so that a thousand nodes take one round trip.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from struct import Struct
from typing import Any, ClassVar, Final

from kazoo import exceptions
from kazoo.protocol import serialization
from kazoo.protocol.serialization import MultiHeader, write_string
from kazoo.protocol.states import ZnodeStat
from kazoo.security import ACL, CREATOR_ALL_ACL, OPEN_ACL_UNSAFE, READ_ACL_UNSAFE

from ottla.base.errors import ClusterError
from ottla.cluster.tree import (
    BadVersion,
    Check,
    Create,
    Delete,
    EphemeralParent,
    MultiFailed,
    NodeExists,
    NoNode,
    NotEmpty,
    Op,
    OutcomeUnknown,
    Set,
    Stat,
    TooLarge,
    TreeError,
    TreeUnavailable,
    parent_of,
)

MAX_REQUEST_BYTES: Final = 1_000_000
"""Just below the 1,048,575 that a server takes (jute.maxbuffer); a larger one ends the connection."""

# Of an operation in a multi: header, lengths, version or flags, and two entries of an ACL.
_OVERHEAD_BYTES: Final = 80
_EPHEMERAL: Final = 1
_SEQUENCE: Final = 2
_PERSISTENT_RECURSIVE: Final = 1
_INT: Final = Struct("!i")
_SENSITIVE: Final = ("/cluster/secret", "/config/users", "/config/brokers", "/delegation_token")
# What the other operations of a multi are told when one of them failed.
_INNOCENT: Final = (exceptions.RolledBackError, exceptions.RuntimeInconsistency)
# After any other error that a server sends it has refused, and nothing was done.
_UNSETTLED: Final = (
    exceptions.ConnectionLoss,
    exceptions.ConnectionClosedError,
    exceptions.SessionExpiredError,
    exceptions.SessionMovedError,
    exceptions.OperationTimeoutError,
    exceptions.RequestTimeoutError,
    exceptions.SystemZookeeperError,
    exceptions.MarshallingError,
)


@dataclass(frozen=True, slots=True)
class AddWatch:
    """Asks to hear of every change at or below a path, until the connection ends."""

    type: ClassVar[int] = 106
    path: str

    def serialize(self) -> bytes:
        return bytes(write_string(self.path)) + _INT.pack(_PERSISTENT_RECURSIVE)

    @staticmethod
    def deserialize(buffer: bytes, offset: int) -> bool:
        return True


@dataclass(frozen=True, slots=True)
class MultiRead:
    """Reads many nodes with one request; None stands for one that does not exist."""

    type: ClassVar[int] = 22
    paths: Sequence[str]

    def serialize(self) -> bytes:
        parts = bytearray()
        for path in self.paths:
            read = serialization.GetData(path, None)
            parts += MultiHeader(read.type, False, -1).serialize() + read.serialize()
        return bytes(parts + MultiHeader(-1, True, -1).serialize())

    @staticmethod
    def deserialize(buffer: bytes, offset: int) -> list[tuple[bytes, Stat] | None]:
        found: list[tuple[bytes, Stat] | None] = []
        header, offset = MultiHeader.deserialize(buffer, offset)
        while not header.done:
            if header.type == serialization.GetData.type:
                data, offset = serialization.read_buffer(buffer, offset)
                fields = serialization.stat_struct.unpack_from(buffer, offset)
                offset += serialization.stat_struct.size
                found.append((data or b"", stat_of(ZnodeStat._make(fields))))
            else:
                [code] = _INT.unpack_from(buffer, offset)
                offset += _INT.size
                if code != exceptions.NoNodeError.code:
                    raise exceptions.EXCEPTIONS[code]()
                found.append(None)
            header, offset = MultiHeader.deserialize(buffer, offset)
        return found


class Requests:
    """Makes requests for paths below a root, with the access rights that new nodes get."""

    __slots__ = ("_protected", "root")

    def __init__(self, root: str, *, protected: bool) -> None:
        self.root = root
        self._protected = protected

    def full(self, path: str) -> str:
        """Where a node of the tree is in ZooKeeper."""
        return self.root if path == "/" and self.root else self.root + path

    def path(self, full: str) -> str:
        """Where a node of ZooKeeper is in the tree."""
        return full.removeprefix(self.root) or "/"

    def get(self, path: str) -> Any:
        return serialization.GetData(self.full(path), None)

    def get_many(self, paths: Sequence[str]) -> MultiRead:
        return MultiRead([self.full(path) for path in paths])

    def exists(self, path: str) -> Any:
        return serialization.Exists(self.full(path), None)

    def children(self, path: str) -> Any:
        return serialization.GetChildren(self.full(path), None)

    def sync(self) -> Any:
        return serialization.Sync(self.full("/"))

    def watch(self) -> AddWatch:
        return AddWatch(self.full("/"))

    def write(self, op: Op) -> Any:
        """One operation, by itself or as a part of a multi."""
        path = self.full(op.path)
        match op:
            case Create(_, data, ephemeral, sequence):
                flags = _EPHEMERAL * ephemeral | _SEQUENCE * sequence
                return serialization.Create(path, data, self.rights(op.path), flags)
            case Set(_, data, version):
                return serialization.SetData(path, data, version)
            case Delete(_, version):
                return serialization.Delete(path, version)
            case Check(_, version):
                return serialization.CheckVersion(path, version)

    def multi(self, ops: Sequence[Op]) -> Any:
        """All operations as one; TooLarge if no server would take them."""
        self.check_size(ops)
        return serialization.Transaction([self.write(op) for op in ops])

    def check_size(self, ops: Sequence[Op]) -> None:
        """Refuses (TooLarge) what no server would take in one step."""
        size_bytes = sum(len(self.root) + _size_bytes(op) for op in ops)
        if size_bytes > MAX_REQUEST_BYTES:
            raise TooLarge(
                f"a change of {size_bytes} bytes is more than ZooKeeper takes in one step "
                f"({MAX_REQUEST_BYTES}); ask for less at a time"
            )

    def rights(self, path: str) -> list[ACL]:
        """Who may do what with a node that is made here."""
        if not self._protected:
            return list(OPEN_ACL_UNSAFE)
        secret = any(path == s or path.startswith(f"{s}/") for s in _SENSITIVE)
        return list(CREATOR_ALL_ACL) + ([] if secret else list(READ_ACL_UNSAFE))


def _size_bytes(op: Op) -> int:
    data = len(op.data) if isinstance(op, Create | Set) else 0
    return len(op.path.encode()) + data + _OVERHEAD_BYTES


def stat_of(stat: ZnodeStat) -> Stat:
    """The part of ZooKeeper's knowledge of a node that the tree shows."""
    return Stat(stat.version, stat.czxid, stat.mzxid, stat.ephemeralOwner)


def read_failure(path: str, error: BaseException) -> ClusterError:
    """What a read that failed raises; nothing that happened to it can have changed anything."""
    if isinstance(error, exceptions.NoNodeError):
        return NoNode(path)
    if isinstance(error, exceptions.NoAuthError):
        return _not_allowed(path)
    return TreeUnavailable(f"ZooKeeper did not answer ({_named(error)}); it will be asked again")


def write_failure(op: Op, error: BaseException) -> ClusterError:
    """What a single write that failed raises."""
    return unknown(error) if _unsettled(error) else _refusal(op, error)


def multi_failure(ops: Sequence[Op], results: Sequence[object]) -> MultiFailed | None:
    """What a multi raises, if one of its operations failed; kazoo hands errors back as results."""
    errors = [(i, e) for i, e in enumerate(results) if isinstance(e, Exception)]
    if not errors:
        return None
    guilty = (pair for pair in errors if not isinstance(pair[1], _INNOCENT))
    index, error = next(guilty, errors[0])
    return MultiFailed(index, _refusal(ops[index], error))


def unknown(error: BaseException) -> OutcomeUnknown:
    """What a write raises that nobody has answered."""
    return OutcomeUnknown(f"ZooKeeper may or may not have made a change ({_named(error)})")


def _unsettled(error: BaseException) -> bool:
    return isinstance(error, _UNSETTLED) or not isinstance(error, exceptions.ZookeeperError)


def _refusal(op: Op, error: BaseException) -> TreeError:
    match error:
        case exceptions.NoNodeError():
            return NoNode(parent_of(op.path) if isinstance(op, Create) else op.path)
        case exceptions.NodeExistsError():
            return NodeExists(op.path)
        case exceptions.BadVersionError() if not isinstance(op, Create):
            return BadVersion(op.path, op.version)
        case exceptions.NotEmptyError():
            return NotEmpty(op.path)
        case exceptions.NoChildrenForEphemeralsError():
            return EphemeralParent(parent_of(op.path))
        case exceptions.NoAuthError() | exceptions.InvalidACLError():
            return _not_allowed(op.path)
    return TreeError(op.path, f"ZooKeeper refused ({_named(error)})")


def _not_allowed(path: str) -> TreeError:
    return TreeError(
        path,
        "ZooKeeper does not let this broker do that; give it the credentials that made the node "
        "(ottla.zookeeper.auth), or change the node's ACL",
    )


def _named(error: BaseException) -> str:
    return f"{type(error).__name__} {error}".strip()
