"""Opens the metadata of a broker's cluster, embedded or in ZooKeeper, and checks that it belongs there."""

from __future__ import annotations

from pathlib import Path
from typing import Final, NamedTuple

from ottla.base.errors import ConfigError
from ottla.cluster import sqlite_tree
from ottla.cluster.registration import check_place, ensure_cluster_id, generate_broker_id
from ottla.cluster.tree import Tree
from ottla.config.checks import has_own_id
from ottla.config.table import Settings
from ottla.config.zookeeper import ZookeeperConfig, ZookeeperConnect
from ottla.storage.log_dir import META_PROPERTIES, read_properties
from ottla.storage.logs import Logs

TREE_FILE: Final = "metadata.sqlite"
EMBEDDED: Final = "embedded"
ZOOKEEPER: Final = "zookeeper"


class Home(NamedTuple):
    """Where a broker belongs: its cluster's metadata and name, and the id it has there."""

    tree: Tree
    cluster_id: str
    node_id: int


async def open_home(settings: Settings, logs: Logs) -> Home:
    """Opens the tree and settles who this broker is; nothing is changed if that cannot be."""
    readable = [each.path for each in logs.dirs if each.offline is None]
    known = [read_properties(f"{path}/{META_PROPERTIES}") for path in readable]
    engine = EMBEDDED if settings.zookeeper.connect is None else ZOOKEEPER
    for path, properties in zip(readable, known, strict=True):
        _check_engine(path, properties.get("ottla.engine", engine), settings)
    tree = await _open_tree(settings.zookeeper, logs)
    try:
        expected = _first(known, "cluster.id") if engine == ZOOKEEPER else None
        cluster_id = await ensure_cluster_id(tree, expected)
        node_id = await _node_id(settings, tree, known)
        logs.check_owner(cluster_id, node_id, engine)
        await check_place(tree, node_id, [p["directory.id"] for p in known if "directory.id" in p])
        logs.identify(cluster_id, node_id, engine)
    except BaseException:
        await tree.close()
        raise
    return Home(tree, cluster_id, node_id)


async def _open_tree(zookeeper: ZookeeperConfig, logs: Logs) -> Tree:
    if zookeeper.connect is None:
        return sqlite_tree.open_tree(Path(logs.dirs[0].path) / TREE_FILE)
    return await open_zookeeper(zookeeper, zookeeper.connect)


async def open_zookeeper(zookeeper: ZookeeperConfig, connect: ZookeeperConnect) -> Tree:
    """Opens the tree of a cluster."""
    # A broker that is alone does not wait for what only a cluster needs.
    from ottla.cluster import zookeeper_tree

    timeout_ms = zookeeper.session_timeout_ms
    return await zookeeper_tree.open_tree(
        zookeeper_tree.ZookeeperOptions(
            hosts=",".join(connect.hosts),
            chroot=connect.chroot,
            session_timeout_ms=timeout_ms,
            connection_timeout_ms=zookeeper.connection_timeout_ms or timeout_ms,
            auth=zookeeper.auth,
            set_acl=zookeeper.set_acl,
        )
    )


async def _node_id(settings: Settings, tree: Tree, known: list[dict[str, str]]) -> int:
    if settings.zookeeper.connect is None or has_own_id(settings):
        return settings.server.node_id
    before = _first(known, "node.id") or _first(known, "broker.id")
    if before is not None:
        return int(before)
    return await generate_broker_id(tree, settings.zookeeper.reserved_broker_max_id)


def _check_engine(directory: str, engine: str, settings: Settings) -> None:
    connect = settings.zookeeper.connect
    if engine == ZOOKEEPER and connect is None:
        raise ConfigError(
            "zookeeper.connect",
            None,
            f"{directory} belongs to a cluster whose metadata are in ZooKeeper; say where, or "
            "choose another log.dirs",
        )
    if engine == EMBEDDED and connect is not None:
        raise ConfigError(
            "zookeeper.connect",
            connect,
            f"{directory} belongs to a single broker that keeps its metadata there; copy them with "
            f"`ottla cluster migrate --data-dir {directory} --zookeeper {connect}`, leave it out, or "
            "choose another log.dirs",
        )


def _first(known: list[dict[str, str]], name: str) -> str | None:
    return next((each[name] for each in known if name in each), None)
