"""A blocking session with ZooKeeper for people who look at its nodes: whole stats, ACLs, watches that tell once.

The broker's own way to ZooKeeper is `zookeeper_tree`. What is refused is said as ZooKeeper's own command line says it.
"""

import logging
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final, NamedTuple

from kazoo import exceptions
from kazoo.client import KazooClient
from kazoo.protocol.states import EventType, KeeperState, WatchedEvent
from kazoo.security import ACL, Id, Permissions

from ottla.base.errors import OttlaError

Tell = Callable[[str, str], None]
"""Hears of an event: its type and its path, in ZooKeeper's words."""

_TIMEOUT_S: Final = 30.0
_EVENTS: Final = {
    EventType.CREATED: "NodeCreated",
    EventType.DELETED: "NodeDeleted",
    EventType.CHANGED: "NodeDataChanged",
    EventType.CHILD: "NodeChildrenChanged",
}
_REFUSALS: Final[Sequence[tuple[type[Exception], str]]] = (
    (exceptions.NoNodeError, "Node does not exist: {}"),
    (exceptions.NodeExistsError, "Node already exists: {}"),
    (exceptions.NotEmptyError, "Node not empty: {}"),
    (exceptions.BadVersionError, "version No is not valid : {}"),
    (exceptions.NoAuthError, "Insufficient permission : {}"),
    (exceptions.InvalidACLError, "Acl is not valid : {}"),
    (exceptions.NoChildrenForEphemeralsError, "Ephemerals cannot have children: {}"),
    (exceptions.AuthFailedError, "Authentication is not valid : {}"),
)
_PERMISSIONS: Final = (
    ("c", Permissions.CREATE),
    ("d", Permissions.DELETE),
    ("r", Permissions.READ),
    ("w", Permissions.WRITE),
    ("a", Permissions.ADMIN),
)


class ZnodeRefused(OttlaError):
    """ZooKeeper did not do what was asked, or could not be reached."""


class Rights(NamedTuple):
    """What some may do with a node: a scheme of ZooKeeper's, an id in it, and letters of cdrwa."""

    scheme: str
    id: str
    permissions: str


class ZnodeSession:
    """One session; paths are below the chroot."""

    def __init__(self, hosts: str, chroot: str, tell: Tell) -> None:
        quiet = logging.Logger("kazoo", logging.CRITICAL + 1)
        self._hosts = hosts
        self._tell = tell
        self._kazoo = KazooClient(hosts + chroot, timeout=_TIMEOUT_S, logger=quiet)

    def open(self) -> None:
        """Connect to the first server that answers."""
        reasons = [each for host in self._hosts.split(",") if (each := _unreachable(host))]
        if len(reasons) <= self._hosts.count(","):
            if self._kazoo.start_async().wait(_TIMEOUT_S):
                return
            self.close()
            reasons = [f"no answer within {_TIMEOUT_S:g} s"]
        raise ZnodeRefused(
            f"KeeperErrorCode = ConnectionLoss: ZooKeeper at {self._hosts} cannot be reached "
            f"({'; '.join(reasons)}); check the address, and that it runs"
        )

    def close(self) -> None:
        """End the session, and with it its ephemeral nodes."""
        self._kazoo.stop()
        self._kazoo.close()

    def get(self, path: str, *, watch: bool = False) -> tuple[bytes | None, Any]:
        """The data of a node (None is not the same as none) and its stat."""
        with _refusals(path):
            data, stat = self._kazoo.get(path, self._heard if watch else None)
            return data, stat

    def stat(self, path: str, *, watch: bool = False) -> Any:
        """What ZooKeeper knows of a node besides its data."""
        with _refusals(path):
            found = self._kazoo.exists(path, self._heard if watch else None)
            if found is None:
                raise exceptions.NoNodeError
            return found

    def children(self, path: str, *, watch: bool = False) -> tuple[list[str], Any]:
        """The names of the nodes below a node, in order, and its own stat."""
        with _refusals(path):
            names, stat = self._kazoo.get_children(
                path, self._heard if watch else None, include_data=True
            )
            return sorted(names), stat

    def create(
        self,
        path: str,
        data: bytes | None,
        rights: Sequence[Rights],
        *,
        ephemeral: bool,
        sequence: bool,
    ) -> str:
        """Make a node; its path."""
        with _refusals(path):
            acl = [_acl(each) for each in rights] or None
            made = self._kazoo.create(path, data, acl, ephemeral=ephemeral, sequence=sequence)
            return str(made)

    def set(self, path: str, data: bytes, version: int) -> Any:
        """Replace the data of a node; its stat."""
        with _refusals(path):
            return self._kazoo.set(path, data, version)

    def delete(self, path: str, version: int) -> None:
        """Remove a node that has none below it."""
        with _refusals(path):
            self._kazoo.delete(path, version)

    def rights(self, path: str) -> tuple[list[Rights], Any]:
        """Who may do what with a node, and its stat."""
        with _refusals(path):
            acls, stat = self._kazoo.get_acls(path)
        return [Rights(acl.id.scheme, acl.id.id, _letters(acl.perms)) for acl in acls], stat

    def set_rights(self, path: str, rights: Sequence[Rights], version: int) -> Any:
        """Decide who may do what with a node; its stat."""
        with _refusals(path):
            return self._kazoo.set_acls(path, [_acl(each) for each in rights], version)

    def authenticate(self, scheme: str, credential: str) -> None:
        """Show a credential for the rest of the session."""
        with _refusals("null"):
            self._kazoo.add_auth(scheme, credential)

    def sync(self, path: str) -> None:
        """Have the server catch up with the ensemble."""
        with _refusals(path):
            self._kazoo.sync(path)

    def _heard(self, event: WatchedEvent) -> None:
        if event.type in _EVENTS and event.state == KeeperState.CONNECTED:
            self._tell(_EVENTS[event.type], event.path)


def _unreachable(address: str) -> str:
    """Why nobody listens there; empty if somebody does. kazoo would try for ever, and not say why."""
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), _TIMEOUT_S).close()
    except OSError as error:
        return f"{address}: {error.strerror or error}"
    return ""


@contextmanager
def _refusals(path: str) -> Iterator[None]:
    try:
        yield
    except exceptions.KazooException as error:
        for kind, sentence in _REFUSALS:
            if isinstance(error, kind):
                raise ZnodeRefused(sentence.format(path)) from None
        name = type(error).__name__.removesuffix("Error")
        raise ZnodeRefused(f"KeeperErrorCode = {name} for {path}") from None


def _acl(rights: Rights) -> ACL:
    permissions = sum(bit for letter, bit in _PERMISSIONS if letter in rights.permissions)
    return ACL(permissions, Id(rights.scheme, rights.id))


def _letters(permissions: int) -> str:
    return "".join(letter for letter, bit in _PERMISSIONS if permissions & bit)
