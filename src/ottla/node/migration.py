"""Makes a single broker the first of a cluster: copies its embedded tree into ZooKeeper.

The broker is stopped meanwhile: its directories are locked. What is copied counts only when `meta.properties` of all
directories name ZooKeeper; until then the broker starts as before. A migration that was interrupted leaves a marker in
the chroot, and the next one begins anew.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple

from ottla.base.errors import OttlaError
from ottla.base.units import KiB
from ottla.cluster import sqlite_tree, znodes
from ottla.cluster.tree import Create, Delete, NoNode, Op, Tree
from ottla.config.table import Settings
from ottla.config.zookeeper import ZookeeperConnect
from ottla.node.tree import EMBEDDED, TREE_FILE, ZOOKEEPER, open_zookeeper
from ottla.storage import fs
from ottla.storage.log_dir import META_PROPERTIES, LogDir, read_properties

_MARKER: Final = "/migration"
_ENGINE: Final = "ottla.engine"
# ZooKeeper's own node, in the root alone.
_NOT_OURS: Final = frozenset(("zookeeper",))
_STEP_NODES: Final = 500
_STEP_BYTES: Final = 256 * KiB


class MigrationRefused(OttlaError):
    """The metadata were not copied, and the broker can start as before."""


class Migrated(NamedTuple):
    """What was copied; no node if that had been done before."""

    cluster_id: str
    node_id: str
    nodes: int


class _Home(NamedTuple):
    """What the directories say of their broker."""

    directories: tuple[str, ...]
    cluster_id: str
    node_id: str
    engines: frozenset[str]


async def migrate(settings: Settings, connect: ZookeeperConnect) -> Migrated:
    """Copies the metadata of a stopped broker into an empty chroot, or finds that this has been done."""
    home = _look(settings.storage.log_dirs)
    if home.engines == {ZOOKEEPER}:
        await _check_migrated(settings, connect, home)
        return Migrated(home.cluster_id, home.node_id, 0)
    file = Path(home.directories[0]) / TREE_FILE
    if not file.exists():
        raise MigrationRefused(
            f"{file} does not exist: {home.directories[0]} is not the (first) log directory of a "
            "single broker"
        )
    with _locked(home.directories):
        source = sqlite_tree.open_tree(file)
        try:
            target = await open_zookeeper(settings.zookeeper, connect)
            try:
                count = await _copy(source, target, home, connect)
            finally:
                await target.close()
        finally:
            await source.close()
    return Migrated(home.cluster_id, home.node_id, count)


def _look(log_dirs: Sequence[str]) -> _Home:
    directories = tuple(map(os.path.abspath, log_dirs))
    known = [(path, read_properties(f"{path}/{META_PROPERTIES}")) for path in directories]
    for path, properties in known:
        if "cluster.id" not in properties:
            raise MigrationRefused(f"{path} holds no {META_PROPERTIES} of a broker")
    names = {properties["cluster.id"] for _, properties in known}
    if len(names) > 1:
        raise MigrationRefused(
            f"the directories belong to different clusters: {', '.join(sorted(names))}"
        )
    [(_, first), *_] = known
    engines = frozenset(properties.get(_ENGINE, EMBEDDED) for _, properties in known)
    node_id = first.get("node.id") or first.get("broker.id", "")
    return _Home(directories, first["cluster.id"], node_id, engines)


@contextmanager
def _locked(directories: Iterable[str]) -> Iterator[None]:
    """Keeps the broker from running meanwhile; ConfigError if it does."""
    held: list[LogDir] = []
    try:
        for path in directories:
            held.append(LogDir(path))
            held[-1].acquire()
        yield
    finally:
        for each in held:
            each.release()


async def _copy(source: Tree, target: Tree, home: _Home, connect: ZookeeperConnect) -> int:
    await _check_source(source, home)
    await _clear_the_way(target, home, connect)
    nodes = [node async for node in _walk(source, "/")]
    await target.create(_MARKER, znodes.encode_cluster_id(home.cluster_id))
    await _in_steps(target, [Create(path, data) for path, data in nodes if path != "/"])
    for directory in home.directories:
        _name_zookeeper(directory)
    await target.delete(_MARKER)
    return len(nodes) - 1


async def _check_source(source: Tree, home: _Home) -> None:
    found = await _cluster_id(source)
    if found != home.cluster_id:
        raise MigrationRefused(
            f"{home.directories[0]}: {META_PROPERTIES} names cluster {home.cluster_id}, but "
            f"{TREE_FILE} is that of cluster {found}"
        )


async def _clear_the_way(target: Tree, home: _Home, connect: ZookeeperConnect) -> None:
    """Makes sure that the chroot is empty; only what an interrupted migration of this broker left is removed."""
    names = set(await target.children("/")) - _NOT_OURS
    if not names:
        return
    marker = await target.get_many([_MARKER])
    if marker[0] and znodes.decode_cluster_id(_MARKER, marker[0][0]) == home.cluster_id:
        left = [path async for path, _ in _walk(target, "/") if path not in ("/", _MARKER)]
        await _in_steps(target, [Delete(path) for path in reversed(left)])
        await target.delete(_MARKER)
        return
    other = await _cluster_id(target)
    if other == home.cluster_id:
        raise MigrationRefused(
            f"{connect} holds the metadata of this very cluster already, though {META_PROPERTIES} "
            f"does not say so; if they are current, set {_ENGINE}={ZOOKEEPER} there"
        )
    if other is not None:
        raise MigrationRefused(
            f"{connect} belongs to cluster {other}, and the broker to cluster {home.cluster_id}; "
            f"choose an empty chroot, such as {_elsewhere(connect)}"
        )
    raise MigrationRefused(
        f"{connect} is not empty: it holds {', '.join(sorted(names)[:5])}; choose an empty chroot, "
        f"such as {_elsewhere(connect)}"
    )


async def _check_migrated(settings: Settings, connect: ZookeeperConnect, home: _Home) -> None:
    target = await open_zookeeper(settings.zookeeper, connect)
    try:
        found = await _cluster_id(target)
        if found == home.cluster_id and await target.exists(_MARKER) is not None:
            await target.delete(_MARKER)  # that was all that was left to do
    finally:
        await target.close()
    if found != home.cluster_id:
        raise MigrationRefused(
            f"{home.directories[0]} belongs to cluster {home.cluster_id}, whose metadata are in "
            f"ZooKeeper already, but {connect} "
            + ("is empty" if found is None else f"is that of cluster {found}")
        )


async def _cluster_id(tree: Tree) -> str | None:
    try:
        data, _ = await tree.get(znodes.CLUSTER_ID)
    except NoNode:
        return None
    return znodes.decode_cluster_id(znodes.CLUSTER_ID, data)


async def _walk(tree: Tree, path: str) -> AsyncIterator[tuple[str, bytes]]:
    """All nodes that stay, parents before their children."""
    data, stat = await tree.get(path)
    if stat.ephemeral_owner:
        return
    yield path, data
    for name in await tree.children(path):
        if path == "/" and name in _NOT_OURS:
            continue
        async for node in _walk(tree, f"{path.rstrip('/')}/{name}"):
            yield node


async def _in_steps(tree: Tree, ops: Iterable[Op]) -> None:
    """Does it in writes that ZooKeeper takes."""
    step: list[Op] = []
    size = 0
    for op in ops:
        added = len(op.path) + (len(op.data) if isinstance(op, Create) else 0)
        if step and (len(step) == _STEP_NODES or size + added > _STEP_BYTES):
            await tree.multi(step)
            step, size = [], 0
        step.append(op)
        size += added
    if step:
        await tree.multi(step)


def _name_zookeeper(directory: str) -> None:
    path = f"{directory}/{META_PROPERTIES}"
    properties = {**read_properties(path), _ENGINE: ZOOKEEPER}
    text = "".join(f"{name}={value}\n" for name, value in properties.items())
    fs.write_atomic(path, text.encode())


def _elsewhere(connect: ZookeeperConnect) -> ZookeeperConnect:
    return connect._replace(chroot=f"{connect.chroot}/ottla")
