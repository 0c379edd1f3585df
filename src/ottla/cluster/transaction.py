"""Pure: writes applied to a tree as an overlay, so that nothing shows until they are committed.

Several multis may be tried one after the other on one Transaction: each sees what the ones before
it did, and one that fails leaves no trace. `changed` is then all that has to be stored.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ottla.cluster.tree import (
    ANY_VERSION,
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
    Set,
    Stat,
    TreeError,
    parent_of,
)


class Node(NamedTuple):
    """One node; `cversion` counts the children ever made and numbers the sequence nodes."""

    data: bytes
    version: int
    cversion: int
    czxid: int
    mzxid: int
    ephemeral_owner: int
    child_count: int

    @property
    def stat(self) -> Stat:
        return Stat(self.version, self.czxid, self.mzxid, self.ephemeral_owner)


class Applied(NamedTuple):
    """One operation done: where, and the node as it left it (None: deleted)."""

    path: str
    node: Node | None


class Transaction:
    """Changes to a tree that are decided but not yet stored."""

    __slots__ = ("_base", "_layer", "_session_id", "changed", "zxid")

    def __init__(self, base: Mapping[str, Node], zxid: int, session_id: int) -> None:
        self._base = base
        self._session_id = session_id
        self._layer: dict[str, Node | None] = {}
        self.changed: dict[str, Node | None] = {}
        self.zxid = zxid

    def multi(self, ops: Sequence[Op]) -> list[Applied]:
        """Applies all of the operations, or none (MultiFailed)."""
        self._layer = {}
        self.zxid += 1
        applied: list[Applied] = []
        for index, op in enumerate(ops):
            try:
                path = self._apply(op)
            except TreeError as error:
                self._layer = {}
                self.zxid -= 1
                raise MultiFailed(index, error) from None
            applied.append(Applied(path, self._layer.get(path)))
        self.changed.update(self._layer)
        return applied

    def node(self, path: str) -> Node | None:
        """The node as the operations so far have left it."""
        for layer in (self._layer, self.changed):
            if path in layer:
                return layer[path]
        return self._base.get(path)

    def _apply(self, op: Op) -> str:
        match op:
            case Create():
                return self._create(op)
            case Set(path, data, version):
                node = self._expect(path, version)
                self._layer[path] = node._replace(
                    data=data, version=node.version + 1, mzxid=self.zxid
                )
            case Delete(path, version):
                self._delete(path, self._expect(path, version))
            case Check(path, version):
                self._expect(path, version)
        return op.path

    def _expect(self, path: str, version: int) -> Node:
        node = self.node(path)
        if node is None:
            raise NoNode(path)
        if version not in (ANY_VERSION, node.version):
            raise BadVersion(path, version, node.version)
        return node

    def _create(self, op: Create) -> str:
        parent_path = parent_of(op.path)
        parent = self._expect(parent_path, ANY_VERSION)
        path = f"{op.path}{parent.cversion:010d}" if op.sequence else op.path
        if parent.ephemeral_owner:
            raise EphemeralParent(parent_path)
        if self.node(path) is not None:
            raise NodeExists(path)
        owner = self._session_id if op.ephemeral else 0
        self._layer[path] = Node(op.data, 0, 0, self.zxid, self.zxid, owner, 0)
        self._layer[parent_path] = parent._replace(
            cversion=parent.cversion + 1, child_count=parent.child_count + 1
        )
        return path

    def _delete(self, path: str, node: Node) -> None:
        if node.child_count:
            raise NotEmpty(path)
        parent_path = parent_of(path)
        parent = self._expect(parent_path, ANY_VERSION)
        self._layer[path] = None
        self._layer[parent_path] = parent._replace(child_count=parent.child_count - 1)
