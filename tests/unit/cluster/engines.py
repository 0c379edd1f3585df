"""The two engines of the tree, opened in the same way."""

from pathlib import Path
from typing import Protocol

from ottla.cluster import sqlite_tree
from ottla.cluster.tree import Tree


class Engine(Protocol):
    """One tree that outlives its sessions; each `open` begins one, after the last was closed."""

    async def open(self) -> Tree: ...


class Sqlite:
    """The embedded engine."""

    def __init__(self, path: Path) -> None:
        self.path = path

    async def open(self) -> Tree:
        return sqlite_tree.open_tree(self.path)


class Zookeeper:
    """A real ZooKeeper, below a chroot that is made on the way."""

    def __init__(self, hosts: str, chroot: str) -> None:
        self.hosts = hosts
        self.chroot = chroot

    async def open(self) -> Tree:
        from tests.support.zookeeper import connect

        return await connect(self.hosts, self.chroot)
